"""Texts that ask for keywords: given with them, or mapped, and told when there are none."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from rankjury.errors import DataError
from rankjury.evaluation.sections import Keywords
from tests.plan import put
from tests.plan.keyword_plans import (
    MAPPED,
    ON_TEXTS,
    TEXTS,
    WITH_TEXTS,
    asked,
    lines,
    ran,
    relevant,
    scores,
    warned,
)


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
        assert warned(outcome, "maps to no keyword", "t2") and not warned(outcome, "left out")


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
            "1 text maps to no keyword by exact, left out: t2 "
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
