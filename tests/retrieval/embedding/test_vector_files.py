"""Files of vectors that are made once: the same is not made again, another is refused, each says how it was made."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.errors import RankjuryError, UsageError
from rankjury.io.vectors import read_vectors
from rankjury.io.vectors.scan import read_metadata
from rankjury.retrieval.embedding.corpus import Corpus
from rankjury.retrieval.embedding.vector_files import VectorOptions, embed_to_file, vary_to_file
from tests.labeling.support import Plain, corpus, into


def test_a_file_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    first = into(tmp_path, Plain(), normalise=True)
    before = (tmp_path / "v.npz").read_bytes()
    again = Plain()
    second = into(tmp_path, again, normalise=True)
    assert (first.anew, second.anew, again.calls) == (True, False, [])
    assert second.metadata == first.metadata and (tmp_path / "v.npz").read_bytes() == before


@pytest.mark.parametrize(
    ("model", "given", "choices", "found"),
    [
        (Plain("other"), corpus(), {}, "model plain, now other"),
        (Plain(version="2"), corpus(), {}, "version of the model none, now 2"),
        (Plain(), corpus(9), {}, "corpus "),
        (Plain(), corpus(joint=" "), {"normalise": True}, "made differently: normalisation off, now on. "),
        (Plain(), corpus(), {"truncate": 2}, "truncation none, now 2"),
        (Plain(), corpus(), {"dtype": "int8"}, "dtype float32, now int8"),
    ],
)
def test_another_file_of_the_same_name_is_refused(
    tmp_path: Path, model: Plain, given: Corpus, choices: dict[str, Any], found: str
) -> None:
    into(tmp_path, Plain())
    before = (tmp_path / "v.npz").read_bytes()
    with pytest.raises(UsageError) as caught:
        into(tmp_path, model, given, **choices)
    assert found in str(caught.value) and "choose another name" in str(caught.value)
    assert (tmp_path / "v.npz").read_bytes() == before and model.calls == []


def test_files_of_others_are_refused_too(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", vectors=np.ones((2, 2)))
    with pytest.raises(UsageError, match="without a record of how it was made"):
        into(tmp_path, Plain())
    (tmp_path / "v.npz").write_bytes(b"nothing")
    with pytest.raises(RankjuryError, match="cannot be read"):
        into(tmp_path, Plain())
    with pytest.raises(UsageError, match=r"ends in \.npz"):
        embed_to_file(tmp_path / "v.npy", corpus(), Plain(), VectorOptions())


def test_the_record_says_how_it_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    made = into(tmp_path, Plain(version="1.2"), normalise=True, truncate=2, dtype="float16")
    told = read_metadata(tmp_path / "v.npz")
    assert told == made.metadata == json.loads(json.dumps(told))
    assert told is not None
    settings = {
        "model": "plain",
        "model_version": "1.2",
        "text": ["t"],
        "join": None,
        "normalise": True,
        "truncate": 2,
        "made": "1970-01-01T00:00:00Z",
    }
    assert {name: told[name] for name in settings} == settings
    assert (told["count"], told["dimensions"], told["dtype"], told["normalised"]) == (10, 2, "float16", True)
    assert told["corpus_sha256"] == corpus().sha256


def test_a_variant_says_of_what_it_is(tmp_path: Path) -> None:
    first = into(tmp_path, Plain())
    vectors = read_vectors(tmp_path / "v.npz")
    small = tmp_path / "small.npz"
    made = vary_to_file(small, vectors, VectorOptions(truncate=2, dtype="int8"), source=first.metadata)
    told = made.metadata
    assert told["of"] == {"name": "v.npz", "sha256": first.metadata["vectors_sha256"]}
    assert (told["model"], told["text"], told["corpus_sha256"]) == ("plain", ["t"], corpus().sha256)
    again = vary_to_file(small, vectors, VectorOptions(truncate=2, dtype="int8"), source=first.metadata)
    assert made.anew and not again.anew and again.metadata == told
    with pytest.raises(UsageError, match="truncation 2, now 1"):
        vary_to_file(small, vectors, VectorOptions(truncate=1, dtype="int8"), source=first.metadata)
    with pytest.raises(UsageError, match="no change requested"):
        vary_to_file(small, vectors, VectorOptions())


def test_vectors_of_zeros_are_told(tmp_path: Path) -> None:
    def blank(call: int, found: Any) -> Any:
        found[0] = 0.0
        return found

    assert into(tmp_path, Plain(change=blank), batch_size=5).zeros == ("d0", "d5")
