"""The tables of karat keywords."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from karat.text.keywords import Extraction, Mapped, Mapper
    from karat.text.keywords.measuring import Mistake, Quality
    from karat.vocabulary import Keyword

__all__ = ["print_brief", "print_quality", "print_text"]

_DROPPED_SHOWN = 8
_MISTAKES_SHOWN = 10


def print_text(text: str, by_method: "dict[str, tuple[Mapper, Extraction]]", *, first: bool) -> None:
    """What a text means by each method, and what was dropped that is not there otherwise."""
    from karat.reports.console import console, print_rows

    screen = console()
    screen.print(text if first else f"\n{text}")
    rows = [_cells(one) for _, extraction in by_method.values() for one in extraction.mapped]
    if rows:
        print_rows(["keyword", "group", "n-gram", "score", "method"], rows, text=(0, 1, 2, 4), wraps=(0, 1, 2))
    for name, (mapper, extraction) in by_method.items():
        if not extraction.mapped:
            screen.print(f"No keyword by {name}{_nearest(mapper, extraction)}")
    lost = [
        [one.mapped.keyword.name, one.mapped.ngram, f"{one.mapped.score:.2f}", one.reason]
        for _, extraction in by_method.values()
        for one in extraction.dropped
        if one.mapped.keyword not in extraction.keywords
    ]
    if lost:
        screen.print("\nDropped")
        print_rows(["keyword", "n-gram", "score", "why"], lost[:_DROPPED_SHOWN], text=(0, 1, 3), wraps=(0, 1, 3))
        if len(lost) > _DROPPED_SHOWN:
            screen.print(f"… and {len(lost) - _DROPPED_SHOWN} more: --json has them all")


def _cells(one: "Mapped") -> list[str]:
    return [one.keyword.name, one.keyword.group, one.ngram, f"{one.score:.2f}", one.method]


def _nearest(mapper: "Mapper", extraction: "Extraction") -> str:
    near = ", ".join(f"{one.keyword.name} {one.score:.2f} ({one.ngram})" for one in extraction.nearest)
    if mapper.threshold >= 1:
        told = "what stands in the text was dropped" if extraction.dropped else "none stands in the text"
        return f": {told}; nearest in spelling {near}" if near else f": {told}"
    what = "what comes nearer than {} was dropped" if extraction.dropped else "nothing comes nearer than {}"
    told = what.format(f"{mapper.threshold:g}")
    return f": {told}; nearest {near}" if near else f": {told}"


def print_brief(found: "dict[str, tuple[Mapper, list[Extraction]]]") -> None:
    """A line a text, and how many have no keyword."""
    from karat.reports.console import console, print_rows

    screen = console()
    for name, (_, extractions) in found.items():
        rows = [[one.text, ", ".join(keyword.name for keyword in one.keywords) or "–"] for one in extractions]
        print_rows(["text", f"keywords, by {name}"], rows, text=(0, 1), wraps=(0, 1))
        bare = sum(not one.mapped for one in extractions)
        screen.print(f"{bare:,} of {len(extractions):,} texts have no keyword: --json shows what came nearest\n")


def print_quality(measured: "dict[str, tuple[Quality, dict[str, Quality], list[Mistake]]]") -> None:
    """How good each method is, whole and by group, and the first texts that it got wrong."""
    from karat.reports.console import console, print_rows
    from karat.wording import count

    screen = console()
    header = ["precision", "recall", "F1", "macro F1", "all right", "n"]
    rows = [[name, *_figures(whole)] for name, (whole, _, _) in measured.items()]
    print_rows(["method", *header], rows)
    for name, (_, by_group, wrong) in measured.items():
        if len(by_group) > 1:
            screen.print(f"\nBy group, {name}")
            print_rows(["group", *header], [[group, *_figures(one)] for group, one in by_group.items()])
        if wrong:
            screen.print(f"\nNot as people did, {name}: {count(len(wrong), 'text', 'texts')}")
            shown = [[one.text, _names(one.missed), _names(one.wrong)] for one in wrong[:_MISTAKES_SHOWN]]
            print_rows(["text", "missed", "wrong"], shown, text=(0, 1, 2), wraps=(0, 1, 2))
            if len(wrong) > _MISTAKES_SHOWN:
                screen.print(f"… and {len(wrong) - _MISTAKES_SHOWN} more: --json has them all")


def _figures(one: "Quality") -> list[str]:
    values = (one.precision, one.recall, one.f1, one.macro_f1, one.exact)
    return [*("–" if value != value else f"{value:.3f}" for value in values), f"{one.n:,}"]


def _names(keywords: "Iterable[Keyword]") -> str:
    return ", ".join(one.name for one in keywords) or "–"
