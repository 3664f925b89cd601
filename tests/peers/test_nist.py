"""The trec_eval dialects against what NIST's trec_eval 10 prints for NIST's own test files.

The commands are those of trec_eval's own quicktest. The files are not rankjury's to ship: they are read from beside the
repository, where they are there.
"""

from collections.abc import Iterator
from functools import cache

import polars as pl
import pytest

import rankjury
from tests import paths

DATA = paths.SHARED / "trec_eval"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"NIST's test files are not there: {DATA}")

DIALECTS = ("trec_eval", "trec_eval-10")
# Texts, and measures or parameters that rankjury has no name for. A name that joins or leaves this list fails a test.
NOT_READ = {
    "runid", "relstring", "relstring_20", "binG", "G", "Rndcg", "ndcg_rel", "rbp_resid", "utility_2,-1,0,0",
    "11pt_avg_.25,.5,.75", "ndcg_1=3,2=9,4=4.5",
}  # fmt: skip
# Printed file, judgments, run and the options that stand for trec_eval's: -c is missing=zero, -l2 is rel=2.
PRINTED = {
    "out.test": ("qrels.test", "results.test", {}),
    "out.test.a": ("qrels.test", "results.test", {}),
    "out.test.aq": ("qrels.test", "results.test", {}),
    "out.test.aqc": ("qrels.test", "results.trunc", {"missing": "zero"}),
    "out.test.aql": ("qrels.rel_level", "results.test", {"rel": 2}),
    "out.test.meas_params": ("qrels.test", "results.test", {}),
}
# trec_eval 10 rounds the number of relevant items that a level of recall asks for, trec_eval 9 and pytrec_eval add 0.9.
CHANGED_IN_10 = ("iprec_at_recall", "11pt_avg")
HOLDS_FIGURES_OF = {"out.test": 30, "out.test.a": 99, "out.test.meas_params": 88}
OF_ALL_MEASURES = 387


def printed(name: str) -> Iterator[tuple[str, str, str]]:
    """Measure, query and figure of each line."""
    for line in (DATA / name).read_text().splitlines():
        measure, query, figure = line.split(maxsplit=2)
        yield measure, query, figure


@cache
def is_read(name: str) -> bool:
    try:
        rankjury.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [name], dialect="trec_eval")
    except rankjury.UsageError:
        return False
    return True


def as_printed(scores: rankjury.Scores, measure: str, query: str) -> str:
    """The figure in trec_eval's form: four decimals, but counts whole."""
    summary = scores.summary(measure)
    if query == "all":
        return f"{summary.mean:.4f}" if summary.total is None else f"{summary.total:.0f}"
    value = scores[measure][scores.queries.to_list().index(query)]
    return f"{value:.4f}" if summary.total is None else f"{value:.0f}"


def assert_prints(name: str, scores: rankjury.Scores) -> None:
    lines = [line for line in printed(name) if line[0] in scores.labels]
    assert lines
    found = [(measure, query, as_printed(scores, measure, query)) for measure, query, _ in lines]
    assert found == lines


def names_to_compare(name: str, dialect: str) -> list[str]:
    names = dict.fromkeys(measure for measure, _, _ in printed(name) if measure not in NOT_READ)
    return [measure for measure in names if dialect == "trec_eval-10" or not measure.startswith(CHANGED_IN_10)]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", PRINTED)
def test_prints_the_same_figures(name: str, dialect: str) -> None:
    gold, run, options = PRINTED[name]
    scores = rankjury.evaluate(DATA / gold, DATA / run, names_to_compare(name, dialect), dialect=dialect, **options)
    assert_prints(name, scores)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_prints_the_same_figures_of_the_first_hundred(dialect: str) -> None:
    """-M100 looks at the first hundred items of each query only, here cut before rankjury sees them."""
    run = rankjury.read_run(DATA / "results.trunc").frame()
    by_score = run.sort("query_id", "score", "item_id", descending=[False, True, True])
    cut = by_score.group_by("query_id", maintain_order=True).head(100)
    assert cut["query_id"].value_counts().sort("query_id").rows() == [("301", 100), ("303", 84)]
    gold, names = rankjury.read_gold(DATA / "qrels.test"), names_to_compare("out.test.aqcM", dialect)
    assert_prints("out.test.aqcM", rankjury.evaluate(gold, cut, names, dialect=dialect, missing="zero"))


def test_a_missing_query_is_an_error_in_trec_eval_10() -> None:
    with pytest.raises(rankjury.DataError, match="302"):
        rankjury.evaluate(DATA / "qrels.test", DATA / "results.trunc", ["map"], dialect="trec_eval-10")


@pytest.mark.parametrize("name", [*PRINTED, "out.test.aqcM"])
def test_every_figure_is_compared_or_known_to_lack_a_name(name: str) -> None:
    lines = list(printed(name))
    assert len(lines) == HOLDS_FIGURES_OF.get(name, OF_ALL_MEASURES)
    assert {measure for measure, _, _ in lines if not is_read(measure)} == {m for m, _, _ in lines} & NOT_READ


def test_recall_levels_are_rounded_in_trec_eval_10() -> None:
    """Of five relevant items 0.25 asks for 1.25: that is one for trec_eval 10, and two for those before."""
    gold, run, name = {"q": dict.fromkeys("abcde", 1)}, {"q": ["a", "x", "b"]}, "iprec_at_recall_0.25"
    means = [rankjury.evaluate(gold, run, [name], dialect=dialect).mean()[name] for dialect in DIALECTS]
    assert means == [2 / 3, 1.0]


def test_junk_behind_the_tag_is_passed_over() -> None:
    run = rankjury.read_run(DATA / "results.trunc")
    assert run.frame().select(pl.len()).item() == 584
