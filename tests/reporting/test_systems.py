"""What systems are made of: fusions everywhere, models and thresholds in files."""

from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import FusionFacts, SystemFacts
from rankjury.reporting.sections import render_sections
from rankjury.reporting.sections.systems import render_systems
from tests.reporting.small import small, tables_of, with_only

RRF = FusionFacts(
    {"of": ["old", "new"], "method": "rrf", "weights": {"old": 0.5, "new": 0.25}, "c": 60.0, "depth": None}
)
PLAIN = FusionFacts({"of": ["old", "new"], "method": "isr", "weights": None})


def rows(report: Report, *, brief: bool) -> list[list[str]]:
    return [row for found in tables_of(render_systems(report, brief), "system", "made of") for row in found.texts]


def test_weights_and_settings() -> None:
    report = with_only(small(), FusionFacts, {"third": RRF, "new": PLAIN})
    for brief in (True, False):
        assert rows(report, brief=brief) == [
            ["new", "isr of old, new"],
            ["third", "rrf of old (0.5), new (0.25); c 60"],
        ]


def test_facts_are_in_files_alone() -> None:
    params = {"features": "genre", "idf": True, "days": 0.5, "names": ["a", "b"], "none": None, "empty": {}}
    report = with_only(
        small(), SystemFacts, {"old": SystemFacts({"model": "content", "params": params}), "new": SystemFacts({})}
    )
    assert rows(report, brief=True) == []
    assert rows(report, brief=False) == [
        ["old", "model content, params (features genre, idf true, days 0.5, names a, b)"]
    ]
    assert [name for name, _ in render_sections(report, "markdown")] == ["facts"]
    assert render_sections(report, "console") == render_sections(report, "html") == []


def test_nothing_of_plain_runs() -> None:
    assert render_systems(small(), False) is None
