"""Renderer of partial matches: results keyword by keyword, what is missed most, how well texts were mapped."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isnan
from typing import Any

from rankjury.core.text import plural
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import Keywords
from rankjury.labeling.keywords.partial_match import PartialMatches, QueryMatches, ResultMatch
from rankjury.reporting.sections import SectionBlock, renderer
from rankjury.reporting.tables import TextTable, make_table
from rankjury.stats.formatting import format_percent

HAS, LACKS = "✓", "✗"
_QUERIES_SHOWN = 2
_SMALL = 0.1
"""Where all scores are smaller, as fused ones are, two decimals do not distinguish them."""


@renderer("keywords")
@renderer("partial_matches")
def render(report: Report, brief: bool) -> SectionBlock | None:
    """Return of the last system a query or two result by result, and what is missed most; how texts were mapped."""
    found = report.sections_of(PartialMatches)
    quality = quality_table(report)
    if not found and quality is None:
        return None
    tables: list[TextTable] = []
    lines: list[str] = []
    for system in list(found)[-1:] if brief else found:
        tables += [*_query_tables(report, system), missed_table(found[system], system, 2 if brief else 3)]
        lines += _summary_lines(report, system)
    if quality is not None:
        tables.append(quality)
    return SectionBlock("Partial matches", [table for table in tables if table], lines, order=30)


def _query_tables(report: Report, system: str) -> Iterator[TextTable]:
    """Yield the queries that the plan wants to be shown, or the worst that found part of what they asked for."""
    partial = report.sections_of(PartialMatches)[system]
    for query in (report.section(Keywords) or Keywords()).get("show") or _worst_queries(report, system):
        matches = partial.of(query)
        if matches is not None and matches.results:
            yield _result_table(report, system, matches, partial)


def _worst_queries(report: Report, system: str) -> list[str]:
    if report.queries is None:
        return []
    scores = report.scores[system].only(report.headline or None)
    values = dict(zip(map(str, scores.queries), scores[scores.labels[-1]].tolist(), strict=True))
    partly = [
        query
        for query in report.sections_of(PartialMatches)[system].queries
        if query.relevant and not isnan(values[query.query]) and any(_is_partial(result) for result in query.results)
    ]
    return [query.query for query in sorted(partly, key=lambda query: (values[query.query], query.query))][
        :_QUERIES_SHOWN
    ]


def _is_partial(result: ResultMatch) -> bool:
    return bool(result.has and result.lacks)


def _result_table(report: Report, system: str, looked: QueryMatches, partial: PartialMatches) -> TextTable:
    """Return the results of a query, with its keywords above and its scores below."""
    text = report.query_text(looked.query)
    group_of = {keyword.name: keyword.group for keyword in partial.keywords}
    keywords = {name: name.removeprefix(f"{group_of[name]}=") for name in looked.keywords}
    groups = list(dict.fromkeys(group_of[name] for name in looked.keywords))
    decimals = 2 if any(abs(result.score or 0) >= _SMALL for result in looked.results) else 4
    rows, narrow = [], []
    for result in looked.results:
        score = "–" if result.score is None else f"{result.score:.{decimals}f}"
        head = [str(result.rank), score, report.name_of(result.item)]
        marks = {keyword: f"{HAS if keyword in result.has else LACKS} {name}" for keyword, name in keywords.items()}
        by_group = [" ".join(mark for keyword, mark in marks.items() if group_of[keyword] == group) for group in groups]
        every = " ".join(mark.replace(" ", "", 1) for mark in marks.values())
        verdict = _format_match(result, partial.threshold)
        rows.append([*head, *by_group, verdict])
        narrow.append([*head, every, verdict])
    names = list(keywords.values())
    # With the group where two groups have the same keyword.
    distinct = [name if names.count(name) == 1 else keyword for keyword, name in keywords.items()]
    lines = [f"keywords: {', '.join(distinct)}"]
    mapping: Mapping[str, Any] = (report.section(Keywords) or Keywords()).get("mapping", {})
    mapped = (mapping.get("queries", {}).get(looked.query) or {}).get("mapped")
    if mapped:
        how = ", ".join(f"{keyword['keyword']} ← “{keyword['ngram']}” ({keyword['score']:.2f})" for keyword in mapped)
        lines.append(f"mapped by {mapping['method']}: {how}")
    lines.append(f"relevant: {plural(looked.relevant, 'item', 'items')}")
    title = f"{looked.query} “{text}” by {system}" if text else f"{looked.query} by {system}"
    wide = range(2, len(groups) + 4)
    return make_table(
        ["rank", "score", "item", *groups, "match"],
        rows,
        text=wide,
        wraps=wide,
        title="\n  ".join([title, *lines]),
        notes=[_format_scores(report, system, looked.query)] if report.queries is not None else [],
        narrower=[make_table(["rank", "score", "item", "keywords", "match"], narrow, text=(2, 3, 4), wraps=(2, 3))],
    )


def _format_match(result: ResultMatch, threshold: float | None) -> str:
    if not result.annotated:
        return "not annotated"
    found = f"{len(result.has)}/{len(result.has) + len(result.lacks)}" + (" partial" if _is_partial(result) else "")
    return found if result.shown else f"{found}, below {threshold:g}: not shown"


def _format_scores(report: Report, system: str, query: str) -> str:
    scores = report.scores[system].only(report.headline or None)
    row = list(map(str, scores.queries)).index(query)
    values = zip(scores.labels, scores.values[row].tolist(), strict=True)
    return " · ".join(f"{label}: {'–' if isnan(value) else f'{value:.3f}'}" for label, value in values)


def missed_table(partial: PartialMatches, system: str, most: int) -> TextTable:
    """Return the keywords that results lack, most first, each with ``most`` that they have instead."""
    rows = [
        [
            keyword.name.removeprefix(f"{keyword.group}="),
            keyword.group,
            f"{keyword.queries:,}",
            f"{keyword.lacking:,} of {keyword.results:,}",
            format_percent(keyword.share, 1),
            ", ".join(f"{other.keyword} ({other.results:,})" for other in keyword.instead[:most]),
        ]
        for keyword in partial.keywords
        if keyword.lacking
    ]
    header = ["keyword", "group", "queries", "lacking", "share", "instead"]
    first = [[*row[:-1], row[-1].partition(",")[0]] for row in rows]
    short, whole = (make_table(header, cells, text=(0, 1, 5), wraps=(0, 1, 5), shown=8) for cells in (first, rows))
    title = f"Missed most in the first {partial.k} of {system}"
    return replace(whole, title=title, narrower=(short, short.without("group")))


def _summary_lines(report: Report, system: str) -> Iterator[str]:
    """Yield what the results of all queries come to."""
    partial = report.sections_of(PartialMatches)[system]
    counts = partial.results
    total = counts.whole + counts.some + counts.none
    if total:
        whole, some, none = (format_percent(count / total, 1) for count in (counts.whole, counts.some, counts.none))
        yield f"Of {total:,} results of {system}, {whole} have all keywords of their query, {some} some, {none} none"
    by_group = ", ".join(f"{group.name} {format_percent(group.share, 1)}" for group in partial.groups if group.results)
    if by_group:
        yield f"Lacking by group: {by_group}"
    if partial.look_alikes:
        pairs = "; ".join(
            f"{look_alike.item} to {look_alike.query} ({look_alike.score:.2f}, lacks {', '.join(look_alike.lacks)})"
            for look_alike in partial.look_alikes[:3]
        )
        yield f"Most similar results that are not relevant: {pairs}"
    alike = partial.alike
    if alike is not None and alike.others is not None:
        right = "" if alike.relevant is None else f", relevant ones {format_percent(alike.relevant, 1)}"
        yield (
            f"Results that are not relevant share {format_percent(alike.others, 1)} of the query's keywords in groups "
            f"that do not count ({', '.join(alike.groups)}){right}, any item {format_percent(alike.anything, 1)}"
        )


def quality_table(report: Report) -> TextTable | None:
    """Return how well each method mapped the texts, where their keywords are known."""
    methods: Mapping[str, Any] = (report.section(Keywords) or Keywords()).get("quality", {})
    if not methods:
        return None
    rows = []
    for method, quality in methods.items():
        shares = (quality[name] for name in ("precision", "recall", "f1", "exact"))
        cells = ("–" if share is None else f"{share:.3f}" for share in shares)
        rows.append([method, *cells, f"{quality['n']:,}"])
    header = ["method", "precision", "recall", "F1", "all right", "texts"]
    return make_table(header, rows, wraps=(0,), title="Texts mapped onto keywords, compared with the given keywords")
