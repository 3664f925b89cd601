"""Names of columns: which column holds queries, items, grades, scores or ranks, in whatever spelling."""

import re
from collections.abc import Iterable, Sequence

from rankjury.errors import DataError

QUERY, ITEM, GRADE, SCORE, RANK = "query_id", "item_id", "grade", "score", "rank"
GOLD_FIRST = "The gold comes first: rankjury evaluate GOLD RUN, rankjury.evaluate(gold, run)."


def fold_name(name: str) -> str:
    """Return a column's name in one spelling: queryId, query-id and query_id are the same, as are _score and score."""
    return _JOINTS.sub("", name).lower()


_JOINTS = re.compile(r"[\s_-]+")
_QUERY_NAMES = ("queryid", "query", "qid", "queryidentifier", "topic", "topicid", "userid", "user")
_ITEM_NAMES = (
    *("itemid", "item", "docid", "docno", "documentid", "doc", "corpusid", "pid", "passageid", "productid", "movieid"),
    *("paperid", "clipid", "sliceid", "videoid", "clip", "video", "slice"),
)
_RARER_QUERY_NAMES = ("q", "questionid", "searchid", "requestid", "sessionid", "customerid", "uid")
_RARER_ITEM_NAMES = (
    *("document", "passage", "product", "article", "articleid", "chunkid", "did", "iid", "sku", "asin", "url"),
    *("imageid", "trackid", "songid", "bookid", "newsid"),
)
"""In a table of attributes, a column ``id`` comes before these."""
_PLAIN = ("query", "topic", "user", "item", "doc")
GRADE_COLUMNS = (
    *(GRADE, "relevance", "rel", "rating", "label", "relevancelabel", "judgment", "judgement", "score"),
    *("relevancegrade", "gradedrelevance", "relevancescore", "relevant", "isrelevant", "gain", "ytrue", "target"),
    *("value", "weight"),
)
_ANY_NUMBER = ("weight", "value")
_SCORE_NAMES = (
    *(SCORE, "similarity", "sim", "prediction", "relevancescore", "cosine", "cosinesimilarity", "bm25"),
    *("probability", "logit", "yscore", "ypred", "pred", "est", *_ANY_NUMBER),
)
_RANK_NAMES = (RANK, "position", "place")
_DISTANCE_NAMES = ("distance", "dist")
ORDER_COLUMNS = {*_SCORE_NAMES, *_RANK_NAMES}
QUERY_COLUMNS, _ITEM_COLUMNS = (*_QUERY_NAMES, *_RARER_QUERY_NAMES), (*_ITEM_NAMES, *_RARER_ITEM_NAMES)
COLUMNS_OF_RECORDS = {*QUERY_COLUMNS, *_ITEM_COLUMNS, *GRADE_COLUMNS, *ORDER_COLUMNS, "id"}


def looks_like_header(names: Iterable[str]) -> bool:
    """Return whether these cells name a query and an item column."""
    folded = {fold_name(name) for name in names}
    return bool(folded & set(QUERY_COLUMNS)) and bool(folded & set(_ITEM_COLUMNS))


def find_id_column(names: Sequence[str], kind: str, where: str) -> str:
    """Return the column that holds the ids in a table of attributes; ``kind`` is ``query`` or ``item``.

    Queries may be items themselves, as in a search for what is alike. A column called query or topic beside one called
    id holds a text.
    """
    names_of_kind, all_names = (_QUERY_NAMES, QUERY_COLUMNS) if kind == "query" else (_ITEM_NAMES, _ITEM_COLUMNS)
    known = (*(name for name in names_of_kind if name not in _PLAIN), "id", *all_names, *_ITEM_COLUMNS)
    folded = {fold_name(name): name for name in reversed(names)}
    found = next((folded[name] for name in known if name in folded), None)
    if found is None:
        raise DataError(
            f"found the columns {', '.join(names)}; none holds ids",
            where=where,
            expected=f"{QUERY if kind == 'query' else ITEM} or id, and attributes",
        )
    return found


def is_item_column(name: str) -> bool:
    """Return whether the name of a column of ids is that of an item."""
    return fold_name(name) in _ITEM_COLUMNS


def match_columns(
    names: Sequence[str], kind: str, where: str | None = None, *, has_order: bool = False
) -> dict[str, str]:
    """Map rankjury's column names to the given ones; ``kind`` is ``gold`` or ``run``.

    ``has_order``: the order of the rows is the ranking, so that a run needs neither scores nor ranks.
    """
    folded = {fold_name(name): name for name in reversed(names)}
    values = {GRADE: GRADE_COLUMNS} if kind == "gold" else {SCORE: _SCORE_NAMES, RANK: _RANK_NAMES}
    wanted = {QUERY: QUERY_COLUMNS, ITEM: _ITEM_COLUMNS, **values}
    matches = {name: [folded[known] for known in spellings if known in folded] for name, spellings in wanted.items()}
    found = {name: spelled[0] for name, spelled in matches.items() if spelled}
    shown = ", ".join(names)
    if kind == "gold" and RANK in folded and GRADE not in folded:
        raise DataError(
            f"columns {shown} are those of a run",
            where=where,
            expected="a gold with query_id, item_id and grade",
            hint=f"Is this the run? {GOLD_FIRST}",
        )
    if QUERY in found and "id" in folded and fold_name(found.get(ITEM, "")) not in _ITEM_NAMES:
        found[ITEM] = folded["id"]  # hits of a search: query, id, perhaps a url
    for name, chosen in found.items():
        alike = list(dict.fromkeys(column for column in names if fold_name(column) == fold_name(chosen)))
        if name == SCORE:  # bm25 and cosine: no order of preference is right
            alike = [column for column in matches[SCORE] if fold_name(column) not in _ANY_NUMBER] or alike
        if name in names:
            found[name] = name
        elif len(alike) > 1:
            several = f"the columns {' and '.join(alike[:2])} may both be {name}"
            raise DataError(several, where=where, expected="one of them", hint="Drop or rename the other.")
    required = (QUERY, ITEM, GRADE) if kind == "gold" else (QUERY, ITEM)
    missing = [name for name in required if name not in found]
    if kind == "run" and SCORE not in found and RANK not in found and not has_order:
        missing.append("score or rank")
    if missing:
        hint = "Rename the columns, or write them with these names."
        distance = next((folded[name] for name in _DISTANCE_NAMES if name in folded), None)
        if "text" in folded or "title" in folded:
            hint = f"These look like texts of queries or of items, not like a {kind}."
        elif kind == "run" and missing == ["score or rank"] and distance:
            hint = f"Higher scores are better: add a column score with the negative {distance}."
        elif not found:
            hint = "Is the header missing? The first line names the columns."
        elif kind == "run" and any(name in folded for name in GRADE_COLUMNS):
            hint = f"Is this the gold? {GOLD_FIRST}"
        elif kind == "gold" and any(name in folded for name in (*_SCORE_NAMES, *_RANK_NAMES)):
            hint = f"Is this the run? {GOLD_FIRST}"
        raise DataError(
            f"found the columns {shown}; no column for {', '.join(missing)}",
            where=where,
            expected="query_id, item_id, " + ("grade" if kind == "gold" else "score (or rank)"),
            hint=hint,
        )
    return found
