"""Targets read from text and TOML: every spelling, and every misspelling an error."""

import math
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.targets import Target, Targets, parse_target, parse_targets


class TestOneTarget:
    @pytest.mark.parametrize(
        ("text", "expected", "wanted"),
        [
            ("ndcg@10 >= 0.85", Target("ndcg@10", ">=", 0.85), "at least 0.85"),
            ("ndcg@10 ≥ 0.85", Target("ndcg@10", ">=", 0.85), "at least 0.85"),
            ("  ndcg@10>=0.85 ", Target("ndcg@10", ">=", 0.85), "at least 0.85"),
            ("ndcg@10 drop <= 0.005", Target("ndcg@10", "<=", 0.005, "drop"), "drop at most 0.005"),
            ("recall@100 drop <= 0.005", Target("recall@100", "<=", 0.005, "drop"), "drop at most 0.005"),
            ("recall@100 drop ≤ 2%", Target("recall@100", "<=", 0.02, "drop", True), "drop at most 2 %"),
            ("ap gain > 0", Target("ap", ">", 0.0, "gain"), "gain more than 0"),
            ("ap gain >= -0.01", Target("ap", ">=", -0.01, "gain"), "gain at least −0.01"),
            ("latency_p95_ms <= 50", Target("latency_p95_ms", "<=", 50.0), "at most 50"),
            ("latency p95 (ms) < 5e1", Target("latency p95 (ms)", "<", 50.0), "less than 50"),
            ("ndcg@10 >= 85 %", Target("ndcg@10", ">=", 0.85), "at least 0.85"),
            ("ndcg(gain=exp,rel=2)@10 > 1", Target("ndcg(gain=exp,rel=2)@10", ">", 1.0), "more than 1"),
            ("drop <= 3", Target("drop", "<=", 3.0), "at most 3"),
        ],
    )
    def test_read(self, text: str, expected: Target, wanted: str) -> None:
        target = parse_target(text)
        assert target == expected
        assert (target.wanted, target.relative, target.title) == (wanted, expected.change is not None, expected.subject)

    @pytest.mark.parametrize(
        "text",
        [
            *("", "ndcg@10", "ndcg@10 >=", ">= 0.5", "ndcg@10 = 0.5", "ndcg@10 == 0.5"),
            *("ndcg@10 >= high", "ndcg@10 >= nan", "ndcg@10 >= inf", "ndcg@10 >= 0.5 0.6", "ndcg@10 >= 0,5"),
            "ndcg@10 >= 0.5 % %",
        ],
    )
    def test_not_to_be_read(self, text: str) -> None:
        with pytest.raises(UsageError, match=r"t\.toml: cannot read the target .*ndcg@10 >= 0\.85"):
            parse_target(text, where="t.toml")

    def test_its_title_is_its_name_or_measure_and_slice(self) -> None:
        assert parse_target("ap > 0", {"slice": "lang=fr"}).title == "ap, lang=fr"
        assert parse_target("ap > 0", {"slice": "lang=fr", "name": "French"}).title == "French"

    @given(limit=st.floats(-1e6, 1e6, allow_subnormal=False))
    @settings(max_examples=100, deadline=None, derandomize=True)
    def test_limits_keep_their_digits(self, limit: float) -> None:
        assert parse_target(f"ap >= {limit!r}").limit == limit


class TestHolds:
    @pytest.mark.parametrize(
        ("text", "inside", "edge", "outside"),
        [
            ("ap >= 0.85", 0.86, (0.85, True), 0.84),
            ("ap <= 0.85", 0.84, (0.85, True), 0.86),
            ("ap > 0.85", 0.86, (0.85, False), 0.85 - 1e-9),
            ("ap < 0.85", 0.84, (0.85, False), 0.85 + 1e-9),
            ("ap drop <= 0.005", -0.004, (-0.005, True), -0.006),
            ("ap drop < 0.005", -0.004, (-0.005, False), -0.006),
            ("ap gain >= 0.005", 0.006, (0.005, True), 0.004),
            ("ap gain > 0.005", 0.006, (0.005, False), 0.004),
            ("ap drop <= 2%", -0.019, (-0.02, True), -0.021),
            ("ap gain >= 2%", 0.021, (0.02, True), 0.019),
            ("ap gain > 0", 0.1, (0.0, False), -0.1),
            ("ap drop <= 0", 0.1, (0.0, True), -0.1),
        ],
    )
    def test_within_at_and_beyond_the_limit(
        self, text: str, inside: float, edge: tuple[float, bool], outside: float
    ) -> None:
        target = parse_target(text)
        assert target.holds(inside) and not target.holds(outside)
        assert target.holds(edge[0]) is edge[1]

    @pytest.mark.parametrize("sign", [">=", "<="])
    def test_rounding_decides_nothing(self, sign: str) -> None:
        """0.3 − 0.2 is 0.1 to a person."""
        assert 0.3 - 0.2 != 0.1
        assert parse_target(f"ap gain {sign} 0.1").holds(0.3 - 0.2)
        assert parse_target(f"ap drop {sign} 0.1").holds(0.2 - 0.3)

    def test_what_is_undefined_holds_nothing(self) -> None:
        assert not any(parse_target(f"ap {sign} 0").holds(math.nan) for sign in (">=", "<=", ">", "<"))


FILE = """
targets = ["ndcg@10 >= 0.85", "recall@100 drop <= 0.005", "latency_p95_ms <= 50"]
baseline = "old"
slices = "queries.csv:type,length"
item_slices = ["items.csv:category", "more.csv"]

[[target]]
require = "ndcg@10 >= 0.75"
slice = "lang=fr"
system = "new"
name = "French"

[[target]]
require = "ap drop <= 1 %"
"""


class TestFile:
    def test_both_forms(self) -> None:
        found = parse_targets(FILE, "t.toml")
        assert found == Targets(
            (
                Target("ndcg@10", ">=", 0.85),
                Target("recall@100", "<=", 0.005, "drop"),
                Target("latency_p95_ms", "<=", 50.0),
                Target("ndcg@10", ">=", 0.75, slice="lang=fr", system="new", name="French"),
                Target("ap", "<=", 0.01, "drop", share=True),
            ),
            "old",
            ("queries.csv:type,length",),
            ("items.csv:category", "more.csv"),
        )
        assert found.relative

    def test_one_text_is_a_list_of_one(self) -> None:
        found = parse_targets('targets = "ap >= 0.5"', "t.toml")
        assert found == Targets((Target("ap", ">=", 0.5),)) and not found.relative

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("targts = ['ap > 0']", r"t\.toml: unknown key 'targts'\. Did you mean targets or target\?"),
            ("targets = ['ap > 0']\nbasline = 'a'", "unknown key 'basline'. Did you mean baseline"),
            ("[[target]]\nrequire = 'ap > 0'\nslise = 'a'", r"t\.toml, \[\[target\]\]: unknown key 'slise'.*slice"),
            ("[[target]]\nrequires = 'ap > 0'", "unknown key 'requires'. Did you mean require"),
        ],
    )
    def test_a_misspelt_key_is_an_error_with_a_suggestion(self, text: str, message: str) -> None:
        with pytest.raises(UnknownName, match=message):
            parse_targets(text, "t.toml")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("targets = [", "not TOML"),
            ("ndcg@10 >= 0.85", "not TOML"),
            ("", "found no target"),
            ("targets = []", "found no target"),
            ("baseline = 'a'", "found no target"),
            ("targets = 3", "targets is 3; expected a text, or a list of texts"),
            ("targets = ['ap > 0', 3]", "targets is .*expected a text, or a list"),
            ("targets = ['ap > 0']\nslices = [1]", "slices is"),
            ("targets = ['ap > 0']\nitem_slices = false", "item_slices is"),
            ("targets = ['ap > 0']\nbaseline = 3", "baseline is 3"),
            ("[target]\nrequire = 'ap > 0'", "target is not a list of tables"),
            ("target = ['ap > 0']", "target is not a list of tables"),
            ("[[target]]\nslice = 'a=b'", "a target without require"),
            ("[[target]]\nrequire = 3", "require is 3; expected a text"),
            ("[[target]]\nrequire = 'ap > 0'\nslice = ['a']", r"slice is \['a'\]; expected a text"),
            ("targets = ['ap > high']", "cannot read the target 'ap > high'"),
            ("targets = ['ap > 0.5 in lang=fr']", 'slice = "lang=fr"'),
            ("[[target]]\nrequire = 'ap'", "cannot read the target 'ap'"),
        ],
    )
    def test_what_is_no_targets_file(self, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=message) as caught:
            parse_targets(text, "t.toml")
        assert str(caught.value).startswith("t.toml")

    @given(content=st.dictionaries(st.sampled_from(["targets", "baseline", "slices", "x"]), st.integers()))
    @settings(max_examples=20, deadline=None, derandomize=True)
    def test_numbers_are_never_taken_for_targets(self, content: dict[str, Any]) -> None:
        with pytest.raises(UsageError):
            parse_targets("\n".join(f"{key} = {value}" for key, value in content.items()), "t.toml")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("ndcg@10 drop <= 0.005", "ndcg@10 drop <= 0.005"),
        ("rr gain >= 2%", "rr gain >= 2%"),
        ("rr  gain ≥ 0.1 %", "rr gain >= 0.1%"),
        ("recall(rel=2)@10 >= 0.85", "recall(rel=2)@10 >= 0.85"),
        ("latency_ms rise < -1e-7", "latency_ms rise < -1e-07"),
    ],
)
def test_the_spelling_shows_the_whole_target_and_is_read_again(written: str, shown: str) -> None:
    target = parse_target(written)
    assert target.spelling == shown and parse_target(shown) == target
