"""Settling: no words mean two things, nobody is lost, and the order of candidates does not matter."""

from itertools import pairwise

from hypothesis import given, strategies as st

from rankjury.labeling.keywords.annotations import Vocabulary
from rankjury.labeling.keywords.mapping import Candidate, Extraction, best_candidates, resolve_candidates

VOCABULARY = Vocabulary.of({"a": ["one", "two"], "b": ["three", "four"]})


def candidate(start: int, end: int, number: int, score: float, sharing: tuple[int, ...] = ()) -> Candidate:
    """Its n-gram tells where it stands."""
    return Candidate(start, end, number, score, f"{start}-{end}", VOCABULARY.keywords[number].name, (), sharing)


def settled(*candidates: Candidate, groups: list[str] | None = None) -> Extraction:
    return resolve_candidates("text", candidates, VOCABULARY, "exact", groups)


def kept(found: Extraction) -> list[tuple[str, str]]:
    return [(one.keyword.name, one.ngram) for one in found.mapped]


def why(found: Extraction) -> dict[str, str]:
    return {one.mapped.ngram: one.reason for one in found.dropped}


def test_the_higher_score_wins_whatever_the_length() -> None:
    found = settled(candidate(0, 3, 0, 0.6), candidate(2, 3, 1, 0.9))
    assert kept(found) == [("two", "2-3")]
    assert why(found) == {"0-3": "overlaps '2-3', which is more similar to two (0.90)"}


def test_equal_scores() -> None:
    longer = settled(candidate(0, 2, 0, 0.6), candidate(1, 2, 1, 0.6))
    assert kept(longer) == [("one", "0-2")] and "is longer" in why(longer)["1-2"]
    earlier = settled(candidate(1, 3, 0, 0.6), candidate(0, 2, 1, 0.6))
    assert kept(earlier) == [("two", "0-2")] and "comes before it" in why(earlier)["1-3"]
    first = settled(candidate(0, 2, 3, 0.6), candidate(0, 2, 1, 0.6))
    assert kept(first) == [("two", "0-2")] and "which is earlier in the vocabulary" in why(first)["0-2"]


def test_what_does_not_overlap_stays_within_one_group_too() -> None:
    assert kept(settled(candidate(2, 3, 0, 0.6), candidate(0, 1, 1, 0.7))) == [("two", "0-1"), ("one", "2-3")]


def test_a_second_finding_takes_its_words() -> None:
    found = settled(candidate(0, 1, 0, 0.9), candidate(2, 4, 0, 0.8), candidate(3, 4, 1, 0.7))
    assert kept(found) == [("one", "0-1")]
    assert why(found)["2-4"] == "already found by '0-1' (0.90)"
    assert why(found)["3-4"] == "overlaps '2-4', which is more similar to one (0.80)"


def test_a_shared_part_takes_no_words() -> None:
    found = settled(candidate(0, 1, 0, 0.9, sharing=(0, 1)), candidate(0, 2, 2, 0.6))
    assert kept(found) == [("four", "0-2")]
    assert why(found) == {"0-1": "'0-1' is only a part that one, two share"}


def test_the_beaten_are_told_of_those_that_stand() -> None:
    beaten = (candidate(0, 1, 1, 0.6),)
    found = settled(Candidate(0, 1, 0, 0.7, "0-1", "one", beaten))
    (lost,) = found.dropped
    assert (lost.mapped.keyword.name, lost.reason) == ("two", "'0-1' is more similar to one (0.70)")
    both = settled(Candidate(0, 1, 0, 0.7, "0-1", "one", beaten), candidate(1, 2, 1, 0.9))
    assert kept(both) == [("one", "0-1"), ("two", "1-2")] and both.dropped == ()


def test_groups_are_looked_at_last() -> None:
    found = settled(candidate(0, 2, 0, 0.9), candidate(1, 2, 2, 0.8), groups=["b"])
    assert kept(found) == []
    assert why(found)["0-2"] == "a is not selected" and "overlaps" in why(found)["1-2"]


def test_best_first_has_each_keyword_once() -> None:
    beaten = Candidate(0, 1, 0, 0.5, "0-1", "one", (candidate(0, 1, 1, 0.4),))
    found = best_candidates([candidate(1, 2, 0, 0.3), beaten, candidate(2, 3, 2, 0.45)], 3)
    assert [(one.number, one.score) for one in found] == [(0, 0.5), (2, 0.45), (1, 0.4)]


candidates = st.lists(
    st.builds(
        lambda start, size, number, score: candidate(start, start + size, number, score),
        st.integers(0, 8),
        st.integers(1, 3),
        st.integers(0, 3),
        st.sampled_from([0.5, 0.6, 0.7, 1.0]),
    ),
    max_size=12,
    unique_by=lambda one: (one.start, one.end, one.number),
)


@given(candidates, st.randoms(use_true_random=False), st.sampled_from([None, ["a"], ["a", "b"]]))
def test_invariants(given_: list[Candidate], random: object, groups: list[str] | None) -> None:
    found = settled(*given_, groups=groups)
    spans = [tuple(map(int, one.ngram.split("-"))) for one in found.mapped]
    assert all(end <= start for (_, end), (start, _) in pairwise(spans)), "in order, none overlaps"
    assert len(set(found.keywords)) == len(found.keywords)
    both = (*found.mapped, *(lost.mapped for lost in found.dropped))
    everyone = [(one.ngram, one.keyword, one.score) for one in both]
    expected = [(one.ngram, VOCABULARY.keywords[one.number], one.score) for one in given_]
    assert sorted(everyone) == sorted(expected), "nobody is lost, nobody is there twice"
    assert all(one.reason for one in found.dropped)
    shuffled = list(given_)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert settled(*shuffled, groups=groups) == found


@given(candidates)
def test_whoever_was_dropped_had_a_reason(given_: list[Candidate]) -> None:
    """Each overlaps one that is at least as good, or has a keyword that is there."""
    found = settled(*given_)
    best = {(one.ngram, one.keyword.name): one.score for one in found.mapped}
    for lost in found.dropped:
        start, end = map(int, lost.mapped.ngram.split("-"))
        others = [one for one in given_ if (one.ngram, VOCABULARY.keywords[one.number].name) in best]
        beside = [one for one in given_ if one.start < end and start < one.end and one.score >= lost.mapped.score]
        same = [one for one in others if VOCABULARY.keywords[one.number] == lost.mapped.keyword]
        assert same or len(beside) > 1
