"""Mutators: functions of a random number generator and a valid input that return a damaged one.

Each takes the format apart as far as needed to reach what a blind change of bytes does not: fields of a line, values
of a JSON tree, columns of a Parquet file, the header of an array.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import struct
import tomllib
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ODD_TEXTS", "ODD_VALUES", "change_frame", "mutate_bytes", "mutate_file", "mutate_gzip", "mutate_json",
    "mutate_json_lines", "mutate_parquet", "mutate_text", "mutate_tree", "mutate_zstd", "odd_text", "odd_value",
]  # fmt: skip

ODD_TEXTS = (
    "", " ", "\t", "\n", "\r", "\r\n", '""', '"', "'", ",", ";", "|", ":", "::", ":::9:", "#", "nan", "NaN", "inf",
    "-inf", "Infinity", "1e400", "-1e400", "1e-400", "0x10", "1_000", "1,5", "-0", "+1", "-1", "0", "1", "2", "007",
    "1" * 400, "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
    "4294967296", "0.1", "true", "false", "True", "None", "null", "NULL", "NA", "\x00", "a\x00b", "\ufeff", "\u202e",
    "\u2028", "\x85", "\x1b[31m", "\U0001f600", "é", "e\u0301", "x" * 5000, "[", "]", "{", "}", "{}", "[]", "[[]]",
    "[1, 2]", '{"a": 1}', "\\", "\\N", "\\ud800", "../../etc/passwd", "/dev/null/x", "*", "?", "%s", "{0}", "$HOME",
    "=1+1", "@x", "-", "Q0", "query_id", "2024-01-01", "2024-13-45", "1970-01-01T00:00:00Z", "99999999999999",
    "-62135596801",
)  # fmt: skip
"""Texts that are odd in at least one reader."""

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.0, -0.0, 0.5, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf"),
    2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**400, "", " ", "a", "q1", "nan", "1", "\x00",
    "\ud800", "x" * 2000, [], [[]], [None], [1, "a", None], {}, {"": None}, {"a": {"b": []}}, [{}], [[1, 2], [3]],
)  # fmt: skip
"""JSON values that are odd in at least one place; json.dumps takes all of them."""

_WORDS = (
    b"\x00",
    b"\xff",
    b"\x00" * 4,
    b"\xff" * 4,
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x80",
    b"\xff" * 8,
    b"\x00" * 8,
)
_UTF8 = (b"\xed\xa0\x80", b"\xc0\x80", b"\xf8\x88\x80\x80\x80", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_MAGIC = (
    b"PAR1", b"PARE", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\x93NUMPY", b"\x80\x04", b"BZh", b"%PDF",
    b"SQLite format 3\x00", b"ARROW1",
)  # fmt: skip

Bytes = Callable[[Random, bytes], bytes]


def times(rng: Random, change: Bytes, data: bytes) -> bytes:
    """Apply a change once, or now and then a few times."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        data = change(rng, data)
    return data


def odd_text(rng: Random) -> str:
    """Return an odd token."""
    return rng.choice(ODD_TEXTS)


# Bytes.


def mutate_bytes(rng: Random, data: bytes) -> bytes:
    """Flip, cut, insert or repeat bytes, wherever they are."""
    return times(rng, _change_bytes, data)


def _change_bytes(rng: Random, data: bytes) -> bytes:
    size = len(data)
    at = rng.randrange(size + 1)
    end = min(size, at + rng.choice((1, 1, 2, 4, 8, 64, 1024)))
    kind = rng.randrange(9)
    if kind == 0 and size:
        at = min(at, size - 1)
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 1:
        return data[:at]
    if kind == 2:
        return data[:at] + data[end:]
    if kind == 3:
        return data[:at] + data[at:end] * rng.choice((2, 3, 50)) + data[end:]
    if kind == 4:
        word = rng.choice(_WORDS)
        return data[:at] + word + data[at + len(word) :]
    if kind == 5:
        return data[:at] + rng.choice(_WORDS + _UTF8 + _MAGIC) + data[at:]
    if kind == 6:
        return rng.choice(_UTF8 + _MAGIC) + (data if rng.random() < 0.5 else b"")
    if kind == 7:
        return data[:at] + rng.randbytes(end - at) + data[end:]
    return data[at:] + data[:at]


# Lines of text.


def mutate_text(rng: Random, data: bytes, separators: str = ",\t ;|:") -> bytes:
    """Change lines and fields of a text, and now and then its bytes."""
    return mutate_bytes(rng, data) if rng.random() < 0.15 else times(rng, _changer(separators), data)


def _changer(separators: str) -> Bytes:
    return lambda rng, data: _change_lines(rng, data, separators)


def _change_lines(rng: Random, data: bytes, separators: str) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    kind = rng.randrange(14)
    if kind <= 5:
        lines[at] = _change_fields(rng, lines[at], separators)
    elif kind == 6:
        del lines[at]
    elif kind == 7:
        lines.insert(at, lines[rng.randrange(len(lines))])
    elif kind == 8:
        lines.insert(at, odd_text(rng))
    elif kind == 9:
        lines.append(odd_text(rng))
    elif kind == 10:
        old, new = rng.choice(separators), rng.choice(separators + "\x00\x01é")
        lines = [line.replace(old, new) for line in (lines if rng.random() < 0.7 else [text])]
    elif kind == 11:
        rng.shuffle(lines)
    elif kind == 12:
        lines = [line + rng.choice(("\r", " ", "\t", ",", "\x0b", "\x0c")) for line in lines]
    else:
        lines = [rng.choice(("\ufeff", "", "#", " ", '"')) + lines[0], *lines[1:]]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _change_fields(rng: Random, line: str, separators: str) -> str:
    separator = max(separators, key=line.count)
    fields = line.split(separator)
    at = rng.randrange(len(fields))
    kind = rng.randrange(8)
    if kind <= 3:
        fields[at] = odd_text(rng)
    elif kind == 4:
        del fields[at]
    elif kind == 5:
        fields.insert(at, fields[rng.randrange(len(fields))])
    elif kind == 6:
        other = rng.randrange(len(fields))
        fields[at], fields[other] = fields[other], fields[at]
    else:
        fields[at] = rng.choice(("", '"', " ", "\x00")) + fields[at] + odd_text(rng)
    return separator.join(fields)


# JSON.


def mutate_json(rng: Random, data: bytes) -> bytes:
    """Change a JSON text's tree, and now and then its text."""
    if rng.random() < 0.2:
        return mutate_text(rng, data, ',:{}[]" ')
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_text(rng, data, ',:{}[]" ')
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        tree = mutate_tree(rng, tree)
    return _dump(rng, tree)


def mutate_json_lines(rng: Random, data: bytes) -> bytes:
    """Change one or more lines of JSON, each as a tree."""
    if rng.random() < 0.2:
        return mutate_text(rng, data, ',:{}[]" ')
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(lines))
        lines[at] = mutate_json(rng, lines[at])
    return b"\n".join(lines)


def mutate_tree(rng: Random, tree: Any) -> Any:
    """Return a tree of JSON values with one change somewhere."""
    if isinstance(tree, dict) and tree and rng.random() < 0.8:
        key = rng.choice(list(tree))
        kind = rng.randrange(10)
        if kind <= 5:
            return {**tree, key: mutate_tree(rng, tree[key])}
        if kind == 6:
            return {name: value for name, value in tree.items() if name != key}
        if kind == 7:
            return {(odd_text(rng) if name == key else name): value for name, value in tree.items()}
        if kind == 8:
            return {**tree, odd_text(rng): odd_value(rng)}
        return {**tree, key: tree[rng.choice(list(tree))]}
    if isinstance(tree, list) and tree and rng.random() < 0.8:
        at = rng.randrange(len(tree))
        kind = rng.randrange(8)
        if kind <= 4:
            return [*tree[:at], mutate_tree(rng, tree[at]), *tree[at + 1 :]]
        if kind == 5:
            return [*tree[:at], *tree[at + 1 :]]
        if kind == 6:
            return [*tree[:at], tree[at], *tree[at:]]
        return [*tree[:at], odd_value(rng), *tree[at:]]
    kind = rng.randrange(8)
    if kind == 0:
        return [tree]
    if kind == 1:
        return {"a": tree}
    if kind == 2 and isinstance(tree, str):
        return tree + odd_text(rng)
    if kind <= 4:
        return nudge(rng, tree)
    return odd_value(rng)


def nudge(rng: Random, value: Any) -> Any:
    """Return another value of the same type, which may be as valid."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, -value, 2 * value, 0, 1, 2, 3, 10, 100))
    if isinstance(value, float):
        return rng.choice((value / 2, -value, 2 * value, 0.0, 1.0, 0.5, 1e-300, 1e300))
    if isinstance(value, str) and value:
        at = rng.randrange(len(value))
        return rng.choice(
            (value[:at], value[at:], value.upper(), value[:at] + rng.choice("a1 :@/.,%=*{}é") + value[at:])
        )
    return odd_value(rng)


def odd_value(rng: Random) -> Any:
    """Return an odd JSON value."""
    return odd_text(rng) if rng.random() < 0.3 else rng.choice(ODD_VALUES)


def _dump(rng: Random, tree: Any) -> bytes:
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5)
    kind = rng.randrange(25)
    if kind == 0:
        text = text.replace("{", '{"a": 1, "a": 2, ', 1)
    elif kind == 1:
        deep = rng.choice((100, 1000, 20_000))
        text = _put(rng, text, "[" * deep + "]" * deep)
    elif kind == 2:
        deep = rng.choice((100, 1000, 20_000))
        text = _put(rng, text, '{"a":' * deep + "1" + "}" * deep)
    elif kind == 3:
        text = _put(rng, text, rng.choice(("NaN", "Infinity", "1e999", "1" * 5000, "-", "01", "1.", ".5", '"\\ud800"')))
    return text.encode("utf-8", "surrogatepass")


def _put(rng: Random, text: str, value: str) -> str:
    """Return a JSON text with one of its scalar values replaced."""
    places = [at for at, letter in enumerate(text) if letter in ":[" and at + 1 < len(text)]
    if not places:
        return value
    start = rng.choice(places) + 1
    ends = [end for end in (text.find(mark, start) for mark in ",]}") if end >= 0]
    return text[:start] + value + text[min(ends, default=len(text)) :]


# Compressed files.


def mutate_gzip(rng: Random, plain: bytes, change: Bytes) -> bytes:
    """Compress a changed text, or damage what is compressed."""
    if rng.random() < 0.6:
        return gzip.compress(change(rng, plain), 1, mtime=0)
    packed = gzip.compress(plain, 1, mtime=0)
    if rng.random() < 0.1:
        return gzip.compress(plain + b"\n" * (1 << (22 if rng.random() < 0.05 else 14)), 1, mtime=0)
    return mutate_bytes(rng, packed)


def mutate_zstd(rng: Random, plain: bytes, change: Bytes) -> bytes:
    """Compress a changed text, or damage what is compressed."""
    import zstandard

    if rng.random() < 0.6:
        return zstandard.compress(change(rng, plain), 1)
    if rng.random() < 0.1:
        return zstandard.compress(plain + b"\n" * (1 << (22 if rng.random() < 0.05 else 14)), 1)
    return mutate_bytes(rng, zstandard.compress(plain, 1))


# Parquet.


def mutate_parquet(rng: Random, data: bytes) -> bytes:
    """Write the table again with other columns, types, nulls or rows, or damage the bytes of pages and footer."""
    kind = rng.random()
    if kind < 0.45:
        import polars as pl

        try:
            frame = pl.read_parquet(io.BytesIO(data))
            file = io.BytesIO()
            change_frame(rng, frame).write_parquet(
                file, compression=rng.choice(("zstd", "snappy", "uncompressed", "gzip"))
            )
            return file.getvalue()
        except pl.exceptions.PolarsError:
            return mutate_bytes(rng, data)
    footer = int.from_bytes(data[-8:-4], "little") if len(data) > 12 else 0
    start = max(4, len(data) - 8 - footer)
    if kind < 0.7:
        return data[:start] + _same_length(rng, data[start:-8]) + data[-8:]
    if kind < 0.85:
        return _same_length(rng, data[:start]) + data[start:]
    if kind < 0.9:
        size = struct.pack(
            "<I", rng.choice((0, 1, footer - 1, footer + 1, len(data), 2**31 - 1, 2**31, 2**32 - 1)) & 0xFFFFFFFF
        )
        return data[:-8] + size + data[-4:]
    return mutate_bytes(rng, data)


def _same_length(rng: Random, data: bytes) -> bytes:
    """Overwrite some bytes: flips, and numbers that a reader takes for a size or a type."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if changed:
            at = rng.randrange(len(changed))
            changed[at] = rng.choice((changed[at] ^ (1 << rng.randrange(8)), 0, 0xFF, 0x7F, 0x80, rng.randrange(256)))
    return bytes(changed)


def change_frame(rng: Random, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with other columns, types, nulls or rows."""
    import polars as pl

    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(frame.columns) if frame.columns else ""
        kind = rng.randrange(9)
        if not frame.columns:
            return frame
        if kind <= 3:
            frame = frame.with_columns(_other_column(rng, frame[name]).alias(name))
        elif kind == 4:
            frame = frame.drop(name)
        elif kind == 5:
            taken = set(frame.columns)
            other = odd_text(rng)
            frame = frame.rename({name: other}) if other not in taken else frame
        elif kind == 6:
            frame = frame.head(rng.choice((0, 1, 2)))
        elif kind == 7:
            frame = pl.concat([frame, frame])
        else:
            frame = frame.with_columns(_other_column(rng, frame[name]).alias(odd_text(rng)))
    return frame


def _other_column(rng: Random, column: pl.Series) -> pl.Series:
    import polars as pl

    size = len(column)
    kind = rng.randrange(8)
    if kind == 0:
        types = (
            pl.String,
            pl.Int8,
            pl.UInt64,
            pl.Float32,
            pl.Float64,
            pl.Boolean,
            pl.Categorical,
            pl.Date,
            pl.Binary,
            pl.Null,
        )
        return column.cast(rng.choice(types), strict=False)
    if kind == 1:
        return pl.Series([None] * size, dtype=column.dtype)
    if kind == 2:
        keep = [rng.random() < 0.7 for _ in range(size)]
        return column.zip_with(pl.Series(keep, dtype=pl.Boolean), pl.Series([None] * size, dtype=column.dtype))
    if kind == 3:
        return pl.Series([[value] for value in column.to_list()], strict=False)
    if kind == 4:
        return pl.Series([[[value, None]] for value in column.to_list()], strict=False)
    if kind == 5:
        return pl.Series([{"a": value} for value in column.to_list()], strict=False)
    if kind == 6:
        odd = (float("nan"), float("inf"), -0.0, 1e308, 5e-324)
        return pl.Series([rng.choice(odd) for _ in range(size)], dtype=pl.Float64)
    texts = ("", " ", "\x00", "é", "x" * 300, "a", "nan", "1", "\u202e")
    return pl.Series([rng.choice(texts) for _ in range(size)], dtype=pl.String)


# Arrays.


def mutate_npy(rng: Random, data: bytes) -> bytes:
    """Change shape, type or order in the header of an array, or its bytes."""
    if rng.random() < 0.4 or len(data) < 12:
        return mutate_bytes(rng, data)
    if rng.random() < 0.3:
        return _other_array(rng)
    size = int.from_bytes(data[8:10], "little")
    header, rest = data[10 : 10 + size], data[10 + size :]
    shape = rng.choice(_SHAPES)
    kind = rng.randrange(4)
    if kind == 0:
        header = re.sub(rb"'shape': \([^)]*\)", b"'shape': " + shape, header)
    elif kind == 1:
        header = re.sub(rb"'descr': '[^']*'", b"'descr': " + rng.choice(_TYPES), header)
    elif kind == 2:
        header = header.replace(b"False", rng.choice((b"True", b"None", b"0", b"[]")))
    else:
        header = mutate_text(rng, header, " ,:'(){}")
    length = len(header) if rng.random() < 0.9 else rng.choice((0, 1, 65535, len(header) + 1))
    return data[:8] + (length & 0xFFFF).to_bytes(2, "little") + header + rest


_SHAPES = (
    b"(3,)", b"(0, 3)", b"(3, 0)", b"()", b"(-1, 2)", b"(99999999999, 9)", b"(2, 3, 1)", b"(1e9, 2)", b"[2, 3]",
    b"(True, 2)", b"None",
    b"(" * 200,
)  # fmt: skip
_TYPES = (
    b"'<f2'", b"'<f8'", b"'>f4'", b"'|O'", b"'<U8'", b"'|S4'", b"'|b1'", b"'<c16'", b"'<M8[s]'", b"'|V4'", b"'|u1'",
    b"'<U999999999'", b"[('a', '<f4')]", b"'x'", b"None", b"'<f4' * 9",
)  # fmt: skip


def _other_array(rng: Random) -> bytes:
    import numpy as np

    values: Any = rng.choice((
        np.zeros((3, 2)), np.full((3, 2), np.nan), np.full((3, 2), np.inf), np.array([[1e308, 1e308]] * 3),
        np.eye(3, dtype="f2"), np.array(["a", "b", "a"]), np.array([b"\xff", b"a", b""]), np.arange(3), np.array(5),
        np.empty((0, 4)), np.eye(3) > 0, np.array(["2024-01-01"] * 3, dtype="M8[D]"), np.array([["a", "b"]] * 3),
        np.eye(3) * 1j, np.array(["\x00", " ", ""]),
    ))  # fmt: skip
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def mutate_npz(rng: Random, data: bytes) -> bytes:
    """Change the members of a zip file of arrays, or its bytes."""
    if rng.random() < 0.4:
        return mutate_bytes(rng, data)
    members: list[tuple[str, bytes]] = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    at = rng.randrange(len(members))
    name, content = members[at]
    kind = rng.randrange(7)
    if kind <= 2:
        change = mutate_npy if name.endswith(".npy") else mutate_json
        members[at] = name, change(rng, content)
    elif kind == 3:
        del members[at]
    elif kind == 4:
        members.append((name if rng.random() < 0.3 else f"{odd_text(rng)}.npy", content))
    elif kind == 5:
        members[at] = rng.choice((odd_text(rng), "ids.npy", "x_ids.npy", "../x.npy", "ids", "rankjury.json")), content
    else:
        members.append((f"{rng.choice('xyz')}.npy", _other_array(rng)))
    file = io.BytesIO()
    with (
        warnings.catch_warnings(),
        zipfile.ZipFile(file, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as out,
    ):
        warnings.simplefilter("ignore")  # duplicate names are meant
        for name, content in members:
            out.writestr(zipfile.ZipInfo(name.encode("utf-8", "replace").decode() or "x"), content)
    return file.getvalue()


def mutate_safetensors(rng: Random, data: bytes) -> bytes:
    """Change the JSON header of tensors, or the bytes of the file."""
    if rng.random() < 0.4 or len(data) < 8:
        return mutate_bytes(rng, data)
    size = int.from_bytes(data[:8], "little")
    header = mutate_json(rng, data[8 : 8 + size])
    length = len(header) if rng.random() < 0.9 else rng.choice((0, 1, 2**31, 2**63, len(header) + 1))
    return length.to_bytes(8, "little") + header + data[8 + size :]


# TOML.


def mutate_toml(rng: Random, data: bytes, others: Sequence[dict[str, Any]] = ()) -> bytes:
    """Change values and keys of a TOML file, also to those of other files, and now and then its text."""
    if rng.random() < 0.15:
        return mutate_text(rng, data, ' =,[]."')
    tree: Any = tomllib.loads(data.decode())
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind = rng.random()
        if others and kind < 0.4:
            tree = _cross(rng, tree, rng.choice(others))
        else:
            tree = _nudge_leaf(rng, tree) if kind < 0.7 else mutate_tree(rng, tree)
    return dump_toml(tree).encode("utf-8", "replace")


def _nudge_leaf(rng: Random, tree: Any) -> Any:
    if isinstance(tree, dict) and tree:
        key = rng.choice(list(tree))
        return {**tree, key: _nudge_leaf(rng, tree[key])}
    if isinstance(tree, list) and tree:
        at = rng.randrange(len(tree))
        return [*tree[:at], _nudge_leaf(rng, tree[at]), *tree[at + 1 :]]
    return nudge(rng, tree)


def _cross(rng: Random, tree: Any, other: Any) -> Any:
    """Put a branch of another tree into this one: under the same key, or anywhere."""
    branches = list(_branches(other))
    key, value = rng.choice(branches) if branches else ("", None)
    return _put_branch(rng, tree, key, value)


def _put_branch(rng: Random, tree: Any, key: str, value: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if key in tree and rng.random() < 0.7:
        return {**tree, key: value}
    inner = [name for name, branch in tree.items() if isinstance(branch, dict)]
    if inner and rng.random() < 0.7:
        name = rng.choice(inner)
        return {**tree, name: _put_branch(rng, tree[name], key, value)}
    return {**tree, key: value}


def _branches(tree: Any) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items() if isinstance(tree, dict) else ():
        yield key, value
        yield from _branches(value)


def dump_toml(tree: Any) -> str:
    """Return a tree as TOML, nested tables inline; what TOML cannot hold is left out."""
    if not isinstance(tree, dict):
        return f"x = {_toml_value(tree)}\n"
    return "".join(
        f"{_toml_text(str(key))} = {_toml_value(value)}\n" for key, value in tree.items() if value is not None
    )


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{_toml_text(str(key))} = {_toml_value(one)}" for key, one in value.items() if one is not None)
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(_toml_value(one) for one in value if one is not None) + "]"
    if isinstance(value, int | float):
        return str(value) if not isinstance(value, int) or abs(value) < 10**4000 else "0"
    return _toml_text(str(value))


def _toml_text(text: str) -> str:
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")


# Any file, by its name.


def mutate_file(rng: Random, name: str, data: bytes) -> bytes:
    """Change a file in the way of the format that its name says."""
    stem, _, suffix = name.lower().rpartition(".")
    if suffix == "gz":
        return mutate_gzip(rng, gzip.decompress(data), _of_name(stem))
    if suffix == "zst":
        import zstandard

        return mutate_zstd(rng, zstandard.decompress(data), _of_name(stem))
    if rng.random() < 0.02:
        return b"" if rng.random() < 0.5 else odd_text(rng).encode()
    return _BY_SUFFIX.get(suffix, mutate_text)(rng, data)


def _of_name(name: str) -> Bytes:
    return lambda rng, data: mutate_file(rng, name, data)


_BY_SUFFIX: dict[str, Bytes] = {
    "json": mutate_json,
    "jsonl": mutate_json_lines,
    "ndjson": mutate_json_lines,
    "parquet": mutate_parquet,
    "pq": mutate_parquet,
    "npy": mutate_npy,
    "npz": mutate_npz,
    "safetensors": mutate_safetensors,
    "toml": mutate_toml,
}
