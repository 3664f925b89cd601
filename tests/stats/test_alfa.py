"""The alfa dialect: the driving protocol's formulas, worked by hand and against sets."""

import math

import pytest
from hypothesis import given, strategies as st

import rankjury
from rankjury.measures.dialects import resolve
from tests.peers.agreement import assert_same, per_query
from tests.peers.strategies import thorough

NAMES = ("Recall", "Precision", "MAP", "NDCG")
CUTS = (1, 2, 3, 5, 8)
ITEMS = tuple(f"clip{number}" for number in range(9))
GRADES = (0.0, 0.25, 0.5, 1.0, 2.0)

Grades = dict[str, float]
Golds = dict[str, Grades]
Lists = dict[str, list[str]]


def alfa(gold: object, ranking: object, *measures: str) -> list[float]:
    return list(rankjury.evaluate(gold, ranking, list(measures), dialect="alfa").mean().values())


class TestExamplesOfTheProtocol:
    RECALLS = ("Recall@1", "Recall@3", "Recall@5")

    def test_text_to_video(self) -> None:
        """Ranks 1 to 4 have both keywords; the fifth has one of two and does not count."""
        gold = {"cyclist entering ego lane": {"v1": 1, "v2": 1, "v3": 1, "v4": 1, "car2pedestrian_001": 0.5}}
        ranking = {"cyclist entering ego lane": ["v1", "v2", "v3", "v4", "car2pedestrian_001"]}
        assert alfa(gold, ranking, *self.RECALLS) == [1.0, 1.0, 0.8]

    def test_workflow(self) -> None:
        gold = {"urban_cyclist_crossing_001": dict.fromkeys(["b", "c", "d", "e", "not found"], 1)}
        ranking = {"urban_cyclist_crossing_001": ["a", "b", "c", "d", "e"]}
        assert [f"{one:.3f}" for one in alfa(gold, ranking, *self.RECALLS)] == ["0.000", "0.667", "0.800"]

    def test_video_to_video(self) -> None:
        """Eight relevant, three of them in the first five: the query's own clip, which comes first, is no result."""
        gold = {"highway_merge_002": dict.fromkeys([f"r{number}" for number in range(8)], 1)}
        ranking = {"highway_merge_002": ["highway_merge_002", "r0", "r1", "r2", "x", "y"]}
        assert alfa(gold, ranking, "Recall@5", "Precision@5") == [3 / 5, 3 / 8]

    def test_fewer_results_than_k_are_divided_by_k(self) -> None:
        """Above the threshold are two results, both relevant."""
        assert alfa({"q": {"a": 1, "b": 1, "c": 1}}, {"q": ["a", "b"]}, "Recall@5", "Precision@5") == [2 / 5, 2 / 3]

    def test_map_and_ndcg(self) -> None:
        """Hits at 2 and 3 of three relevant; the half match at 1 is a gain, but no hit."""
        gold, ranking = {"q": {"a": 0.5, "b": 1, "c": 1, "d": 1}}, {"q": ["a", "b", "c"]}
        average, ndcg = alfa(gold, ranking, "MAP", "NDCG@3")
        assert average == (1 / 2 + 2 / 3) / 3
        dcg, ideal = 0.5 + 1 / math.log2(3) + 1 / 2, 1 + 1 / math.log2(3) + 1 / 2
        assert ndcg == pytest.approx(dcg / ideal, rel=1e-15)


class TestWhatIsUndefined:
    GOLD = {"full": {"a": 1}, "partial": {"a": 0.5}, "missing": {"a": 1}}
    RANKING = {"full": ["a"], "partial": ["a"]}

    def test_only_recall_is_defined_where_nothing_is_relevant(self) -> None:
        """0 of K is 0; of no relevant item there is no share. NDCG has the partial match."""
        scores = rankjury.evaluate(self.GOLD, self.RANKING, [f"{name}@1" for name in NAMES], dialect="alfa")
        assert per_query(scores, "Recall@1") == {"full": 1.0, "partial": 0.0, "missing": 0.0}
        assert per_query(scores, "Precision@1") == per_query(scores, "MAP@1") == {"full": 1.0, "missing": 0.0}
        assert per_query(scores, "NDCG@1") == {"full": 1.0, "partial": 1.0, "missing": 0.0}

    def test_the_user_may_say_otherwise(self) -> None:
        scores = rankjury.evaluate(self.GOLD, self.RANKING, "Recall@1", dialect="alfa", empty="skip", missing="skip")
        assert per_query(scores, "Recall@1") == {"full": 1.0}


class TestNames:
    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("Recall@5", "recall(over=k,rel=1,self=drop)@5"),
            ("recall@5", "recall(over=k,rel=1,self=drop)@5"),
            ("Precision@5", "precision(over=relevant,rel=1,self=drop)@5"),
            ("precision@5", "precision(over=relevant,rel=1,self=drop)@5"),
            ("MAP", "ap(rel=1,self=drop)"),
            ("MAP@5", "ap(rel=1,self=drop)@5"),
            ("NDCG@5", "ndcg(self=drop)@5"),
            ("ndcg(gain=exp)@5", "ndcg(gain=exp,self=drop)@5"),
            ("ndcg(gain=binary)@5", "ndcg(gain=binary,rel=1,self=drop)@5"),
            ("dcg@5", "dcg(self=drop)@5"),
            ("err@5", "err(self=drop)@5"),
            ("rr", "rr(rel=1,self=drop)"),
            ("hit_rate@5", "hit_rate(rel=1,self=drop)@5"),
            ("rbp", "rbp(rel=1,self=drop)"),
            ("rbp(gain=linear)", "rbp(gain=linear,self=drop)"),
            ("recall(over=relevant)@5", "recall(rel=1,self=drop)@5"),
            ("Precision", "precision(over=relevant,rel=1,self=drop)"),
        ],
    )
    def test_under_the_dialect(self, name: str, meant: str) -> None:
        asked = resolve(name, "alfa")
        assert (asked.label, str(asked.measure)) == (name, meant)

    @pytest.mark.parametrize("name", ["Recall@5", "Precision@5", "MAP", "MAP@5", "NDCG@5"])
    def test_without_it_they_are_those_of_ir_measures(self, name: str) -> None:
        assert resolve(name).measure == resolve(name, "ir_measures").measure
        assert resolve(name).measure != resolve(name, "alfa").measure

    @pytest.mark.parametrize("name", ["recall@5", "precision@5"])
    def test_without_it_rankjurys_own_are_the_usual_ones(self, name: str) -> None:
        assert str(resolve(name).measure) == name


@st.composite
def cases(draw: st.DrawFn) -> tuple[Golds, Lists]:
    """Queries are clips themselves, so that they may come back; some have no result, or none that is judged."""
    shared = draw(st.sampled_from(ITEMS))
    queries = draw(st.sets(st.sampled_from(ITEMS), max_size=3)) | {shared}
    lists = st.lists(st.sampled_from(ITEMS), unique=True, min_size=1)
    grades = st.sampled_from(GRADES)
    others = {query: st.sampled_from([one for one in ITEMS if one != query]) for query in sorted(queries)}
    golds = {query: draw(st.dictionaries(items, grades, min_size=1)) for query, items in others.items()}
    return golds, {query: draw(lists) for query in sorted(queries) if query == shared or draw(st.booleans())}


def of_one(name: str, grades: Grades, shown: list[str], k: int) -> float | None:
    """The formula of the protocol; None where it divides by nothing."""
    relevant = {item for item, grade in grades.items() if grade >= 1}
    top = shown[:k]
    if name == "Recall":
        return len(relevant & set(top)) / k
    if name == "NDCG":
        best = sorted(grades.values(), reverse=True)[:k]
        ideal = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(best, 1))
        dcg = sum(grades.get(item, 0.0) / math.log2(rank + 1) for rank, item in enumerate(top, 1))
        return dcg / ideal if ideal else None
    if not relevant:
        return None
    if name == "Precision":
        return len(relevant & set(top)) / len(relevant)
    hits = [rank for rank, item in enumerate(top, 1) if item in relevant]
    return sum(len(relevant & set(shown[:rank])) / rank for rank in hits) / len(relevant)


def expected(name: str, golds: Golds, lists: Lists, k: int) -> dict[str, float]:
    found = {
        query: of_one(name, grades, [item for item in lists.get(query, []) if item != query], k)
        for query, grades in golds.items()
    }
    return {query: value for query, value in found.items() if value is not None}


@thorough(100)
@given(cases())
def test_against_sets(case: tuple[Golds, Lists]) -> None:
    golds, lists = case
    labels = [f"{name}@{k}" for name in NAMES for k in CUTS]
    scores = rankjury.evaluate(golds, lists, [*labels, "MAP"], dialect="alfa")
    for name in NAMES:
        for k in CUTS:
            label = f"{name}@{k}"
            exact = name in ("Recall", "Precision")
            assert_same(per_query(scores, label), expected(name, golds, lists, k), label, exact=exact)
    assert_same(per_query(scores, "MAP"), expected("MAP", golds, lists, len(ITEMS)), "MAP", exact=False)


@thorough(40)
@given(cases())
def test_the_usual_names_give_the_same_to_the_last_digit(case: tuple[Golds, Lists]) -> None:
    """Alfa's recall is precision and its precision recall, with what counts as relevant said to these as well."""
    golds, lists = case
    for k in CUTS:
        ours = rankjury.evaluate(golds, lists, [f"Recall@{k}", f"Precision@{k}"], dialect="alfa")
        usual = [f"precision(rel=1,self=drop)@{k}", f"recall(rel=1,self=drop)@{k}"]
        theirs = rankjury.evaluate(golds, lists, usual)
        for label, other in zip(ours.labels, theirs.labels, strict=True):
            assert_same(per_query(ours, label), per_query(theirs, other), label)
