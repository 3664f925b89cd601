"""Methods that compare vectors: the spec's example, a slow implementation beside them, the same to the last digit."""

import math
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rankjury.errors import DataError, MissingExtra, UsageError
from rankjury.labeling.keywords.annotations import Vocabulary
from rankjury.labeling.keywords.mapping import Extraction, Mapper, MappingSettings, add_nearest, make_mapper, map_texts
from rankjury.retrieval.embedding.embed import find_model
from rankjury.retrieval.embedding.models import Embedder
from tests.stats.support import thorough

SPEC = Vocabulary.of(
    {
        "object": ["bicyclist", "pedestrian", "small vehicle"],
        "actor": ["entering ego path", "leaving ego path", "stationary", "crossing"],
        "relation": ["corridor", "adjacent", "behind ego", "opposite lane"],
        "ego": ["turning left", "lane change", "going straight"],
        "scene": ["urban", "highway", "intersection", "night"],
    }
)
WORDS = "cyclist entering ego lane truck car walking street left turn road bike person driving highway night".split()  # noqa: SIM905
needs_keybert = pytest.mark.skipif(find_spec("keybert") is None, reason="keybert is not installed")
METHODS = ["embedding", pytest.param("keybert", marks=needs_keybert)]


@cache
def mapper_of(settings_: MappingSettings) -> Mapper:
    """Once each: a mapper loads its model."""
    return make_mapper(SPEC, settings_)


def several(texts: list[str], settings_: MappingSettings) -> list[Extraction]:
    return map_texts(texts, SPEC, settings_, mapper=mapper_of(settings_))


def one(text: str, method: str, **others: object) -> Extraction:
    (found,) = several([text], MappingSettings(method, **others))  # type: ignore[arg-type]
    return found


def names(found: Extraction) -> list[str]:
    return [keyword.name for keyword in found.keywords]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ["cyclist entering ego lane", "A cyclist is entering the ego lane."])
def test_the_example_of_the_spec(method: str, text: str) -> None:
    found = one(text, method)
    assert names(found) == ["bicyclist", "entering ego path"]
    assert [(mapped.ngram, mapped.method) for mapped in found.mapped] == [("cyclist", method), ("entering ego", method)]
    assert all(0.5 < mapped.score < 1 for mapped in found.mapped)


@pytest.mark.parametrize("method", METHODS)
def test_a_part_that_keywords_share_means_none_of_them(method: str) -> None:
    reasons = {lost.mapped.ngram: lost.reason for lost in one("cyclist entering ego lane", method).dropped}
    assert reasons["lane"] == "'lane' is only a part that opposite lane, lane change share"
    assert "entering ego path, leaving ego path, behind ego share" in reasons["ego"]


@pytest.mark.parametrize("method", METHODS)
def test_names_that_stand_in_the_text_have_score_one(method: str) -> None:
    found = one("Pedestrians at the intersection", method, threshold=1.0)
    assert [(mapped.keyword.name, mapped.ngram, mapped.score) for mapped in found.mapped] == [
        ("pedestrian", "pedestrians", 1.0),
        ("intersection", "intersection", 1.0),
    ]


@pytest.mark.parametrize("method", METHODS)
def test_a_higher_threshold_finds_no_more(method: str) -> None:
    found = [set(names(one("cyclist entering ego lane", method, threshold=level))) for level in (0.5, 0.75, 0.9)]
    assert found == [{"bicyclist", "entering ego path"}, {"entering ego path"}, set()]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ["", "the and of", "?!", "🚲"])
def test_texts_that_say_nothing(method: str, text: str) -> None:
    assert one(text, method).mapped == ()


@pytest.mark.parametrize("method", METHODS)
def test_what_comes_nearest_when_nothing_comes_near(method: str) -> None:
    settings_ = MappingSettings(method)
    mapper = mapper_of(settings_)
    (found,) = several(["somebody is strolling"], settings_)
    near = add_nearest(found, mapper, SPEC, method).nearest
    assert found.mapped == () and len(near) == 3
    assert [mapped.score for mapped in near] == sorted((mapped.score for mapped in near), reverse=True)
    assert near[0].score <= mapper.threshold


@pytest.mark.parametrize("method", METHODS)
def test_synonyms_are_spellings_and_ignored_words_part_ngrams(method: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('ignored = ["video of"]\n[synonyms]\ncorridor = ["ahead of us"]\n', encoding="utf-8")
    found = one("video of a lorry ahead of us", method, synonyms=path)
    assert [(mapped.keyword.name, mapped.ngram, mapped.score) for mapped in found.mapped] == [
        ("corridor", "ahead of us", 1.0)
    ]
    shown = {lost.mapped.ngram for lost in one("video of night", method, synonyms=path, threshold=0.0).dropped}
    assert not any("video" in ngram for ngram in shown)


def test_ngrams_of_other_lengths() -> None:
    assert names(one("cyclist entering ego lane", "embedding", ngrams=(1, 1))) == ["bicyclist", "entering ego path"]
    found = one("cyclist entering ego lane", "embedding", ngrams=(2, 2))
    assert [mapped.ngram for mapped in found.mapped] == ["entering ego"]


# --- the same beside a slow implementation ------------------------------------------------------------------------


@cache
def model() -> Embedder:
    return find_model("wordllama")


@cache
def vector(phrase: str) -> tuple[float, ...]:
    return tuple(map(float, model().embed([phrase])[0]))


@cache
def cosine(one_: str, other: str) -> float:
    left, right = vector(one_), vector(other)
    product = math.fsum(a * b for a, b in zip(left, right, strict=True))
    return product / math.sqrt(math.fsum(a * a for a in left) * math.fsum(b * b for b in right))


def parts(name: str) -> set[str]:
    words = name.split()
    found = {" ".join(words[a:b]) for a in range(len(words)) for b in range(a + 1, len(words) + 1)}
    return found - {name}


def slow(text: str, threshold: float) -> dict[str, str]:
    """Algorithm 1 in plain Python, literal matches first: keyword → n-gram."""
    words = text.split()
    names_ = [keyword.name for keyword in SPEC.keywords]
    near = []
    for start in range(len(words)):
        for end in range(start + 1, min(start + 3, len(words)) + 1):
            ngram = " ".join(words[start:end])
            scores = [1.0 if ngram == name else cosine(ngram, name) for name in names_]
            best = max(range(len(names_)), key=lambda place: (scores[place], -place))
            shared = sum(ngram in parts(name) for name in names_) > 1
            if (scores[best] > threshold or ngram in names_) and not shared:
                near.append((ngram not in names_, -scores[best], start - end, start, best, end))
    taken: set[int] = set()
    found: dict[str, str] = {}
    for _, _, _, start, best, end in sorted(near):
        if taken.isdisjoint(range(start, end)):
            taken |= set(range(start, end))
            found.setdefault(names_[best], " ".join(words[start:end]))
    return found


@thorough(100)
@given(st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join), st.sampled_from([0.4, 0.5, 0.65]))
def test_a_slow_implementation_agrees(text: str, threshold: float) -> None:
    found = one(text, "embedding", threshold=threshold)
    assert {mapped.keyword.name: mapped.ngram for mapped in found.mapped} == slow(text, threshold)
    for mapped in found.mapped:
        assert mapped.score == pytest.approx(cosine(mapped.ngram, mapped.spelling), abs=1e-6)


# --- the same to the last digit -----------------------------------------------------------------------------------

TEXTS = [" ".join(WORDS[(7 * row + 3 * place) % len(WORDS)] for place in range(6)) for row in range(150)]


@pytest.mark.parametrize("method", METHODS)
def test_no_digit_hangs_on_the_other_texts(method: str) -> None:
    settings_ = MappingSettings(method)
    together = several(TEXTS, settings_)
    assert several(TEXTS[::-1], settings_)[::-1] == together
    parted = [found for first in range(0, 150, 37) for found in several(TEXTS[first : first + 37], settings_)]
    assert parted == together
    assert [one(text, method) for text in TEXTS[:5]] == together[:5]


# --- KeyBERT ------------------------------------------------------------------------------------------------------


def slow_choice(text: str, count: int, diversity: float) -> set[str]:
    """Maximal marginal relevance in plain Python, over the whole vocabulary."""
    names_ = [keyword.name for keyword in SPEC.keywords]
    chosen = [max(names_, key=lambda name: cosine(text, name))]
    while len(chosen) < min(count, len(names_)):
        chosen.append(
            max(
                (name for name in names_ if name not in chosen),
                key=lambda name: (
                    (1 - diversity) * cosine(text, name) - diversity * max(cosine(name, other) for other in chosen)
                ),
            )
        )
    return set(chosen)


@needs_keybert
@pytest.mark.parametrize("diversity", [0.0, 0.2, 0.7])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_with_a_diversity_mmr_chooses_among_the_whole_vocabulary(diversity: float, count: int) -> None:
    """Literal matches apart, which always count."""
    for text in (*TEXTS[:8], "cyclist entering ego lane"):
        found = one(text, "keybert", threshold=0.0, diversity=diversity, chosen=count)
        everyone = {*found.keywords, *(lost.mapped.keyword for lost in found.dropped)}
        literal = {keyword.name for keyword in SPEC.keywords if keyword.name in text}
        assert {keyword.name for keyword in everyone} - literal <= slow_choice(text, count, diversity)
        assert literal <= set(names(found))


OFFSIDE = """
from hashlib import sha256

def near_a_wrong_keyword(texts):
    return [_vector("turning right" if "turning" in text else text) for text in texts]

def _vector(text):
    return [byte - 127.5 for byte in sha256(text.encode()).digest()]
"""
MANY = Vocabulary.of({"ego": ["turning left", "turning right"], "scene": [f"scene{number}" for number in range(40)]})


@pytest.fixture
def offside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model for which every phrase with turning is *turning right*, and others are like nothing else."""
    (tmp_path / "offside_model.py").write_text(OFFSIDE)
    monkeypatch.chdir(tmp_path)
    return "offside_model:near_a_wrong_keyword"


@pytest.mark.parametrize(
    ("method", "diversity"),
    [("embedding", None), *(pytest.param("keybert", level, marks=needs_keybert) for level in (None, 0.2))],
)
def test_no_literal_match_is_lost_or_inverted(method: str, diversity: float | None, offside: str) -> None:
    """KeyBERT's MMR kept 12 keywords of the whole text, and dropped literal matches that were not among them."""
    texts = [", ".join(["turning left", *(f"scene{(row + 7 * step) % 40}" for step in range(4))]) for row in range(40)]
    found = map_texts(texts, MANY, MappingSettings(method, offside, diversity=diversity))
    assert [", ".join(names(extraction)) for extraction in found] == texts
    assert all(mapped.score == 1 for extraction in found for mapped in extraction.mapped)


@pytest.mark.parametrize("method", METHODS)
def test_words_of_a_literal_match_mean_no_other_keyword(method: str, offside: str) -> None:
    """Also where the longer n-gram around them scores 1 with another keyword."""
    (found,) = map_texts(["van turning left"], MANY, MappingSettings(method, offside))
    assert [(mapped.keyword.name, mapped.ngram) for mapped in found.mapped] == [("turning left", "turning left")]
    reasons = {lost.mapped.ngram: lost.reason for lost in found.dropped}
    assert set(reasons) >= {"turning", "van turning", "van turning left"}
    assert all("'turning left'" in reasons[ngram] for ngram in ("van turning", "van turning left"))


@needs_keybert
def test_the_scores_of_ngrams_are_those_of_keybert() -> None:
    """KeyBERT.extract(n-gram, V) of Algorithm 1: a vectorizer that finds every keyword in every n-gram."""
    from keybert import KeyBERT
    from keybert.backend import BaseEmbedder
    from scipy.sparse import csr_matrix

    listed = [keyword.name for keyword in SPEC.keywords]

    class WholeVocabulary:
        def fit(self, documents: list[str]) -> "WholeVocabulary":
            return self

        def get_feature_names_out(self) -> np.ndarray:
            return np.array(listed)

        def transform(self, documents: list[str]) -> object:
            return csr_matrix(np.ones((len(documents), len(listed))))

    class Backend(BaseEmbedder):  # type: ignore[misc, unused-ignore]
        def embed(self, documents: list[str], verbose: bool = False) -> np.ndarray:
            return model().embed(list(documents))

    bert = KeyBERT(model=Backend())
    for text in ("cyclist entering ego lane", "truck turning left on highway", *TEXTS[:5]):
        found = one(text, "keybert", threshold=0.3)
        compared = [mapped for mapped in found.mapped if mapped.score < 1]
        assert compared
        for mapped in compared:
            (best,) = bert.extract_keywords([mapped.ngram], vectorizer=WholeVocabulary(), top_n=1)
            assert best == (mapped.keyword.name, pytest.approx(mapped.score, abs=1e-4))


def test_a_diversity_is_for_keybert_alone() -> None:
    with pytest.raises(UsageError, match="diversity"):
        MappingSettings("embedding", diversity=0.2)


@needs_keybert
def test_its_own_candidates_would_find_nothing() -> None:
    """The reason why they are not used."""
    from keybert import KeyBERT
    from keybert.backend import BaseEmbedder

    class Backend(BaseEmbedder):  # type: ignore[misc, unused-ignore]
        def embed(self, documents: list[str], verbose: bool = False) -> np.ndarray:
            return model().embed(list(documents))

    listed = [keyword.name for keyword in SPEC.keywords]
    told = KeyBERT(model=Backend()).extract_keywords("cyclist entering ego lane", candidates=listed)
    assert told == []


@needs_keybert
def test_keybert_leaves_warnings_alone() -> None:
    script = (
        "import warnings; before = list(warnings.filters)\n"
        "from rankjury.labeling.keywords.mapping import *\n"
        "from rankjury.labeling.keywords.annotations import Vocabulary\n"
        "make_mapper(Vocabulary.of({'g': ['bus']}), MappingSettings('keybert'))\n"
        "import keybert\n"
        "print(*(sum(one[0] == 'ignore' and one[2] is FutureWarning for one in listed) "
        "for listed in (warnings.filters, before)))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    ours, before = ended.stdout.split()
    assert ours == before


# --- models that are refused --------------------------------------------------------------------------------------


def test_a_model_without_directions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flat_model.py").write_text("def zeros(texts):\n    return [[0.0, 0.0] for _ in texts]\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="vectors of all keywords are zero"):
        one("cyclist", "embedding", model="flat_model:zeros")


def test_without_the_library_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keybert", None)
    with pytest.raises(MissingExtra, match=r"the method keybert needs.*rankjury\[keybert\]"):
        make_mapper(SPEC, MappingSettings("keybert"))
