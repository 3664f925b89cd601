"""Plans whose gold is made of keywords: every key of the gold and of its mapping, and slices."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.errors import DataError, UsageError
from rankjury.evaluation.gate import check_targets
from rankjury.evaluation.sections import Keywords, SystemFacts
from rankjury.evaluation.targets import parse_target
from rankjury.labeling.keywords.partial_match import PartialMatches
from rankjury.plan.gold.keywords import KeywordsGold, MappingTable
from rankjury.plan.run import Outcome, run_plan as run_file
from rankjury.reporting.sections.partial_matches import render
from rankjury.retrieval.bench.result import IndexResult
from tests.plan import carried_out, checked, means, plan_in, put
from tests.plan.keyword_plans import (
    CLIPS,
    GOLD,
    HEAD,
    MAPPED,
    ON_CLIPS,
    ON_TEXTS,
    SHOWN_FROM,
    SIMILARITIES,
    TABLE,
    TEXTS,
    WITH_TEXTS,
    asked,
    at,
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
        assert warned(outcome, "1 query has no keyword in the selected groups", "omitted: t2")
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

    def test_it_is_0_by_default(self, folder: Path) -> None:
        assert relevant(ran(folder, "gold.sample = 3\n")) == relevant(ran(folder, "gold.sample = 3\ngold.seed = 0\n"))

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


class TestWithoutKeywords:
    SELECT = 'gold.select = ["act"]\n'

    def test_skip_is_usual(self, folder: Path) -> None:
        outcome = ran(folder, self.SELECT)
        assert "c5" not in relevant(outcome) and warned(outcome, "no keyword in the selected groups", "c5")
        assert relevant(ran(folder, self.SELECT, 'gold.without_keywords = "skip"\n')) == relevant(outcome)

    def test_all(self, folder: Path) -> None:
        outcome = ran(folder, self.SELECT, 'gold.without_keywords = "all"\n')
        assert relevant(outcome)["c5"] == 5 and scores(outcome.report, "Recall@3")["c5"] == 1.0
        assert not warned(outcome, "no keyword") and outcome.report.needed_section(Keywords)["without_keywords"] == []

    def test_error(self, folder: Path) -> None:
        with pytest.raises(DataError, match=r"1 query has no keyword in the selected groups .*: c5; expected"):
            ran(folder, self.SELECT, 'gold.without_keywords = "error"\n')
        assert len(relevant(ran(folder, 'gold.without_keywords = "error"\n'))) == 6

    def test_none_at_all(self, folder: Path) -> None:
        put(folder, texts__jsonl=lines([{**one, "keywords": []} for one in TEXTS]))
        with pytest.raises(DataError, match="3 queries have no keyword"):
            ran(folder, WITH_TEXTS, system=ON_TEXTS)

    def test_all_of_mapped_texts(self, folder: Path) -> None:
        put(folder, texts__jsonl=lines([{"id": "t1", "text": "car"}, {"id": "t2", "text": "elephants"}]))
        outcome = ran(folder, WITH_TEXTS, 'gold.without_keywords = "all"\n', system=ON_TEXTS)
        assert relevant(outcome) == {"t1": 2, "t2": 6}
        assert warned(outcome, "maps to no keyword", "t2") and not warned(outcome, "omitted")


class TestKeywordsOfTexts:
    """queries, keywords, mapping."""

    ALL = {"t1": {"car", "turning"}, "t2": {"bike"}, "t3": {"van", "city"}}

    def bare(self, folder: Path) -> None:
        put(folder, texts__jsonl=lines([{"query_id": one["query_id"], "text": one["text"]} for one in TEXTS]))

    @pytest.mark.parametrize("key", ["", 'gold.keywords = "given"\n'])
    def test_given(self, folder: Path, key: str) -> None:
        outcome = ran(folder, WITH_TEXTS, key, system=ON_TEXTS)
        assert asked(outcome) == self.ALL
        assert outcome.report.needed_section(Keywords)[
            "keywords"
        ] == "given" and "mapping" not in outcome.report.needed_section(Keywords)

    def test_mapped(self, folder: Path) -> None:
        outcome = ran(folder, MAPPED, system=ON_TEXTS)
        assert asked(outcome) == self.ALL
        told = outcome.report.needed_section(Keywords)["mapping"]
        assert (told["method"], told["model"]) == ("exact", None)
        assert [one["ngram"] for one in told["queries"]["t1"]["mapped"]] == ["automobile", "turn"]
        quality = outcome.report.needed_section(Keywords)["quality"]["exact"]
        assert (quality["precision"], quality["recall"], quality["exact"], quality["n"]) == (1.0, 1.0, 1.0, 3)
        assert set(quality["groups"]) == {"thing", "act", "place"}

    def test_mapped_where_none_are_given(self, folder: Path) -> None:
        self.bare(folder)
        outcome = ran(folder, WITH_TEXTS, 'gold.mapping.synonyms = "synonyms.toml"\n', system=ON_TEXTS)
        assert asked(outcome) == self.ALL and "quality" not in outcome.report.needed_section(Keywords)

    def test_without_synonyms(self, folder: Path) -> None:
        """Only the keywords' own names are known, in the singular or plural."""
        self.bare(folder)
        outcome = ran(folder, WITH_TEXTS, system=ON_TEXTS)
        assert asked(outcome) == {"t2": {"bike"}, "t3": {"van", "city"}}
        assert warned(outcome, "1 text maps to no keyword by exact", "t1")

    def test_a_text_that_maps_to_nothing(self, folder: Path) -> None:
        put(folder, texts__jsonl=lines([{"id": "t1", "text": "car"}, {"id": "t2", "text": "elephants"}]))
        outcome = ran(folder, WITH_TEXTS, system=ON_TEXTS)
        assert asked(outcome) == {"t1": {"car"}} and outcome.report.needed_section(Keywords)["unmapped"] == ["t2"]
        told = [warning for warning in outcome.report.warning_lines if "t2" in warning]
        assert told == [
            "1 text maps to no keyword by exact, omitted: t2 "
            "(rankjury keywords TEXT --vocabulary clips.csv --method exact shows why)"
        ], "told once"

    def test_only_selected_groups_are_mapped_onto(self, folder: Path) -> None:
        outcome = ran(folder, MAPPED, 'gold.select = ["thing"]\n', system=ON_TEXTS)
        assert asked(outcome) == {"t1": {"car"}, "t2": {"bike"}, "t3": {"van"}}
        assert set(outcome.report.needed_section(Keywords)["quality"]["exact"]["groups"]) == {"thing"}
        assert outcome.report.needed_section(Keywords)["quality"]["exact"]["f1"] == 1.0

    def test_method_model_and_threshold(self, folder: Path) -> None:
        """The words themselves come through any threshold; so the highest leaves those alone."""
        mapping = 'gold.mapping = { method = "embedding", model = "wordllama", threshold = 1.0 }\n'
        outcome = ran(folder, WITH_TEXTS, 'gold.keywords = "mapped"\n', mapping, system=ON_TEXTS)
        told = outcome.report.needed_section(Keywords)["mapping"]
        assert (told["method"], told["model"], told["threshold"]) == ("embedding", "wordllama", 1.0)
        assert asked(outcome)["t3"] == {"van", "city"}
        assert all(one["method"] == "embedding" for each in told["queries"].values() for one in each["mapped"])

    @pytest.mark.skipif(find_spec("keybert") is None, reason="keybert is not installed")
    def test_diversity(self, folder: Path) -> None:
        """It is for keybert alone, also where another method maps and keybert is only checked."""
        mapping = 'gold.mapping = { method = "keybert", threshold = 1.0, diversity = 0.2 }\n'
        outcome = ran(folder, WITH_TEXTS, 'gold.keywords = "mapped"\n', mapping, system=ON_TEXTS)
        assert outcome.report.needed_section(Keywords)["mapping"]["diversity"] == 0.2
        assert asked(outcome)["t3"] == {"van", "city"}
        check = 'gold.mapping.check = ["keybert"]\ngold.mapping.diversity = 0.2\n'
        checked = ran(folder, MAPPED, check, system=ON_TEXTS)
        assert list(checked.report.needed_section(Keywords)["quality"]) == ["exact", "keybert"]
        assert "diversity" not in checked.report.needed_section(Keywords)["mapping"]

    def test_a_lower_threshold_finds_more(self, folder: Path) -> None:
        def found(threshold: str) -> int:
            mapping = f'gold.keywords = "mapped"\ngold.mapping = {{ method = "embedding"{threshold} }}\n'
            told = ran(folder, WITH_TEXTS, mapping, system=ON_TEXTS).report.needed_section(Keywords)["mapping"][
                "queries"
            ]
            return sum(len(one["mapped"]) + len(one["dropped"]) for one in told.values())

        assert found(", threshold = 0.05") > found(", threshold = 0.95")
        assert found("") >= found(", threshold = 1.0"), "unset is what is usual"

    def test_check(self, folder: Path) -> None:
        outcome = ran(folder, MAPPED, 'gold.mapping.check = ["embedding", "exact"]\n', system=ON_TEXTS)
        quality = outcome.report.needed_section(Keywords)["quality"]
        assert list(quality) == ["exact", "embedding"]
        assert all(0 <= one["f1"] <= 1 and one["n"] == 3 for one in quality.values())
        assert asked(outcome) == self.ALL, "what another method finds does not count"

    def test_check_needs_given_keywords(self, folder: Path) -> None:
        self.bare(folder)
        parts = (WITH_TEXTS, 'gold.mapping = { synonyms = "synonyms.toml", check = ["embedding"] }\n')
        assert "quality" not in ran(folder, *parts, system=ON_TEXTS).report.needed_section(Keywords)

    def test_synonyms_of_an_unknown_keyword_are_told(self, folder: Path) -> None:
        put(folder, synonyms__toml='[synonyms]\nbikes = ["bicycle"]\n')
        assert warned(ran(folder, MAPPED, system=ON_TEXTS), "synonyms.toml", "the vocabulary has no 'bikes' (bike?)")

    def test_mapped_where_only_some_are_given(self, folder: Path) -> None:
        """They are not needed, only measured against."""
        put(folder, texts__jsonl=lines([TEXTS[0], {"query_id": "t2", "text": "bikes"}]))
        outcome = ran(folder, MAPPED, system=ON_TEXTS)
        assert asked(outcome) == {"t1": {"car", "turning"}, "t2": {"bike"}}
        assert outcome.report.needed_section(Keywords)["quality"]["exact"]["n"] == 1


class TestShow:
    def shown(self, outcome: Outcome) -> list[str]:
        block = render(outcome.report, True)
        assert block is not None
        return [one.title.split()[0] for one in block.tables if one.header[0] == "rank"]

    def test_these(self, folder: Path) -> None:
        assert self.shown(ran(folder, WITH_TEXTS, 'gold.show = ["t3", "t1"]\n', system=ON_TEXTS)) == ["t3", "t1"]

    def test_the_worst_that_found_a_part(self, folder: Path) -> None:
        """t1 finds all or nothing of its keywords; t2 asks for one, which cannot be met in part."""
        assert self.shown(ran(folder, WITH_TEXTS, system=ON_TEXTS)) == ["t3"]

    @pytest.mark.parametrize("query", ["t9", "t2"])
    def test_one_that_there_is_not(self, folder: Path, query: str) -> None:
        """Neither a query, nor one that was left out."""
        outcome = ran(
            folder, WITH_TEXTS, f'gold.show = ["t1", "{query}"]\ngold.select = ["act", "place"]\n', system=ON_TEXTS
        )
        assert warned(outcome, "show", query)

    def test_one_of_many(self, folder: Path) -> None:
        many(folder, 520)
        assert self.shown(ran(folder, 'gold.show = ["c510"]\n')) == ["c510"]


class TestReport:
    OUTPUTS = 'outputs = ["report.json", "report.md"]\n'

    @pytest.fixture
    def written(self, folder: Path) -> Path:
        text = f"statistics.resamples = 100\n{self.OUTPUTS}{HEAD}{GOLD}{MAPPED}"
        more = 'gold.select = ["thing", "place"]\ngold.show = ["t3"]\nnames = "names.csv:title"\n'
        put(folder, names__csv="clip,title\nc1,First | clip\nc2,Second clip\n")
        run_file(plan_in(folder, text + more + SHOWN_FROM["vectors"]), output=folder / "out", archive=False)
        return folder / "out"

    def test_json(self, written: Path) -> None:
        form = json.loads((written / "report.json").read_text("utf-8"))
        keywords = form["keywords"]
        assert (keywords["match"], keywords["groups"]) == ("all", ["thing", "place"])
        assert (keywords["items"], keywords["vocabulary"]) == (6, 5)
        assert (keywords["keywords"], keywords["show"], keywords["without_keywords"]) == ("mapped", ["t3"], [])
        assert keywords["quality"]["exact"]["n"] == 3 and set(keywords["mapping"]["queries"]) == {"t1", "t2", "t3"}

    def test_partial_matches_in_json(self, written: Path) -> None:
        system = json.loads((written / "report.json").read_text("utf-8"))["systems"]["s"]
        assert system["facts"] == {"threshold": 0.5}
        partial = system["partial_matches"]
        assert (partial["k"], partial["threshold"], partial["alike"]) == (3, 0.5, None)
        (looked,) = [one for one in partial["queries"] if one["query"] == "t3"]
        assert (looked["keywords"], looked["relevant"]) == (["thing=van", "place=city"], 2)
        first, second, third = looked["results"]
        assert (first["item"], first["rank"], first["relevant"], first["shown"]) == ("c1", 1, True, True)
        assert (first["has"], first["lacks"]) == (["thing=van", "place=city"], [])
        assert (second["has"], second["lacks"], second["relevant"]) == (["place=city"], ["thing=van"], False)
        assert third["score"] == pytest.approx(0.5) and third["has"] == []
        by_name = {one["name"]: one for one in partial["keywords"]}
        assert by_name["thing=van"]["lacking"] == by_name["thing=van"]["results"] - 1
        assert {"keyword": "car", "results": 1} in by_name["thing=van"]["instead"]
        groups = {one["name"]: one for one in partial["groups"]}
        assert (groups["thing"]["queries"], groups["place"]["queries"]) == (3, 1)

    def test_both_names(self, written: Path) -> None:
        measures = json.loads((written / "report.json").read_text("utf-8"))["systems"]["s"]["measures"]
        usual = {label: one.get("common_name") for label, one in measures.items()}
        assert usual == {"Recall@1": "precision@1", "Recall@3": "precision@3", "Precision@3": "recall@3",
                         "NDCG@3": None, "MAP": None}  # fmt: skip
        text = (written / "report.md").read_text("utf-8")
        assert "| Recall@3 = precision@3 |" in text and "| Precision@3 = recall@3 |" in text

    def test_markdown(self, written: Path) -> None:
        text = (written / "report.md").read_text("utf-8")
        assert "### Partial matches\n" in text and "**t3 “a van in the city” by s**" in text
        assert "- keywords: van, city" in text and "- relevant: 2 items" in text
        assert "- mapped by exact: van ← “van” (1.00), city ← “city” (1.00)" in text
        assert "| rank | score | item | thing | place | match |" in text
        assert "| 1 | 0.90 | First &#124; clip | ✓ van | ✓ city | 2/2 |" in text
        assert "| 2 | 0.70 | Second clip | ✗ van | ✓ city | 1/2 partial |" in text
        assert "**Missed most in the first 3 of s**" in text and "Lacking by group: thing " in text
        assert "**Texts mapped onto keywords, compared with the given keywords**" in text
        assert "| exact | 1.000 | 1.000 | 1.000 | 1.000 | 3 |" in text

    def test_a_result_below_the_threshold_and_one_without_annotations(self, folder: Path) -> None:
        put(folder, run__trec="t3 Q0 zz 1 0.9 x\nt3 Q0 c1 2 0.2 x\n")
        text = HEAD + GOLD + WITH_TEXTS + 'gold.show = ["t3"]\n' + self.OUTPUTS + SHOWN_FROM["run"]
        run_file(plan_in(folder, "statistics.resamples = 100\n" + text), output=folder / "out", archive=False)
        found = (folder / "out" / "report.md").read_text("utf-8")
        assert "| 1 | 0.90 | zz | ✗ van | ✗ city | not annotated |" in found
        assert "| 2 | 0.20 | c1 | ✓ van | ✓ city | 2/2, below 0.5: not shown |" in found

    def test_a_system_each(self, folder: Path) -> None:
        report = ran(folder, WITH_TEXTS, system=ON_TEXTS + 'systems.other = "run.trec"\n').report
        assert list(report.sections_of(PartialMatches)) == ["s", "other"]
        assert (
            report.sections_of(PartialMatches)["s"].to_json()["results"]
            == report.sections_of(PartialMatches)["other"].to_json()["results"]
        )

    def test_nothing_of_it_with_another_gold(self, folder: Path) -> None:
        put(folder, gold__qrels="t1 0 c1 1\nt2 0 c3 1\n")
        form = carried_out(folder, 'gold = "gold.qrels"\nmeasures = ["rr"]\n' + ON_TEXTS).report.to_json()
        assert "keywords" not in form and "partial_matches" not in form["systems"]["s"]


class TestToldAndKept:
    def test_graded_with_measures_that_count_any_keyword(self, folder: Path) -> None:
        plain = 'measures = ["precision@3", "ndcg@3"]\n' + GOLD + 'gold.match = "graded"\n'
        outcome = carried_out(folder, plain + ON_CLIPS)
        assert any("precision@3 count items that have any" in one for one in outcome.report.warning_lines)
        full = plain.replace("precision@3", "precision(rel=1)@3")
        assert not any("match = graded" in one for one in carried_out(folder, full + ON_CLIPS).report.warning_lines)

    def test_a_threshold_that_hides_everything(self, folder: Path) -> None:
        hidden = 'systems.s = { kind = "vectors", path = "vectors.npz:clips", threshold = 7.0 }\n'
        assert warned(ran(folder, system=hidden), "the threshold 7 leaves 6 of 6 queries without results")

    @pytest.mark.parametrize(("ties", "first"), [("id", "c1"), ("id-desc", "c6"), ("order", "c3")])
    def test_results_are_ordered_as_the_measures_are(self, folder: Path, ties: str, first: str) -> None:
        rows = [f"t1 Q0 {clip} 1 0.5 x\n" for clip in ("c3", "c1", "c6")]
        put(folder, tied__trec="".join(rows))
        system = 'systems.s = "tied.trec"\n'
        outcome = ran(folder, WITH_TEXTS, f'conventions.ties = "{ties}"\nconventions.missing = "skip"\n', system=system)
        looked = outcome.report.sections_of(PartialMatches)["s"].of("t1")
        assert looked is not None and looked.results[0].item == first

    def test_slices_of_targets_are_there_however_many_there_are(self, folder: Path) -> None:
        clips = {f"c{n}": f"k{n % 80:02},{'rare' if n < 3 else 'usual'}" for n in range(480)}
        put(folder, clips__csv="clip,thing,act\n" + "".join(f"{clip},{cells}\n" for clip, cells in clips.items()))
        angles = np.linspace(0, 3, len(clips))
        put(folder, vectors__npz={"clips": np.stack([np.cos(angles), np.sin(angles)], 1), "clips_ids": list(clips)})
        target = '[[target]]\nrequire = "Recall@3 >= 0"\nslice = "keyword=rare"\n'
        outcome = carried_out(folder, f"{HEAD}{GOLD}{ON_CLIPS}{target}")
        names = {part.name for part in outcome.report.slices}
        assert {"keyword=rare", "keyword=usual", "keyword=(others)"} <= names
        assert warned(outcome, "only the 60 most frequent of 81 keywords have slices")

    def test_results_that_are_not_annotated_are_named(self, folder: Path) -> None:
        put(folder, strange__trec="t1 Q0 c1 1 9 x\nt1 Q0 zebra 2 8 x\nt2 Q0 yak 1 7 x\n")
        outcome = ran(folder, WITH_TEXTS, 'conventions.missing = "skip"\n', system='systems.s = "strange.trec"\n')
        assert warned(outcome, "2 results are of no annotated item, and never relevant: yak, zebra")

    def test_a_score_at_the_threshold_is_shown(self, folder: Path) -> None:
        put(folder, at__trec="t1 Q0 c1 1 0.5 x\nt1 Q0 c2 2 0.25 x\n")
        system = 'systems.s = { path = "at.trec", threshold = 0.5 }\n'
        report = ran(folder, WITH_TEXTS, 'conventions.missing = "skip"\n', system=system).report
        looked = report.sections_of(PartialMatches)["s"].of("t1")
        assert looked is not None and [one.shown for one in looked.results] == [True, False]
        assert report.top_items["s"][0] == ("c1",)

    @pytest.mark.parametrize("kind", ["run", "vectors"])
    def test_a_text_with_the_id_of_a_clip_finds_that_clip(self, folder: Path, kind: str) -> None:
        put(folder, texts__jsonl='{"query_id": "c1", "text": "", "keywords": ["car", "turning"]}\n')
        put(folder, same__trec="c1 Q0 c1 1 9 x\nc1 Q0 c2 2 8 x\n", one__npz={"ids": ["c1"], "v": [[1.0, 0.0]]})
        vectors = '{ kind = "vectors", path = "vectors.npz:clips", queries = "one.npz:v" }\n'
        system = 'systems.s = "same.trec"\n' if kind == "run" else f"systems.s = {vectors}"
        report = ran(folder, WITH_TEXTS, system=system).report
        assert report.top_items["s"][0][0] == "c1" and scores(report, "Recall@1") == {"c1": 1.0}

    def test_the_own_clip_of_a_run_takes_no_place(self, folder: Path) -> None:
        put(folder, own__trec="c1 Q0 c1 1 9 x\nc1 Q0 c2 2 8 x\nc1 Q0 c3 3 7 x\n")
        text = 'measures = ["precision@1"]\nconventions.missing = "skip"\n' + GOLD + 'gold.match = "any"\n'
        report = carried_out(folder, text + 'systems.s = "own.trec"\n').report
        assert report.top_items["s"][0] == ("c2", "c3")

    def test_a_gate_on_the_saved_report_leaves_random_orders_out(self, folder: Path) -> None:
        report = ran(folder, system=ON_CLIPS + 'systems.chance = { kind = "random" }\n').report
        gate = check_targets([parse_target("Recall@1 >= 0")], report)
        assert [one.system for one in gate.verdicts] == ["s"]


def found_by_vector(query: Any, k: int) -> list[tuple[str, float]]:
    """A service that is asked with a vector and returns similarities."""
    pairs = [(clip, float(np.dot(query, at(one)))) for clip, one in zip(CLIPS, SIMILARITIES, strict=True)]
    return sorted(pairs, key=lambda pair: -pair[1])[:k]


def ids_by_vector(query: Any, k: int) -> list[str]:
    """One that returns ids alone."""
    return [clip for clip, _ in found_by_vector(query, k)]


INDEX = '[systems.s]\nkind = "index"\npath = "vectors.npz:clips"\nqueries = "vectors.npz:texts"\n'
LAB = "[lab]\nrounds = 0\nk = 5\nwarm_up = 0\n"
ENGINES = {
    "exact": 'engine = "exact"\n',
    "hnsw": 'engine = "faiss-hnsw"\n',
    "endpoint": f'engine = "endpoint"\nopen = {{ call = "{__name__}:found_by_vector" }}\n',
}
SYSTEMS = {
    **SHOWN_FROM,
    **{name: f"targets = []\n{INDEX}{text}threshold = 0.5\n{LAB}" for name, text in ENGINES.items()},
}


class TestThreshold:
    """Of 0.5: three of six results are shown, the third exactly at it."""

    @pytest.mark.parametrize("kind", SYSTEMS)
    def test_every_kind_of_system(self, folder: Path, kind: str) -> None:
        outcome = ran(folder, WITH_TEXTS, system=SYSTEMS[kind].replace("0.5", "0.4999"))
        report = outcome.report
        assert [scores(report, "Recall@3")[query] for query in ("t1", "t2", "t3")] == [2 / 3, 1 / 3, 1 / 3]
        assert [scores(report, "MAP")[query] for query in ("t1", "t2")] == pytest.approx([1.0, 1 / 6])
        looked = report.sections_of(PartialMatches)["s"].of("t2")
        assert looked is not None and [one.shown for one in looked.results] == [True] * 3
        assert (
            report.sections_of(SystemFacts)["s"]["threshold"]
            == report.sections_of(PartialMatches)["s"].threshold
            == 0.4999
        )

    @pytest.mark.parametrize("kind", SYSTEMS)
    def test_what_is_below_it_does_not_count(self, folder: Path, kind: str) -> None:
        """c3 and c4, the bikes, are below: t2 has found nothing, and K is still 3."""
        outcome = ran(folder, WITH_TEXTS, system=SYSTEMS[kind].replace("0.5", "0.6"))
        assert [scores(outcome.report, "Recall@3")[query] for query in ("t1", "t2", "t3")] == [2 / 3, 0.0, 1 / 3]
        partial = outcome.report.sections_of(PartialMatches)["s"]
        looked = partial.of("t2")
        assert looked is not None and [one.shown for one in looked.results] == [True, True, False]
        assert sum(partial.results.to_json().values()) == 6, "results that are shown"

    def test_it_is_shown_from_it_on(self, folder: Path) -> None:
        put(folder, run__trec="t2 Q0 c3 1 0.5 x\nt2 Q0 c4 2 0.49999 x\n")
        assert scores(ran(folder, WITH_TEXTS, system=SYSTEMS["run"]).report, "Recall@3")["t2"] == 1 / 3

    def test_a_query_with_nothing_left_has_found_nothing(self, folder: Path) -> None:
        """It is in the ranking: nothing is said of missing queries."""
        outcome = ran(folder, WITH_TEXTS, system=SYSTEMS["vectors"].replace("0.5", "2"))
        assert set(scores(outcome.report, "Recall@3").values()) == {0.0} and not warned(outcome, "missing")

    def test_of_a_fusion(self, folder: Path) -> None:
        """By the fused scores; what it is made of is not held to it."""
        both = 'systems.a = "run.trec"\n' + ON_TEXTS.replace("systems.s", "systems.b")
        fused = (
            '[systems.s]\nkind = "fusion"\nof = ["a", "b"]\nmethod = "combsum"\nnormalise = "none"\nthreshold = 1.2\n'
        )
        outcome = ran(folder, WITH_TEXTS, system=both + fused)
        assert scores(outcome.report, "Recall@3")["t1"] == 2 / 3 and scores(outcome.report, "Recall@3")["t2"] == 0.0
        assert scores(outcome.report, "Recall@3", "a")["t2"] == 1 / 3
        assert outcome.report.sections_of(SystemFacts)["s"].content == {
            "threshold": 1.2
        } and "a" not in outcome.report.sections_of(SystemFacts)

    def test_a_fusion_is_of_what_is_shown(self, folder: Path) -> None:
        one = '[systems.a]\npath = "run.trec"\nthreshold = 0.8\n[systems.s]\nkind = "fusion"\nof = ["a"]\n'
        looked = ran(folder, WITH_TEXTS, system=one).report.sections_of(PartialMatches)["s"].of("t1")
        assert looked is not None and [one.item for one in looked.results] == ["c1"]

    def test_a_random_order_has_no_scores(self, folder: Path) -> None:
        with pytest.raises(UsageError, match=r"systems\.s\.threshold: is for systems that have scores"):
            checked(folder, HEAD + GOLD + 'systems.s = { kind = "random", threshold = 0.1 }\n')

    @pytest.mark.parametrize("form", ["csv", "json"])
    def test_ranks_are_no_scores(self, folder: Path, form: str) -> None:
        put(folder, run__csv="query_id,item_id,rank\nt1,c1,1\nt1,c2,2\n", run__json='{"t1": ["c1", "c2"]}')
        with pytest.raises(UsageError, match="a threshold, but the ranking has no scores"):
            ran(folder, WITH_TEXTS, system=SYSTEMS["run"].replace("run.trec", f"run.{form}"))

    def test_a_service_that_tells_no_scores(self, folder: Path) -> None:
        text = SYSTEMS["endpoint"].replace("found_by_vector", "ids_by_vector")
        with pytest.raises(UsageError, match="a threshold, but the ranking has no scores"):
            ran(folder, WITH_TEXTS, system=text)

    def test_no_loss_of_the_index(self, folder: Path) -> None:
        """An exact index loses nothing."""
        head = HEAD.replace('"NDCG@3"', '"NDCG@5"')
        text = f"{head}{GOLD}{WITH_TEXTS}{SYSTEMS['exact'].replace('0.5', '0.6')}"
        loss = carried_out(folder, text).report.sections_of(IndexResult)["s"].loss
        assert loss is not None and loss.to_json()["index_loss"]["mean"] == 0.0


class TestRandom:
    RANDOM = 'systems.s = { kind = "random" }\n'

    def test_of_clips(self, folder: Path) -> None:
        """All clips but the query's own: one of five is relevant to c5."""
        found = scores(ran(folder, system=self.RANDOM).report, "Recall@3")
        assert found["c5"] == pytest.approx(1 / 5) and found["c1"] == 0.0

    def test_of_texts(self, folder: Path) -> None:
        """All clips; two of six are relevant to each text."""
        found = scores(ran(folder, WITH_TEXTS, system=self.RANDOM).report, "Recall@3")
        assert found == pytest.approx({"t1": 2 / 6, "t2": 2 / 6, "t3": 2 / 6})

    def test_as_many_as_are_said(self, folder: Path) -> None:
        text = 'systems.s = { kind = "random", candidates = 20 }\n'
        assert scores(ran(folder, WITH_TEXTS, system=text).report, "Recall@3")["t1"] == pytest.approx(2 / 20)

    def test_it_has_no_partial_matches(self, folder: Path) -> None:
        report = ran(folder, system=self.RANDOM + ON_CLIPS.replace("systems.s", "systems.v")).report
        assert (
            set(report.sections_of(PartialMatches)) == {"v"}
            and "partial_matches" not in report.to_json()["systems"]["s"]
        )


class TestVectors:
    """Clips without a vector, vectors without a clip, queries without a vector: all are named."""

    def with_ids(self, folder: Path, clips: Sequence[str], texts: Sequence[str]) -> None:
        arrays = {"clips": np.array([at(one) for one in SIMILARITIES]), "clips_ids": np.array(clips)}
        put(folder, vectors__npz=arrays | {"texts": np.array([[1.0, 0.0]] * 3), "texts_ids": np.array(texts)})

    @pytest.mark.parametrize("system", [ON_TEXTS, SYSTEMS["exact"]])
    def test_clips(self, folder: Path, system: str) -> None:
        self.with_ids(folder, ["c1", "c2", "c3", "c4", "z8", "z9"], ["t1", "t2", "t3"])
        outcome = ran(folder, WITH_TEXTS, system=system)
        assert warned(outcome, "s: 2 annotated items have no vector, and cannot be retrieved: c5, c6")
        assert warned(outcome, "s: 2 vectors are of no annotated item, and never relevant: z8, z9")

    @pytest.mark.parametrize("system", [ON_TEXTS, SYSTEMS["exact"]])
    def test_texts(self, folder: Path, system: str) -> None:
        self.with_ids(folder, list(CLIPS), ["t1", "t2", "t9"])
        outcome = ran(folder, WITH_TEXTS, system=system)
        assert warned(outcome, "s: 1 query has no vector: t3") and scores(outcome.report, "Recall@3")["t3"] == 0.0

    def test_clips_that_ask(self, folder: Path) -> None:
        self.with_ids(folder, ["c1", "c2", "c3", "c4", "z8", "c6"], ["t1", "t2", "t3"])
        outcome = ran(folder)
        assert warned(outcome, "1 annotated item has no vector", "c5") and warned(outcome, "missing", "c5")
        assert scores(outcome.report, "Recall@3")["c5"] == 0.0

    def test_none_of_the_queries(self, folder: Path) -> None:
        self.with_ids(folder, list(CLIPS), ["x1", "x2", "x3"])
        with pytest.raises(DataError, match=r"no query has a vector.*t1, t2, t3.*x1, x2, x3"):
            ran(folder, WITH_TEXTS, system=ON_TEXTS)
