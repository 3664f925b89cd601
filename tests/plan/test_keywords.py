"""Plans whose gold is made of keywords: every key of the gold and of its mapping, and slices."""

from pathlib import Path

import numpy as np
import pytest

from rankjury.errors import DataError
from rankjury.evaluation.sections import Keywords
from rankjury.labeling.keywords.partial_match import PartialMatches
from rankjury.plan.gold.keywords import KeywordsGold, MappingTable
from tests.plan import carried_out, means, put
from tests.plan.keyword_plans import (
    CLIPS,
    GOLD,
    HEAD,
    ON_CLIPS,
    ON_TEXTS,
    TABLE,
    WITH_TEXTS,
    asked,
    groups_of,
    lines,
    many,
    ran,
    relevant,
    scores,
    warned,
)


def test_every_key_is_tried_here() -> None:
    """A key that is added to the kind fails this until it has a test."""
    tried = {"kind", "path", "id", "groups", "select", "separator", "no_value", "match", "queries", "keywords"}
    tried |= {"mapping", "without_keywords", "sample", "seed", "show"}
    assert set(KeywordsGold.model_fields) == tried
    assert set(MappingTable.model_fields) == {"method", "model", "threshold", "synonyms", "diversity", "check"}


class TestAnnotations:
    """path, id, groups, separator, no_value."""

    def test_every_column_is_a_group(self, folder: Path) -> None:
        outcome = ran(folder)
        assert asked(outcome)["c2"] == {"car", "turning", "braking", "city"}
        assert outcome.report.needed_section(Keywords)["groups"] == ["thing", "act", "place"]
        assert relevant(outcome) == {"c1": 0, "c2": 0, "c3": 0, "c4": 0, "c5": 1, "c6": 0}

    @pytest.mark.parametrize("suffix", ["jsonl", "parquet", "tsv", "csv.gz"])
    def test_other_forms(self, folder: Path, suffix: str) -> None:
        import gzip

        import polars as pl

        path = folder / f"annotations.{suffix}"
        rows = [
            {"clip": clip, "thing": cells[0].split("|") if cells[0] else None, "act": cells[1], "place": cells[2]}
            for clip, cells in CLIPS.items()
        ]
        if suffix == "jsonl":
            path.write_text(lines(rows))
        elif suffix == "parquet":
            pl.DataFrame(rows).write_parquet(path)
        else:
            text = TABLE.replace(",", "\t") if suffix == "tsv" else TABLE
            path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
        outcome = ran(folder)
        other = carried_out(folder, f"{HEAD}{GOLD.replace('clips.csv', path.name)}{ON_CLIPS}")
        assert asked(other) == asked(outcome) and means(other, "s") == pytest.approx(means(outcome, "s"), nan_ok=True)

    def test_the_column_of_ids(self, folder: Path) -> None:
        put(folder, clips__csv=TABLE.replace("clip,thing", "name,thing"))
        with pytest.raises(DataError, match="none holds ids"):
            ran(folder)
        assert len(asked(ran(folder, 'gold.id = "name"\n'))) == 6

    def test_columns_of_groups(self, folder: Path) -> None:
        """Two columns make one group, in which a name stands once; a column that no group names does not count."""
        put(folder, clips__csv="clip,a,b,c,d\nc1,car,car,x,7\nc2,van,car,y,7\nc3,car,van,x,7\n")
        outcome = ran(folder, 'gold.groups = { thing = ["a", "b"], other = "c" }\n')
        assert asked(outcome) == {"c1": {"car", "x"}, "c2": {"car", "van", "y"}, "c3": {"car", "van", "x"}}
        assert outcome.report.needed_section(Keywords)["vocabulary"] == 4
        assert relevant(outcome) == {"c1": 1, "c2": 0, "c3": 0}

    def test_yes_and_no(self, folder: Path) -> None:
        put(folder, clips__csv="clip,rain,sign,n\nc1,true,yes,2\nc2,False,YES,2\nc3,TRUE,no,3\nc4,,,\n")
        assert asked(ran(folder)) == {"c1": {"rain", "sign", "2"}, "c2": {"sign", "2"}, "c3": {"rain", "3"}}

    def test_separator(self, folder: Path) -> None:
        put(folder, clips__csv="clip,thing\nc1,car; van\nc2,car|van\nc3,van ;car\n")
        outcome = ran(folder, 'gold.separator = ";"\n')
        assert asked(outcome) == {"c1": {"car", "van"}, "c2": {"car|van"}, "c3": {"car", "van"}}

    def test_the_separator_of_the_texts(self, folder: Path) -> None:
        """Their keywords may stand in one cell, split as those of the clips are."""
        put(
            folder,
            clips__csv=TABLE.replace("|", ";"),
            texts__csv="query_id,text,keywords\nt1,x,car;turning\nt2,y,bike\n",
        )
        outcome = ran(folder, 'gold.separator = ";"\ngold.queries = "texts.csv"\n', system=ON_TEXTS)
        assert asked(outcome) == {"t1": {"car", "turning"}, "t2": {"bike"}}

    def test_no_value(self, folder: Path) -> None:
        put(folder, clips__csv="clip,thing\nc1,N/A\nc2,none\nc3,car|none\nc4,NaN\n")
        assert asked(ran(folder)) == {"c2": {"none"}, "c3": {"car", "none"}}
        assert asked(ran(folder, 'gold.no_value = ["None", ""]\n')) == {"c1": {"N/A"}, "c3": {"car"}, "c4": {"NaN"}}

    def test_a_group_with_an_equals_sign(self, folder: Path) -> None:
        partial = ran(folder, 'gold.groups = { "a=b" = "thing", act = "act" }\n').report.sections_of(PartialMatches)[
            "s"
        ]
        assert {one.name for one in partial.groups} == {"a=b", "act"}


class TestSelect:
    def test_only_these_groups_count(self, folder: Path) -> None:
        outcome = ran(folder, 'gold.select = ["act"]\n')
        assert groups_of(outcome) == {"act"}
        assert relevant(outcome) == {"c1": 2, "c2": 0, "c3": 2, "c4": 2, "c6": 2}
        assert (
            outcome.report.needed_section(Keywords)["groups"] == ["act"]
            and outcome.report.needed_section(Keywords)["vocabulary"] == 2
        )
        assert outcome.report.sections_of(PartialMatches)["s"].alike is not None, (
            "what the others say of look-alikes is told"
        )

    def test_of_texts(self, folder: Path) -> None:
        """A keyword of another group is no keyword of the query; one that has no other is left out."""
        outcome = ran(folder, WITH_TEXTS, 'gold.select = ["act", "place"]\n', system=ON_TEXTS)
        assert asked(outcome) == {"t1": {"turning"}, "t3": {"city"}}
        assert warned(outcome, "1 query has no keyword in the selected groups", "left out: t2")
        assert outcome.report.needed_section(Keywords)["without_keywords"] == ["t2"]

    def test_none_is_all(self, folder: Path) -> None:
        assert asked(ran(folder, "gold.select = []\n")) == asked(ran(folder))


class TestMatch:
    @pytest.mark.parametrize(
        ("match", "counts"),
        [
            ("all", [2, 2, 2]),
            ("any", [3, 2, 3]),
            ("at-least-1", [3, 2, 3]),
            ("at-least-2", [2, 2, 2]),
            ("at-least-9", [2, 2, 2]),
        ],
    )
    def test_how_many(self, folder: Path, match: str, counts: list[int]) -> None:
        """A text of fewer keywords than are needed asks for all of its own."""
        outcome = ran(folder, WITH_TEXTS, f'gold.match = "{match}"\n', system=ON_TEXTS)
        assert list(relevant(outcome).values()) == counts
        assert outcome.report.needed_section(Keywords)["match"] == match

    def test_graded(self, folder: Path) -> None:
        """Ranks 1 to 3 of t1 have both, both and neither of its keywords; c4, at rank 4, has one."""
        put(folder, run__trec="t1 Q0 c4 1 0.9 x\nt1 Q0 c1 2 0.8 x\nt1 Q0 c3 3 0.7 x\n")
        outcome = ran(folder, WITH_TEXTS, 'gold.match = "graded"\n', system='systems.s = "run.trec"\n')
        discount = 1 / np.log2(3)
        assert scores(outcome.report, "NDCG@3")["t1"] == pytest.approx((0.5 + discount) / (1 + discount + 0.25))
        assert scores(outcome.report, "Recall@1")["t1"] == 0.0, "half a match is none"
        assert scores(outcome.report, "Precision@3")["t1"] == 0.5, "of two that match wholly"


class TestSample:
    def test_so_many_clips_ask(self, folder: Path) -> None:
        outcome = ran(folder, "gold.sample = 3\n")
        assert len(relevant(outcome)) == 3 and outcome.report.needed_section(Keywords)["items"] == 6
        assert all(relevant(outcome)[query] == relevant(ran(folder))[query] for query in relevant(outcome))

    def test_by_the_seed(self, folder: Path) -> None:
        samples = {seed: tuple(relevant(ran(folder, f"gold.sample = 3\ngold.seed = {seed}\n"))) for seed in range(4)}
        assert len(set(samples.values())) > 1
        assert samples[1] == tuple(relevant(ran(folder, "gold.sample = 3\ngold.seed = 1\n")))

    def test_it_is_42_unless_it_is_said(self, folder: Path) -> None:
        assert relevant(ran(folder, "gold.sample = 3\n")) == relevant(ran(folder, "gold.sample = 3\ngold.seed = 42\n"))

    def test_neighbours_are_all(self, folder: Path) -> None:
        outcome = ran(folder, "gold.sample = 1\n")
        (looked,) = outcome.report.sections_of(PartialMatches)["s"].queries
        assert {one.item for one in looked.results} <= set(CLIPS) - {looked.query} and len(looked.results) == 3


class TestSlices:
    def test_by_keyword_and_group(self, folder: Path) -> None:
        """A keyword that fewer than five ask for is among the rare ones."""
        many(folder)
        slices = {part.name: part for part in ran(folder).report.slices}
        assert set(slices) == {
            "keyword=bus",
            "keyword=car",
            "keyword=city",
            "keyword=(others)",
            "group=place",
            "group=thing",
        }
        assert {name: part.estimates["s"]["Recall@3"].n for name, part in slices.items()} == {
            "keyword=bus": 5,
            "keyword=car": 6,
            "keyword=city": 6,
            "keyword=(others)": 1,
            "group=place": 6,
            "group=thing": 12,
        }

    def test_means(self, folder: Path) -> None:
        many(folder)
        report = ran(folder).report
        told = {
            one.query: {str(keyword) for keyword in one.keywords}
            for one in report.sections_of(PartialMatches)["s"].queries
        }
        values = scores(report, "Recall@3")
        slices = {part.name: part.estimates["s"]["Recall@3"].mean for part in report.slices}
        for name in ("bus", "car"):
            own = [values[query] for query, keywords in told.items() if f"thing={name}" in keywords]
            assert slices[f"keyword={name}"] == pytest.approx(sum(own) / len(own))
        assert slices["group=thing"] == pytest.approx(sum(values.values()) / len(values))

    def test_a_name_of_two_groups(self, folder: Path) -> None:
        """It comes with its group."""
        put(folder, clips__csv="clip,a,b\n" + "".join(f"c{n},x,x\n" for n in range(1, 7)))
        slices = {part.name for part in ran(folder).report.slices}
        assert {"keyword=a=x", "keyword=b=x"} <= slices and "keyword=x" not in slices

    def test_none_where_all_are_rare(self, folder: Path) -> None:
        assert ran(folder, WITH_TEXTS, system=ON_TEXTS).report.slices == ()

    def test_beside_those_of_a_table(self, folder: Path) -> None:
        many(folder)
        put(folder, kinds__csv="query_id,kind\n" + "".join(f"c{n:03},{'ab'[n % 2]}\n" for n in range(12)))
        names = {part.name for part in ran(folder, 'slices = "kinds.csv:kind"\n').report.slices}
        assert {"kind=a", "kind=b", "keyword=car", "group=thing"} <= names
