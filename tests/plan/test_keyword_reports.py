"""What the report of a gold of keywords says: queries shown, forms, and what is told and kept."""

import json
from pathlib import Path

import numpy as np
import pytest

from rankjury.evaluation.gate import check_targets
from rankjury.evaluation.targets import parse_target
from rankjury.labeling.keywords.partial_match import PartialMatches
from rankjury.plan.run import Outcome, run_plan as run_file
from rankjury.reporting.sections.partial_matches import render
from tests.plan import carried_out, plan_in, put
from tests.plan.keyword_plans import (
    GOLD,
    HEAD,
    MAPPED,
    ON_CLIPS,
    ON_TEXTS,
    SHOWN_FROM,
    WITH_TEXTS,
    many,
    ran,
    scores,
    warned,
)


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
        assert warned(ran(folder, system=hidden), "the threshold 7 leaves 6 of 6 queries no result")

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
        assert warned(outcome, "slices are of the 60 keywords that most queries ask for, of 81")

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
