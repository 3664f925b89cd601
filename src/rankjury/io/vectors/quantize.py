"""Quantization and truncation of vectors, and the codes in which files store them.

The values of a variant are ready to be compared, whatever the file stores: an int8 code is decoded to the code times
the scale, a bit to +1 or −1.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankjury.core.types import Floats, Matrix, Vectors, cut_rows
from rankjury.errors import DataError, UnknownName, UsageError

DTYPES = ("float64", "float32", "float16", "int8", "binary")
_ROWS_AT_ONCE = 1 << 12


@dataclass(frozen=True, eq=False)
class Quantized:
    """Matrix as stored in a file: floats, whole numbers up to 127, or eight signs per byte."""

    array: NDArray[np.generic]
    dtype: str
    dimensions: int
    scale: float | None = None
    """Factor by which int8 codes are multiplied."""


def vary(vectors: Vectors, *, truncate: int | None = None, dtype: str | None = None) -> Vectors:
    """Return a variant of the vectors: truncated to the first ``truncate`` dimensions, then quantized to ``dtype``.

    If all rows had length one, they are normalised again after the truncation, as is usual for Matryoshka models.
    float16 rounds; int8 rounds to 255 steps, with one scale for the whole matrix; binary keeps the sign of each number
    (zero counts as positive). Zero rows stay zero.
    """
    if truncate is not None and not 1 <= truncate <= vectors.dimensions:
        found, expected = f"cannot keep the first {truncate:,} dimensions", f"a number from 1 to {vectors.dimensions:,}"
        raise UsageError(found, where=vectors.source, expected=expected)
    if dtype is not None and dtype not in DTYPES:
        raise UnknownName("dtype", dtype, DTYPES)
    values = vectors.values
    if truncate is not None and truncate < vectors.dimensions:
        cut = np.ascontiguousarray(values[:, :truncate])
        values = normalised(cut) if are_units(values) else cut
    if dtype is not None:
        values = decode(encode(values, dtype, where=vectors.source))
    steps = [*([] if truncate is None else [f"first {truncate}"]), *([] if dtype is None else [dtype])]
    return replace(vectors, values=values, source=f"{vectors.source} ({', '.join(steps)})" if steps else vectors.source)


def are_units(values: Matrix) -> bool:
    """Return whether every row has length one, to the precision of 16 bits; zero rows are ignored."""
    lengths = _lengths(values)
    return bool((lengths > 0).any() and (np.abs(lengths[lengths > 0] - 1.0) <= 1e-3).all())


def normalised(values: Matrix) -> Matrix:
    """Return rows of length one, of the same dtype; zero rows stay zero."""
    units = np.empty_like(values)
    for first, last in cut_rows(len(values), _ROWS_AT_ONCE):
        lengths = _lengths(values[first:last])
        units[first:last] = values[first:last] / np.where(lengths > 0, lengths, 1.0)[:, None]
    return units


def widened(values: Matrix) -> Matrix:
    """Convert float16 to float32, as float16 is too coarse for rows of length one."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


def encode(values: Matrix, dtype: str, *, where: str = "vectors") -> Quantized:
    """Return the numbers as codes for a file."""
    dimensions = int(values.shape[1])
    if dtype == "binary":
        return Quantized(np.packbits(values >= 0, axis=1), dtype, dimensions)
    if dtype == "int8":
        scale = _scale_of(values, where)
        codes = np.empty(values.shape, np.int8)
        for first, last in cut_rows(len(values), _ROWS_AT_ONCE):
            codes[first:last] = np.rint(values[first:last] / np.float64(scale))
        return Quantized(codes, dtype, dimensions, scale)
    if dtype not in DTYPES:
        raise UnknownName("dtype", dtype, DTYPES)
    largest, limit = _largest(values), np.finfo(np.dtype(dtype)).max
    if largest > float(limit):
        found, hint = (
            f"found numbers up to {largest:.3g}, too large for {dtype}",
            "Normalise the vectors first.",
        )
        raise DataError(found, where=where, expected=f"at most {limit:.5g}", hint=hint)
    return Quantized(values.astype(np.dtype(dtype), copy=False), dtype, dimensions)


def decode(codes: Quantized) -> Matrix:
    """Return the numbers that the codes represent."""
    array = codes.array
    if codes.dtype == "binary":
        signs = np.unpackbits(array.astype(np.uint8, copy=False), axis=1, count=codes.dimensions)
        return signs.astype(np.float32) * np.float32(2) - np.float32(1)
    if codes.dtype == "int8":
        return array.astype(np.float32) * np.float32(1.0 if codes.scale is None else codes.scale)
    return array.astype(np.dtype(codes.dtype), copy=False)


def _scale_of(values: Matrix, where: str) -> float:
    """Return the largest number over 127, rounded up to a float32 whose multiples up to 127 are exact."""
    largest = _largest(values)
    if largest == 0.0:
        return 1.0
    if not 1e-30 < largest < 1e38:
        found = f"the largest number is {largest:.3g}, which int8 cannot scale"
        raise DataError(found, where=where, expected="one between 1e-30 and 1e+38")
    # 16 bits, with the 7 of a code, fit the 24 of a float32, so that scale × code is exact.
    fraction, exponent = math.frexp(largest / 127)
    return math.ldexp(math.ceil(math.ldexp(fraction, 16)), exponent - 16)


def _largest(values: Matrix) -> float:
    return max(float(values.max(initial=0)), -float(values.min(initial=0)))


def _lengths(values: Matrix) -> Floats:
    lengths = np.empty(len(values))
    for first, last in cut_rows(len(values), _ROWS_AT_ONCE):
        block = values[first:last].astype(np.float64, copy=False)
        with np.errstate(over="ignore"):
            lengths[first:last] = np.sqrt(np.vecdot(block, block))
    return lengths
