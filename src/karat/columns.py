"""How others name the columns of gold and runs, and the names karat uses."""

from collections.abc import Iterable, Sequence

import polars as pl

from karat.errors import DataError

__all__ = [
    "GRADE",
    "ITEM",
    "QUERY",
    "RANK",
    "SCORE",
    "are_whole",
    "check_grades",
    "find_id_column",
    "is_item_column",
    "looks_like_header",
    "match_columns",
]

QUERY, ITEM, GRADE, SCORE, RANK = "query_id", "item_id", "grade", "score", "rank"
_FEWEST_SCORES = 20
_GOLD_FIRST = "The gold comes first: karat evaluate GOLD RUN, karat.evaluate(gold, run)."

_QUERY_NAMES = (
    QUERY,
    "query",
    "qid",
    "q_id",
    "query_identifier",
    "topic",
    "topic_id",
    "user_id",
    "user",
    "userid",
)
_ITEM_NAMES = (
    *(ITEM, "item", "doc_id", "docid", "docno", "document_id", "doc", "corpus_id", "pid", "passage_id"),
    *("product_id", "movie_id", "paper_id", "clip_id", "slice_id", "video_id", "itemid", "movieid"),
    *("clip", "video", "slice"),
)
_PLAIN = ("query", "topic", "user", "item", "doc")
_GRADE_NAMES = (
    *(GRADE, "relevance", "rel", "rating", "label", "relevance_label", "judgment", "judgement", "score"),
    *("value", "weight"),
)
_SCORE_NAMES = (SCORE, "similarity", "sim", "prediction", "weight", "value")
_RANK_NAMES = (RANK, "position", "place")

_WANTED = {
    "gold": {QUERY: _QUERY_NAMES, ITEM: _ITEM_NAMES, GRADE: _GRADE_NAMES},
    "run": {QUERY: _QUERY_NAMES, ITEM: _ITEM_NAMES, SCORE: _SCORE_NAMES, RANK: _RANK_NAMES},
}


def _folded(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def looks_like_header(names: Iterable[str]) -> bool:
    """Whether these cells name a query and an item column."""
    folded = {_folded(name) for name in names}
    return bool(folded & set(_QUERY_NAMES)) and bool(folded & set(_ITEM_NAMES))


def find_id_column(names: Sequence[str], kind: str, where: str) -> str:
    """Which column holds the ids in a table of attributes; ``kind`` is ``query`` or ``item``.

    Queries may be items themselves, as in a search for what is alike. A column called query or topic beside one called
    id holds a text.
    """
    names_of_kind = _QUERY_NAMES if kind == "query" else _ITEM_NAMES
    known = (*(name for name in names_of_kind if name not in _PLAIN), "id", "_id", *names_of_kind, *_ITEM_NAMES)
    folded = {_folded(name): name for name in reversed(names)}
    found = next((folded[name] for name in known if name in folded), None)
    if found is None:
        raise DataError(
            f"found the columns {', '.join(names)}; none holds ids",
            where=where,
            expected=f"{QUERY if kind == 'query' else ITEM} or id, and attributes",
        )
    return found


def is_item_column(name: str) -> bool:
    """Whether a column of ids is called as an item's is."""
    return _folded(name) in _ITEM_NAMES


def match_columns(names: Sequence[str], kind: str, where: str | None = None) -> dict[str, str]:
    """Map karat's column names to the given ones; ``kind`` is ``gold`` or ``run``."""
    folded = {_folded(name): name for name in reversed(names)}
    found: dict[str, str] = {}
    for wanted, known in _WANTED[kind].items():
        match = next((folded[name] for name in known if name in folded), None)
        if match is not None:
            found[wanted] = match
    shown = ", ".join(names)
    if kind == "gold" and RANK in folded and GRADE not in folded:
        raise DataError(
            f"columns {shown} are those of a run",
            where=where,
            expected="a gold with query_id, item_id and grade",
            hint=f"Is this the run? {_GOLD_FIRST}",
        )
    required = (QUERY, ITEM, GRADE) if kind == "gold" else (QUERY, ITEM)
    missing = [name for name in required if name not in found]
    if kind == "run" and SCORE not in found and RANK not in found:
        missing.append("score or rank")
    if missing:
        raise DataError(
            f"found the columns {shown}; no column for {', '.join(missing)}",
            where=where,
            expected="query_id, item_id, " + ("grade" if kind == "gold" else "score (or rank)"),
            hint=_swap_hint(kind, folded) if found else "Is the header missing? The first line names the columns.",
        )
    return found


def are_whole(numbers: pl.Series) -> bool:
    """Whether all are whole numbers that can be written as such without loss; negative zero cannot."""
    exact = (numbers == numbers.round()) & (numbers.abs() <= 2**53) & ~((numbers == 0) & (1 / numbers < 0))
    return bool(exact.all())


def check_grades(column: str | None, grades: pl.Series, where: str) -> None:
    """Refuse a run's scores where a gold's grades are expected: gold and run were swapped.

    Grades in a ``column`` called score, as BEIR's are, must be whole. None: the values have no column, as in
    {query: {item: number}}. Grades are few and have two decimals at most; hardly any two scores of a run are equal.
    """
    if column is not None:
        if _folded(column) == SCORE and not (grades == grades.round()).all():
            raise DataError(
                "the column score holds fractions, as a run's scores do",
                where=where,
                expected="a gold with whole grades",
                hint=f"{_GOLD_FIRST} If these are grades, name the column grade.",
            )
        return
    finer = ((grades * 100) != (grades * 100).round()).sum()
    if len(grades) >= _FEWEST_SCORES and 2 * finer > len(grades) and 2 * grades.n_unique() > len(grades):
        raise DataError(
            f"the {len(grades):,} values look like scores, not grades ({grades[0]}, {grades[1]} …)",
            where=where,
            expected="a gold: {query: {item: grade}}",
            hint=f"{_GOLD_FIRST} If these are grades, give a table with a column named grade.",
        )


def _swap_hint(kind: str, folded: dict[str, str]) -> str:
    if kind == "run" and any(name in folded for name in _GRADE_NAMES):
        return f"Is this the gold? {_GOLD_FIRST}"
    if kind == "gold" and any(name in folded for name in (*_SCORE_NAMES, *_RANK_NAMES)):
        return f"Is this the run? {_GOLD_FIRST}"
    return "Rename the columns, or write them with these names."
