"""A report as the files of a run: its form as JSON, scores and rankings as Parquet."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import polars as pl

from karat.answers import Answers
from karat.archive.durable import as_bytes
from karat.columns import ITEM, QUERY
from karat.report import Report

__all__ = ["GOLDS", "ITEMS", "QUERIES", "RANKINGS", "REPORT", "SCORES", "contents_of"]

REPORT, SCORES, QUERIES = "report.json", "scores.parquet", "queries.parquet"
RANKINGS, GOLDS, ITEMS = "rankings.parquet", "golds.parquet", "items.parquet"
_ROWS_TOGETHER = 20_000
"""A row group: what is decoded to look at one query."""


def contents_of(report: Report, form: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Every file with its bytes, one after the other; ``form`` is the report's versioned form."""
    yield REPORT, as_bytes(form)
    yield SCORES, _parquet(scores_of(report))
    yield QUERIES, _parquet(queries_of(report))
    held: list[pl.Series] = []
    if report.answers is not None:
        for name, frame in ((RANKINGS, report.answers.rankings_frame()), (GOLDS, report.answers.golds_frame())):
            held.append(frame[ITEM].unique())
            yield name, _parquet(_by_query(frame))
    if report.names:
        yield ITEMS, _parquet(names_of(report, held))


def scores_of(report: Report) -> pl.DataFrame:
    """query_id, system and a column a measure; undefined is null, and so is what a system was not measured in."""
    frames = [
        scores.per_query.select(pl.col(QUERY).cast(pl.String), pl.lit(name).alias("system"), pl.exclude(QUERY))
        for name, scores in report.scores.items()
    ]
    return _by_query(pl.concat(frames, how="diagonal"))


def queries_of(report: Report) -> pl.DataFrame:
    """query_id, text and the names of the slices that it is in; in the order of the scores."""
    queries = next(iter(report.scores.values())).queries.cast(pl.String)
    known = report.texts
    texts = [known.get(query) for query in queries]
    frame = pl.DataFrame({QUERY: queries, "text": pl.Series(texts, dtype=pl.String)}).with_row_index("row")
    parts = [part for part in report.slices if part.of == "queries" and part.rows]
    members = pl.DataFrame(
        {
            "row": pl.Series([row for part in parts for row in part.rows], dtype=pl.UInt32),
            "slices": pl.Series([part.name for part in parts for _ in part.rows], dtype=pl.String),
        }
    )
    grouped = members.group_by("row", maintain_order=True).agg("slices")
    frame = frame.join(grouped, on="row", how="left", maintain_order="left")
    return frame.select(QUERY, "text", pl.col("slices").fill_null([]))


def names_of(report: Report, held: list[pl.Series]) -> pl.DataFrame:
    """item_id and name of the items that occur in the rankings or the gold; without these, of all."""
    frame = pl.DataFrame(
        {
            ITEM: pl.Series(list(report.names), dtype=pl.String),
            "name": pl.Series(list(report.names.values()), dtype=pl.String),
        }
    )
    if held:
        frame = frame.join(pl.concat(held).unique().to_frame(ITEM), on=ITEM, how="semi")
    return frame.sort(ITEM)


def answers_form(answers: Answers | None) -> dict[str, Any] | None:
    """What the frames do not tell of the answers: which systems and golds there are, in their order."""
    if answers is None:
        return None
    return {
        "systems": list(answers.systems),
        "golds": list(answers.golds),
        "gold_of": dict(answers.gold_of),
        "depth": answers.depth,
    }


def _by_query(frame: pl.DataFrame) -> pl.DataFrame:
    """In the order of ids, so that a row group can be passed over by the least and greatest id in it."""
    return frame if frame[QUERY].is_sorted() else frame.sort(QUERY, maintain_order=True)


def _parquet(frame: pl.DataFrame) -> bytes:
    file = BytesIO()
    frame.write_parquet(file, compression="zstd", statistics=True, row_group_size=_ROWS_TOGETHER)
    return file.getvalue()
