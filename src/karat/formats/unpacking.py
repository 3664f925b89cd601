"""Decompression with a limit, so that a small file cannot exhaust the memory.

gzip says nothing reliable about the size of its content, so it is decompressed here, and no further than the limit.
zstd is left to Polars: no block of it becomes more than 128 kB, so its headers tell what the content is at most.
"""

import zlib
from pathlib import Path

from karat.errors import DataError
from karat.memory import in_units, most_unpacked

__all__ = ["check_zstd", "gunzip", "gunzip_head", "refuse_size"]

_GZIP = 31
"""zlib's number for a gzip header and the largest window."""
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC, _SKIPPED_MAGIC = b"\x28\xb5\x2f\xfd", range(0x184D2A50, 0x184D2A60)
_BLOCK = 128 << 10
_RAW, _REPEATED = 0, 1
_WITH_CHECKSUM, _ONE_SEGMENT = 0x04, 0x20
_DICTIONARY_SIZES, _CONTENT_SIZES = (0, 1, 2, 4), (0, 2, 4, 8)


def gunzip(content: bytes, where: str) -> bytes:
    """Return what was compressed, all members of it; zeros behind the last one are padding.

    Raises:
        DataError: It becomes more than ``karat.memory.most_unpacked`` allows.
        zlib.error, EOFError: It is damaged, or cut short.
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
            raise zlib.error("found something else behind the compressed data")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def gunzip_head(start: bytes, size: int) -> bytes:
    """Return the first bytes of what was compressed, from the first bytes of the file."""
    return zlib.decompressobj(_GZIP).decompress(start, size)


def check_zstd(given: Path | bytes, where: str) -> None:
    """Refuse a zstd file that may become more than ``karat.memory.most_unpacked`` allows; damage is left to Polars."""
    content = given if isinstance(given, bytes) else given.read_bytes()
    most = most_unpacked(len(content))
    if len(content) // 4 * _BLOCK > most and _most_of_zstd(content) > most:
        refuse_size(where, "zstd", most)


def _most_of_zstd(content: bytes) -> int:
    """Return the size of the content at most: that of each block, which is 128 kB where it was compressed."""
    place = found = 0
    while place + 8 <= len(content):
        if int.from_bytes(content[place : place + 4], "little") in _SKIPPED_MAGIC:
            place += 8 + int.from_bytes(content[place + 4 : place + 8], "little")
            continue
        if not content.startswith(_ZSTD_MAGIC, place):
            break
        head = content[place + 4]
        one_segment = bool(head & _ONE_SEGMENT)
        sizes = 1 if one_segment and not head >> 6 else _CONTENT_SIZES[head >> 6]
        place += 5 + (not one_segment) + _DICTIONARY_SIZES[head & 3]
        told = int.from_bytes(content[place : place + sizes], "little") + (256 if sizes == 2 else 0) if sizes else None
        place += sizes
        blocks, last = 0, False
        while not last and place + 3 <= len(content):
            block = int.from_bytes(content[place : place + 3], "little")
            last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
            place += 3 + (1 if kind == _REPEATED else size)
            blocks += size if kind in (_RAW, _REPEATED) else _BLOCK
        found += blocks if told is None else min(blocks, told)
        place += 4 if head & _WITH_CHECKSUM else 0
    return found


def refuse_size(where: str, kind: str, most: int) -> None:
    """Raise the error for a compressed file that becomes too large."""
    raise DataError(
        f"the {kind} data becomes more than {in_units(most)} when it is decompressed",
        where=where,
        expected="at most 256 MB, or 100 times the size of the file and half of the free memory",
        hint="If the file is as it should be, decompress it yourself and give the result.",
    )
