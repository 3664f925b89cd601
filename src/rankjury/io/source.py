"""Input sources: a path or standard input, decompressed with a memory limit.

gzip does not state the size of its content reliably, so it is decompressed here, up to the limit. zstd is left to
Polars: its blocks are at most 128 kB, so their headers give an upper bound of the size.
"""

import csv
import io
import mmap
import os
import sys
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal

import polars as pl

from rankjury.core.columns import looks_like_header
from rankjury.errors import DataError, guard_reading

SEPARATORS = ",\t;|"
_MIN_LIMIT = 256_000_000
"""Decompressed bytes that are allowed for any file."""


def most_unpacked(packed: int) -> int:
    """Return the maximum decompressed size for a compressed file of this size.

    256 MB are always allowed; beyond that, 100 times the size of the file, and at most half of the free memory. Runs
    and tables compress 3 to 50 times; a file made to exhaust memory, 1,000 times.
    """
    allowed = 100 * packed
    return _MIN_LIMIT if allowed <= _MIN_LIMIT else max(_MIN_LIMIT, min(allowed, available_memory() // 2))


def in_units(size: float) -> str:
    """Format a size as ``512 MB`` or ``2.5 GB``."""
    for unit, worth in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= worth:
            return f"{size / worth:.3g} {unit}"
    return f"{size:.0f} B"


def available_memory() -> int:
    """Return the bytes that this process may still allocate: limited by the machine, and by the container if any."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024
    second, first = ("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")
    for names in (second, first):  # of control groups, versions 2 and 1
        with suppress(OSError, ValueError):
            limit, used = (int(Path("/sys/fs/cgroup", name).read_text()) for name in names)
            free = min(free, max(limit - used, 0))
    return free


_GZIP = 31
"""zlib's number for a gzip header and the largest window."""
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC, _SKIPPED_MAGIC = b"\x28\xb5\x2f\xfd", range(0x184D2A50, 0x184D2A60)
_BLOCK = 128 << 10
_RAW, _REPEATED = 0, 1


def gunzip(content: bytes, where: str) -> bytes:
    """Return the decompressed content of all members, up to ``most_unpacked``; zeros at the end are padding.

    A damaged file raises zlib.error, a truncated one EOFError.
    """
    most, size, parts, rest = most_unpacked(len(content)), 0, [], content
    while rest:
        member = zlib.decompressobj(_GZIP)
        parts.append(member.decompress(rest, most - size + 1))
        size += len(parts[-1])
        if size > most:
            refuse_size(where, "gzip", most)
        if not member.eof:
            raise EOFError("its end is missing")
        rest = member.unused_data.lstrip(b"\0")
        if rest and not rest.startswith(_GZIP_MAGIC):
            raise zlib.error("found other data after the compressed data")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _max_zstd_size(content: bytes) -> int:
    """Return an upper bound of the decompressed size; a compressed block counts as 128 kB."""
    place = total = 0
    while place + 8 <= len(content):
        if int.from_bytes(content[place : place + 4], "little") in _SKIPPED_MAGIC:
            place += 8 + int.from_bytes(content[place + 4 : place + 8], "little")
            continue
        if not content.startswith(_ZSTD_MAGIC, place):
            break
        head = content[place + 4]
        one_segment = bool(head & 0x20)
        sizes = 1 if one_segment and not head >> 6 else (0, 2, 4, 8)[head >> 6]
        place += 5 + (not one_segment) + (0, 1, 2, 4)[head & 3]  # dictionary id
        declared = int.from_bytes(content[place : place + sizes], "little") + (256 if sizes == 2 else 0)
        place += sizes
        blocks, last = 0, False
        while not last and place + 3 <= len(content):
            block = int.from_bytes(content[place : place + 3], "little")
            last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
            place += 3 + (1 if kind == _REPEATED else size)
            blocks += size if kind in (_RAW, _REPEATED) else _BLOCK
        total += min(blocks, declared) if sizes else blocks
        place += 4 if head & 0x04 else 0  # checksum
    return total


def refuse_size(where: str, kind: str, most: int) -> None:
    """Raise the error for a compressed file whose content is too large."""
    found = f"the {kind} data is more than {in_units(most)} when decompressed"
    expected = "at most 256 MB, or 100 times the size of the file and half of the free memory"
    hint = "If the file is correct, decompress it yourself and use the result."
    raise DataError(found, where=where, expected=expected, hint=hint)


Packing = Literal["uncompressed", "gzip", "zstd"]
COMPRESSIONS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}
_OTHER_PACKINGS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}
_NUMPY_MAGIC = b"\x93NUMPY"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PICKLE_SUFFIXES = dict.fromkeys((".pkl", ".pickle", ".joblib"), "pickle") | dict.fromkeys((".pt", ".pth"), "torch")
_HEAD_BYTES = 1 << 16
_MOST_NAMES = 10_000
"""Files of a folder that are compared with the name of a missing file: in a larger one that would take seconds."""


def plain_suffix(name: str) -> str:
    """Return the suffix in lower case, without that of a compression: ``.csv`` for ``run.CSV.gz``."""
    path = Path(name.lower())
    return path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix


@dataclass(frozen=True)
class Source:
    """Named bytes of a file or stream, read on demand."""

    name: str
    path: Path | None
    data: bytes | None = None
    """The stored bytes if they are in memory: of standard input or of a pipe."""

    @classmethod
    def open(cls, given: str | Path) -> "Source":
        """Return the source at a path, or standard input for ``-``; it must exist and not be empty."""
        if str(given) == "-":
            data = sys.stdin.buffer.read()
            if not data.strip():
                raise DataError("no input", where="standard input", expected="at least one line")
            return cls("standard input", None, data)
        path = Path(given)
        where = str(path)
        if any("\ud800" <= letter <= "\udfff" for letter in where):
            raise DataError("the file name is not UTF-8", where=where, hint="Rename it, or set PYTHONUTF8=1.")
        try:
            if path.is_dir():
                raise DataError("found a folder", where=where, expected="a file", hint=_file_within(path))
            if not path.exists():
                raise DataError("no such file", where=where, hint=_nearest_file(path))
            source = cls(where, path, None if path.is_file() else path.read_bytes())
            if not (path.stat().st_size if source.data is None else source.data):
                raise DataError("the file is empty", where=where, expected="at least one line")
            source.stream().close()
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", where=where) from error
        return source

    @property
    def file(self) -> Path | None:
        """The file to read from; None if the bytes are in memory."""
        return self.path if self.data is None else None

    def stream(self) -> BinaryIO:
        """Open the stored bytes."""
        return io.BytesIO(self.content) if self.file is None else self.file.open("rb")

    @property
    def system(self) -> str:
        """The system's name: the stem of the file name."""
        if self.path is None:
            return "stdin"
        name = self.path.name
        for suffix in reversed(self.path.suffixes):
            if suffix.lower() in (*COMPRESSIONS, plain_suffix(self.path.name)):
                name = name.removesuffix(suffix)
        return name or self.path.name

    @cached_property
    def polars(self) -> Path | bytes:
        """Input for Polars' readers: the file, or its bytes; gzip is decompressed, up to the limit.

        A zstd file that may become too large is refused; other damage is detected by Polars.
        """
        if self.compression == "gzip":
            try:
                return gunzip(self.content, self.name)
            except (zlib.error, EOFError) as error:
                raise self.damaged(error) from error
        if self.compression == "zstd":
            with self.stream() as file:
                content = file.read()
            most = most_unpacked(len(content))
            if len(content) // 4 * _BLOCK > most and _max_zstd_size(content) > most:
                refuse_size(self.name, "zstd", most)
        return self.file or self.content

    @cached_property
    def content(self) -> bytes:
        """The stored bytes, still compressed."""
        return self.file.read_bytes() if self.file else self.data or b""

    @property
    def _octets(self) -> bytes:
        """The bytes of the text; zstd stays compressed."""
        return self.polars if isinstance(self.polars, bytes) else self.content

    def mapped(self) -> bytes | mmap.mmap:
        """Return the stored bytes, without a copy if they are in a file."""
        if self.file is None:
            return self.content
        with self.file.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    @cached_property
    def compression(self) -> str | None:
        start = self._start(4)
        return "gzip" if start.startswith(_GZIP_MAGIC) else "zstd" if start == _ZSTD_MAGIC else None

    @property
    def begins_with_mark(self) -> bool:
        """Whether the text begins with a byte order mark."""
        return self._start(3) == b"\xef\xbb\xbf"

    def _start(self, size: int) -> bytes:
        with self.stream() as file:
            return file.read(size)

    def lines(self) -> pl.Series:
        """Return all lines, decompressed, without line ends and byte order mark."""
        lines = self._read_lines()
        if len(lines) and lines[0].startswith("\ufeff"):
            lines = pl.concat([lines.head(1).str.strip_prefix("\ufeff"), lines.slice(1)])
        return lines

    def _read_lines(self, most: int | None = None) -> pl.Series:
        with guard_reading(self.name, self.compression):
            try:
                return pl.read_lines(self.polars, n_rows=most, glob=False)["line"]
            except OSError as error:
                raise self.damaged(error) from error
            except pl.exceptions.ComputeError as error:
                raise self.undecodable() from error

    def text(self) -> str:
        """Return the whole text, decompressed."""
        if self.compression == "zstd":
            return "\n".join(self.lines())
        with guard_reading(self.name):
            try:
                return self._octets.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise self.undecodable() from error

    @cached_property
    def head(self) -> str:
        """The first lines, from which the format is detected."""
        if self.compression == "zstd":
            return "\n".join(self._read_lines(50)).removeprefix("\ufeff")
        start = self._start(_HEAD_BYTES)
        if self.compression == "gzip":
            try:
                start = zlib.decompressobj(_GZIP).decompress(start, _HEAD_BYTES)
            except zlib.error as error:
                raise self.damaged(error) from error
        if start[:2] in _UTF_16_MARKS or start.startswith(b"PK\x03\x04"):
            raise self.undecodable()
        return start.decode("utf-8-sig", errors="replace")

    @property
    def head_lines(self) -> list[str]:
        """The first lines that are not blank, without line ends."""
        return [line.removesuffix("\r") for line in self.head.split("\n") if line.strip()]

    def is_parquet(self) -> bool:
        return self._start(4) == b"PAR1"

    @cached_property
    def pickle_kind(self) -> str | None:
        """``pickle`` or ``torch`` for files of pickled objects, detected by content or suffix; else None."""
        start = self._start(4)
        if start == b"PK\x03\x04":
            try:
                with self.stream() as file, zipfile.ZipFile(file) as archive:
                    if any(name.endswith("data.pkl") for name in archive.namelist()):
                        return "torch"
            except (zipfile.BadZipFile, OSError):
                pass
        elif start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
            return _PICKLE_SUFFIXES.get(plain_suffix(self.name), "pickle")
        return _PICKLE_SUFFIXES.get(plain_suffix(self.name))

    def refuse_pickle(self, kind: str) -> None:
        """Refuse pickled objects, with the command that converts them; ``kind`` is ``vectors``, ``gold`` or ``run``."""
        if self.pickle_kind is None:
            return
        path, is_torch, matrix = Path(self.name), self.pickle_kind == "torch", ""
        load = f"import pickle; d = pickle.load(open({self.name!r}, 'rb'))"
        if is_torch:
            load = f"import torch; d = torch.load({self.name!r}, weights_only=True)"
        if kind == "vectors":
            shape, expected = "{id: vector}", "vectors in .npz, .npy, .safetensors, .parquet or .json"
            target, plain = str(path.with_suffix(".npz")), ".detach().float().cpu().numpy()" if is_torch else ""
            vectors = f"{'torch' if is_torch else 'np'}.stack(list(d.values())){plain}"
            save = f"import numpy as np; np.savez({target!r}, ids=np.array(list(d), dtype=str), vectors={vectors})"
            matrix = f" If it is a matrix, end the command with np.save({str(path.with_suffix('.npy'))!r}, d{plain})."
        else:
            shape, expected = "{query: {item: number}}", f"a {kind} as TREC, JSON, JSONL, CSV or Parquet"
            save = f"import json; json.dump(d, open({str(path.with_suffix('.json'))!r}, 'w'), default=float)"
        found = "the file holds pickled Python objects, which can run code when opened"
        hint = f'If you trust the file and it is a dict {shape}, convert it: python -c "{load}; {save}".{matrix}'
        raise DataError(found, where=self.name, expected=expected, hint=hint)

    def damaged(self, error: Exception) -> DataError:
        kind = self.compression or "data"
        found, expected = f"the {kind} stream is damaged or truncated ({error})", f"a whole {kind} file"
        return DataError(found, where=self.name, expected=expected, hint="Was the download or the copy interrupted?")

    def undecodable(self) -> DataError:
        """Return the error for text that is not UTF-8, naming the first invalid line."""
        data = b"" if self.compression == "zstd" else self._octets
        if data.startswith(_NUMPY_MAGIC) or plain_suffix(self.name) in (".npz", ".safetensors"):
            hint = f"To rank them: rankjury neighbours {self.name} -o run.trec"
            return DataError("this is a file of vectors", where=self.name, expected="a text file or Parquet", hint=hint)
        packed = next((name for magic, name in _OTHER_PACKINGS.items() if data.startswith(magic)), None)
        if packed:
            found, expected = f"the file is compressed with {packed}", "plain text, .gz or .zst"
            hint = "Decompress it."
            if packed == "zip" and b"xl/workbook.xml" in data:
                found, expected, hint = "this is an Excel file", "CSV", "Save the sheet as CSV."
            return DataError(found, where=self.name, expected=expected, hint=hint)
        fault, where = "found bytes that are not UTF-8 text", self.name
        if data[:2] in _UTF_16_MARKS:
            fault = "the text is UTF-16"
        else:
            try:
                data.decode("utf-8")
            except UnicodeDecodeError as error:
                line = data.count(b"\n", 0, error.start) + 1
                where = f"{self.name}:{line}"
        return DataError(fault, where=where, expected="UTF-8", hint="Convert it, for example with iconv -t utf-8.")


def _nearest_file(path: Path) -> str:
    """Return the hint for a path that does not exist: the file of that folder with the most similar name."""
    folder = path.parent
    if not folder.is_dir():
        return f"The folder {folder} does not exist either."
    names = [entry.name for entry in islice(folder.iterdir(), _MOST_NAMES) if entry.is_file()]
    near = get_close_matches(path.name, names, n=1, cutoff=0.8)
    return f"Did you mean {folder / near[0]}?" if near else "Check the path."


def _file_within(folder: Path) -> str | None:
    """Return the hint for a folder where a file is expected, such as a data set of BEIR: its judgments."""
    judged = sorted(
        (*folder.glob("qrels/*.tsv"), *folder.glob("test.tsv")), key=lambda path: (path.stem != "test", path.name)
    )
    return f"Did you mean {judged[0]}?" if judged else None


def separator_of(header: str) -> str | None:
    """Return the separator that makes this line a header with a query and an item column; None if there is none."""
    return next((separator for separator in SEPARATORS if looks_like_header(cells_of(header, separator))), None)


def cells_of(line: str, separator: str) -> list[str]:
    """Return the cells of one line, without quotes."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a carriage return within the line
        return []
