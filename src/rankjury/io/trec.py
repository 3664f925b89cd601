"""TREC runs (query Q0 item rank score tag) and qrels (query iteration item grade).

Columns are separated by any number of blanks or tabs; blank lines and lines that begin with # are skipped. Files with
one blank or tab between columns, the normal case, take a fast path. All others are read again line by line in Polars,
so that an error can name the line.

A CSV reader reads two adjacent blanks as an empty field, which shifts the following fields, and checking unused columns
for empty fields costs a third of the reading time. One pass over the bytes costs a tenth.
"""

import io
import re
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from pathlib import Path

import polars as pl

from rankjury.core.columns import GRADE, ITEM, QUERY, SCORE
from rankjury.core.types import are_whole, sort_key
from rankjury.errors import DataError
from rankjury.io.source import Source

_CHUNK = 1 << 17
_BLANK, _TAB, _NEWLINE, _HASH = map(ord, " \t\n#")


def scan_bytes(given: Path | bytes, separator: str) -> tuple[int, bool] | None:
    """Count the separators and search for #, which may begin comments, in one pass over the bytes.

    Return None if a separator ends a line or is next to another, or if the other separator occurs.
    """
    import numpy as np  # imported on use: reading begins while this loads

    wanted = ord(separator)
    other = _TAB if wanted == _BLANK else _BLANK
    # The last byte of the previous chunk comes first, so that pairs across chunks are seen.
    data = bytearray(_CHUNK + 1)
    data[0] = _NEWLINE
    read_into = memoryview(data)[1:]
    octets = np.frombuffer(data, dtype=np.uint8)
    equal, white = np.empty(_CHUNK + 1, dtype=bool), np.empty(_CHUNK, dtype=bool)
    separators, has_hash = 0, False
    with io.BytesIO(given) if isinstance(given, bytes) else given.open("rb", buffering=0) as file:
        while size := file.readinto(read_into):
            octets[size + 1 :] = _NEWLINE
            np.equal(octets, wanted, out=equal)
            np.less_equal(octets[1:], _BLANK, out=white)
            if data.find(other) >= 0 or np.logical_and(equal[:-1], white, out=white).any():
                return None
            has_hash = has_hash or data.find(_HASH) >= 0
            separators += int(np.count_nonzero(equal[1:]))
            data[0] = data[size]
    return None if data[0] == wanted else (separators, has_hash)


_WORD, _GAP = r"([^ \t]+)", r"[ \t]+"
_COLUMNS = {"run": [QUERY, "Q0", ITEM, "rank", SCORE, "tag"], "gold": [QUERY, "iteration", ITEM, GRADE]}
_SHOWN = {"run": "six columns: query Q0 item rank score tag", "gold": "four columns: query iteration item grade"}
_NUMBER = {"run": SCORE, "gold": GRADE}
# A line must have exactly as many columns as the format. trec_eval reads the rest of a run's line as the tag; but then
# an id with a blank (q01 Q0 kb 031 1 7.39 bm25) is read as item kb with score 1, and the two cannot be distinguished.
# If tabs separate the six columns, as in NIST's test file, text after the tag in the last column is unambiguous.
_PATTERN = {
    "run": rf"^[ \t]*{_WORD}{_GAP}[^ \t]+{_GAP}{_WORD}{_GAP}[^ \t]+{_GAP}{_WORD}{_GAP}[^ \t]+[ \t]*$",
    "gold": rf"^[ \t]*{_WORD}{_GAP}[^ \t]+{_GAP}{_WORD}{_GAP}{_WORD}[ \t]*$",
}
_BEHIND_THE_TAG = r"^( *[^ \t]+ *(?:\t *[^ \t]+ *){4}\t *[^ \t]+) [^\t]*$"


def read(source: Source, kind: str) -> pl.DataFrame:
    """Return query_id, item_id and grade or score of all lines."""
    frame = None if source.compression == "zstd" else _read_regular(source, kind)
    return _read_carefully(source, kind) if frame is None else frame


def _read_regular(source: Source, kind: str) -> pl.DataFrame | None:
    """Read a file with one separator between columns; return None if the file is not that regular."""
    columns, number = _COLUMNS[kind], _NUMBER[kind]
    separator = "\t" if "\t" in next(iter(source.head_lines), "") else " "
    schema = {name: pl.Float64 if name == number else pl.String for name in columns}
    scan = pl.scan_csv(source.polars, separator=separator, has_header=False, quote_char=None, schema=schema, glob=False)
    with ThreadPoolExecutor(max_workers=1) as executor:
        layout = executor.submit(scan_bytes, source.polars, separator)
        try:
            wanted = scan.select(QUERY, ITEM, number, short=pl.col(columns[-1]).is_null())
            frame = wanted.collect(engine="streaming")
        except (pl.exceptions.PolarsError, OSError):
            return None
    # The reader silently drops fields beyond the last column. But if every line has the last column, the number of
    # separators is as expected, and none are adjacent, then no line has more and every field is in its column.
    separators, has_hash = layout.result() or (0, False)
    if separators != frame.height * (len(columns) - 1) or frame.is_empty():
        return None
    short, frame = frame["short"].any(), frame.drop("short")
    missing = short or any(frame[name].null_count() for name in frame.columns)
    comments = has_hash and frame[QUERY].str.starts_with("#").any()
    finite = isfinite(frame[number].sum()) or frame[number].is_finite().all()
    return None if missing or comments or not finite else frame


def _read_carefully(source: Source, kind: str) -> pl.DataFrame:
    number = _NUMBER[kind]
    frame = source.lines().to_frame("line").with_row_index("number", offset=1)
    frame = frame.filter(~pl.col("line").str.contains(r"^[ \t]*(#|$)"))
    if frame.is_empty():
        raise DataError("found no line with data", where=source.name, expected=_SHOWN[kind])
    line = pl.col("line").str.replace(_BEHIND_THE_TAG, "$1") if kind == "run" else pl.col("line")
    fields = line.str.extract_groups(_PATTERN[kind]).alias("fields")
    frame = frame.lazy().with_columns(fields).unnest("fields").collect(engine="streaming")
    frame = frame.rename({"1": QUERY, "2": ITEM, "3": number})
    malformed = frame.filter(pl.col(number).is_null())
    if not malformed.is_empty():
        raise _column_error(source, kind, malformed["number"][0], malformed["line"][0])
    frame = frame.with_columns(pl.col(number).cast(pl.Float64, strict=False).alias("value"))
    invalid = frame.filter(pl.col("value").is_null() | ~pl.col("value").is_finite())
    if not invalid.is_empty():
        found = f"the {number} is {invalid[number][0]!r} in the line {_short(invalid['line'][0])!r}"
        raise DataError(found, where=f"{source.name}:{invalid['number'][0]}", expected="a finite number")
    return frame.select(QUERY, ITEM, pl.col("value").alias(number))


def _column_error(source: Source, kind: str, number: int, line: str) -> DataError:
    count = len(re.findall(_WORD, line))
    other = "gold" if kind == "run" else "run"
    hint = None
    if count > len(_COLUMNS[kind]):
        culprits = "an id or the tag" if kind == "run" else "an id"
        hint = f"Blanks separate columns. If {culprits} contains a blank, replace it, or use CSV or JSON."
    if re.search(_PATTERN[other], line):
        looks_like = "qrels: was the gold" if other == "gold" else "run: was a run"
        hint = f"This looks like a TREC {looks_like} given where the {kind} goes? Order: rankjury evaluate GOLD RUN."
    found = f"found {count} columns in the line {_short(line)!r}"
    return DataError(found, where=f"{source.name}:{number}", expected=_SHOWN[kind], hint=hint)


def _short(line: str) -> str:
    return line if len(line) <= 80 else f"{line[:79]}…"


def write(frame: pl.DataFrame, kind: str, name: str) -> pl.DataFrame:
    """Return the columns in TREC order; a run's items by score, ties by id, row numbers numerically."""
    for column in (QUERY, ITEM):
        invalid = frame.filter(pl.col(column).cast(pl.String).str.contains(r"\s|^#|^$"))
        if not invalid.is_empty():
            found = f"the {column} {invalid[column][0]!r} cannot be written to a TREC file"
            expected, hint = "ids without blanks that do not begin with #", "Write CSV, JSONL or Parquet instead."
            raise DataError(found, expected=expected, hint=hint)
    if kind == "gold":
        grade = pl.col(GRADE).cast(pl.Int64) if are_whole(frame[GRADE]) else pl.col(GRADE)
        return frame.select(QUERY, pl.lit("0").alias("iteration"), ITEM, grade)
    frame = frame.with_columns(pl.int_range(pl.len()).alias("row")).with_columns(seen=pl.col("row").first().over(QUERY))
    frame = frame.sort(["seen", SCORE, sort_key(frame[ITEM])], descending=[False, True, False])
    rank = pl.int_range(1, pl.len() + 1).over(QUERY)
    return frame.select(QUERY, pl.lit("Q0").alias("Q0"), ITEM, rank.alias("rank"), SCORE, pl.lit(name).alias("tag"))
