"""What is to be read: a path, or standard input; compressed or not."""

import io
import mmap
import sys
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import polars as pl

from karat.errors import DataError
from karat.formats.unpacking import check_zstd, gunzip, gunzip_head
from karat.guard import guard_reading

__all__ = ["COMPRESSIONS", "Packing", "Source", "plain_suffix"]

Packing = Literal["uncompressed", "gzip", "zstd"]
COMPRESSIONS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_OTHER_PACKINGS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_PICKLE_SUFFIXES = {
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), "pickle"),
    **dict.fromkeys((".pt", ".pth"), "torch"),
}
_HEAD_BYTES = 1 << 16
_HEAD_LINES = 50


def plain_suffix(name: str) -> str:
    """The suffix in lower case, one of compression left aside: ``.csv`` of ``run.CSV.gz``."""
    path = Path(name.lower())
    return path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix


@dataclass(frozen=True)
class Source:
    """Bytes with a name. Nothing is read before it is asked for."""

    name: str
    path: Path | None
    held: bytes | None = None

    @classmethod
    def open(cls, given: str | Path) -> "Source":
        """From a path, or ``-`` for standard input; checked to be there and not empty."""
        if str(given) == "-":
            held = sys.stdin.buffer.read()
            if not held.strip():
                raise DataError("found nothing", where="standard input", expected="at least one line")
            return cls("standard input", None, held)
        path = Path(given)
        if any("\ud800" <= letter <= "\udfff" for letter in str(path)):
            raise DataError(
                "the name of the file is not UTF-8", where=str(path), hint="Rename it, or set PYTHONUTF8=1."
            )
        try:
            return cls(str(path), path, _checked(path))
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", where=str(path)) from error

    @property
    def system(self) -> str:
        """The file's stem, by which a system is called."""
        if self.path is None:
            return "stdin"
        name = self.path.name
        for suffix in reversed(self.path.suffixes):
            if suffix.lower() in COMPRESSIONS or suffix.lower() == plain_suffix(self.path.name):
                name = name.removesuffix(suffix)
        return name or self.path.name

    @cached_property
    def polars(self) -> Path | bytes:
        """What Polars' readers take: the file, or its bytes; gzip decompressed, as far as the limit allows."""
        if self.compression == "gzip":
            try:
                return gunzip(self.content, self.name)
            except (zlib.error, EOFError) as error:
                raise self.damaged(error) from error
        stored = self.path if self.path is not None and self.held is None else self.content
        if self.compression == "zstd":
            check_zstd(stored, self.name)
        return stored

    @cached_property
    def content(self) -> bytes:
        """The bytes as they are stored."""
        if self.held is not None or self.path is None:
            return self.held or b""
        return self.path.read_bytes()

    def mapped(self) -> bytes | mmap.mmap:
        """Return the bytes as they are stored, without a copy where they are in a file."""
        if self.path is None or self.held is not None:
            return self.content
        with self.path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    @cached_property
    def compression(self) -> str | None:
        start = self._start(4)
        return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)

    @property
    def begins_with_mark(self) -> bool:
        """Whether a byte order mark stands before everything."""
        return self._start(3) == b"\xef\xbb\xbf"

    def _start(self, size: int) -> bytes:
        if self.path is None or self.held is not None:
            return self.content[:size]
        with self.path.open("rb") as file:
            return file.read(size)

    def lines(self) -> pl.Series:
        """All lines, decompressed, without their ends; a byte order mark is dropped."""
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
        """The whole text, decompressed."""
        if self.compression == "zstd":
            return "\n".join(self.lines())
        with guard_reading(self.name):
            octets = self.polars if isinstance(self.polars, bytes) else self.content
            try:
                return octets.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise self.undecodable() from error

    @cached_property
    def head(self) -> str:
        """The first lines, for telling the format."""
        if self.compression == "zstd":
            return "\n".join(self._read_lines(_HEAD_LINES)).removeprefix("\ufeff")
        start = self._start(_HEAD_BYTES)
        if self.compression == "gzip":
            try:
                start = gunzip_head(start, _HEAD_BYTES)
            except zlib.error as error:
                raise self.damaged(error) from error
        if start[:2] in _OTHER_ENCODINGS:
            raise self.undecodable()
        return start.decode("utf-8-sig", errors="replace")

    @property
    def head_lines(self) -> list[str]:
        """The first lines that hold anything, without their ends."""
        return [line.removesuffix("\r") for line in self.head.split("\n") if line.strip()]

    def is_parquet(self) -> bool:
        return self._start(4) == b"PAR1"

    @cached_property
    def pickle_kind(self) -> str | None:
        """``pickle`` or ``torch`` for files that hold pickled objects, by their content or suffix; else None."""
        start = self._start(4)
        if start == b"PK\x03\x04":
            try:
                held = self.path if self.path is not None and self.held is None else io.BytesIO(self.content)
                with zipfile.ZipFile(held) as archive:
                    if any(name.endswith("data.pkl") for name in archive.namelist()):
                        return "torch"
            except (zipfile.BadZipFile, OSError):
                pass
        elif start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
            return _PICKLE_SUFFIXES.get(plain_suffix(self.name), "pickle")
        return _PICKLE_SUFFIXES.get(plain_suffix(self.name))

    def refuse_pickle(self, kind: str) -> None:
        """Refuse pickled objects, with the line that converts them; ``kind`` is ``vectors``, ``gold`` or ``run``."""
        if self.pickle_kind is None:
            return
        path = Path(self.name)
        load = {
            "torch": f"import torch; d = torch.load({self.name!r}, weights_only=True)",
            "pickle": f"import pickle; d = pickle.load(open({self.name!r}, 'rb'))",
        }[self.pickle_kind]
        matrix = ""
        target = str(path.with_suffix({"vectors": ".npz"}.get(kind, ".json")))
        if kind != "vectors":
            shape, save = "{query: {item: number}}", f"import json; json.dump(d, open({target!r}, 'w'), default=float)"
        else:
            plain = ".detach().float().cpu().numpy()" if self.pickle_kind == "torch" else ""
            stack = "torch" if self.pickle_kind == "torch" else "np"
            vectors = f"{stack}.stack(list(d.values())){plain}"
            shape = "{id: vector}"
            matrix = f" If it is a matrix, end with np.save({str(path.with_suffix('.npy'))!r}, d{plain})."
            save = f"import numpy as np; np.savez({target!r}, ids=np.array(list(d), dtype=str), vectors={vectors})"
        raise DataError(
            "the file holds pickled Python objects, which can run code when they are opened",
            where=self.name,
            expected="vectors in .npz, .npy, .safetensors, .parquet or .json"
            if kind == "vectors"
            else f"a {kind} as TREC, JSON, JSONL, CSV or Parquet",
            hint=f'If you trust the file and it is a dict {shape}, convert it: python -c "{load}; {save}".{matrix}',
        )

    def damaged(self, error: Exception) -> DataError:
        kind = self.compression or "data"
        return DataError(
            f"the {kind} stream is damaged or cut short ({error})",
            where=self.name,
            expected=f"a whole {kind} file",
            hint="Was the download or the copy interrupted?",
        )

    def undecodable(self) -> DataError:
        """The error for text that is not UTF-8, naming the first line where it goes wrong."""
        data = b"" if self.compression == "zstd" else self.polars
        data = data if isinstance(data, bytes) else self.content
        packed = next((name for magic, name in _OTHER_PACKINGS.items() if data.startswith(magic)), None)
        if packed:
            return DataError(
                f"the file is packed with {packed}",
                where=self.name,
                expected="plain text, .gz or .zst",
                hint="Unpack it.",
            )
        encoding = _OTHER_ENCODINGS.get(data[:2])
        if encoding:
            found, where = f"the text is {encoding}", self.name
        else:
            line = _first_bad_line(data)
            found, where = "found bytes that are not UTF-8 text", f"{self.name}:{line}" if line else self.name
        return DataError(found, where=where, expected="UTF-8", hint="Convert it, for example with iconv -t utf-8.")


def _checked(path: Path) -> bytes | None:
    """Refuses what is not there, a folder, or empty; what is no plain file, such as a pipe, is read at once."""
    if path.is_dir():
        raise DataError("found a folder", where=str(path), expected="a file")
    if not path.exists():
        raise DataError("no such file", where=str(path), hint="Check the path; standard input is -.")
    held = None if path.is_file() else path.read_bytes()
    if not (path.stat().st_size if held is None else held):
        raise DataError("the file is empty", where=str(path), expected="at least one line")
    if held is None:
        path.open("rb").close()
    return held


def _first_bad_line(data: bytes) -> int | None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1
    return None
