"""Write the tables of docs/why-different.md from the dialects: python scripts/make_why_different.py [--check].

A marked region of the page names what it shows: the overview of all dialects, the values of one option of a measure, or
those of an option of all measures in ``MEASURES``:

    <!-- conventions: made by scripts/make_why_different.py -->
    <!-- conventions of gain in ndcg@10: made by scripts/make_why_different.py -->
    <!-- conventions of ties: made by scripts/make_why_different.py -->

A region ends with ``<!-- end of conventions -->``. A new dialect appears in every table; a new region needs no code.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from rankjury.measures.aliases import NAMES
from rankjury.measures.dialects import DIALECTS, resolve
from rankjury.measures.measure import Measure

PAGE = Path(__file__).parents[1] / "docs" / "why-different.md"
MEASURES = ("ndcg@10", "ap@10", "recall@10", "precision@10", "rr@10", "hit_rate@10")
"""Measures over which a convention of all measures is compared."""
OVERVIEW = (
    ("gain", ("ndcg@10",), "gain"),
    ("ideal list", ("ndcg@10",), "ideal"),
    ("AP over", ("ap@10",), "over"),
    ("recall over", ("recall@10",), "over"),
    ("precision over", ("precision@10",), "over"),
    ("ties", MEASURES, "ties"),
    ("scores", MEASURES, "scores"),
    ("nothing relevant", MEASURES, "empty"),
    ("missing query", MEASURES, "missing"),
    ("self match", MEASURES, "self"),
)
"""Columns of the overview: title, measures, option."""
OWN = "rankjury"
_REGION = re.compile(
    r"(?P<begin><!-- conventions(?: of (?P<option>\w+)(?: in (?P<measure>\S+))?)?: "
    r"made by scripts/make_why_different\.py -->\n).*?(?P<end><!-- end of conventions -->)",
    re.DOTALL,
)


def tools() -> list[str]:
    """Return rankjury and the names of all dialects."""
    return [OWN, *DIALECTS.names()]


def measure_of(tool: str, spelling: str) -> Measure:
    """Return the measure that a spelling means under a tool's conventions."""
    return resolve(spelling, None if tool == OWN else tool).measure


def measures_of(tool: str, spellings: Iterable[str]) -> list[str]:
    """Return the measures that a tool has, by the names that its dialect reads; all where it has no own names."""
    known = {spec.name for spec in NAMES.get(tool, {}).values()}
    return [spelling for spelling in spellings if not known or measure_of(tool, spelling).name in known]


def value_of(tool: str, spelling: str, option: str) -> str:
    """Return the value of an option under a tool's conventions, or the tool's metric if that lacks the option."""
    measure = measure_of(tool, spelling)
    if option not in {known.name for known in measure.metric.all_options}:
        return measure.name
    value = measure[option]
    return "any above 0" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def values_of(tool: str, spellings: Iterable[str], option: str) -> dict[str, list[str]]:
    """Return the measures by the value that an option has under a tool's conventions, most frequent value first."""
    by_value: dict[str, list[str]] = {}
    for spelling in measures_of(tool, spellings):
        by_value.setdefault(value_of(tool, spelling, option), []).append(spelling.partition("@")[0])
    return dict(sorted(by_value.items(), key=lambda entry: -len(entry[1])))


def overview() -> list[str]:
    """Return the table of all dialects; values other than rankjury's are bold."""
    rows = []
    for tool in tools():
        cells = [f"`{tool}`"]
        for _, spellings, option in OVERVIEW:
            own = values_of(OWN, spellings, option)
            cells.append(_cell(values_of(tool, spellings, option), next(iter(own))))
        rows.append(cells)
    return _table(["tool", *(title for title, _, _ in OVERVIEW)], rows)


def _cell(by_value: dict[str, list[str]], own: str) -> str:
    if not by_value:
        return "–"
    value, *others = by_value
    shown = value if value == own else f"**{value}**"
    exceptions = [f"{', '.join(by_value[other])}: {other}" for other in others]
    return shown + (f" ({'; '.join(exceptions)})" if exceptions else "")


def by_value(option: str, spelling: str | None) -> list[str]:
    """Return the table of the values of an option with the tools that have them."""
    spellings = MEASURES if spelling is None else (spelling,)
    found: dict[str, list[str]] = {}
    for tool in tools():
        values = values_of(tool, spellings, option)
        for value, names in values.items():
            some = f" ({', '.join(names)})" if len(values) > 1 else ""
            found.setdefault(value, []).append(tool + some)
    known = {choice: n for n, choice in enumerate(choices(option, spellings))}
    ordered = sorted(found, key=lambda value: known.get(value, len(known)))
    return _table(
        ["value", "tools"],
        [[_spelled(option, value, spelling, known), ", ".join(found[value])] for value in ordered],
    )


def choices(option: str, spellings: Iterable[str]) -> list[str]:
    """Return the values of an option in the order in which the metrics declare them."""
    metrics = [Measure.parse(spelling).metric for spelling in spellings]
    declared = [choice for metric in metrics for choice in metric.option(option, where=metric.name).choices]
    return list(dict.fromkeys(declared))


def _spelled(option: str, value: str, spelling: str | None, known: Iterable[str]) -> str:
    """Return a value as it is written: as an option, or as another measure."""
    if spelling is not None and value in known:
        name, _, k = spelling.partition("@")
        return f"`{name}({option}={value})@{k}`"
    if value in known or value.replace(".", "").isdigit():
        return f"`{option}={value}`"
    return value if " " in value else f"`{value}`, another measure"


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (header, [":--"] * len(header), *rows)]


def filled(text: str) -> str:
    """Return the page with every marked region made anew."""

    def region(found: re.Match[str]) -> str:
        lines = overview() if found["option"] is None else by_value(found["option"], found["measure"])
        return "\n".join([found["begin"], *lines, "", found["end"]])

    return _REGION.sub(region, text)


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    new = filled(text)
    if "--check" in sys.argv:
        return int(new != text)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
