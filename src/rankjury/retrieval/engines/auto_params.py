"""Build parameters that hang on the corpus: how many lists, parts and codes suit it, and which cannot be had."""

from rankjury.errors import ImpossibleSetting

_POINTS_FOR_A_LIST = 39
"""Below this many vectors a list FAISS would warn that too few are there to learn from."""
_POINTS_FOR_A_CODE = 4
_MOST_BITS = 8


def resolve_lists(n: int, given: int, name: str, usual: int | None = None) -> int:
    """Lists for n vectors: those given, or ``usual``, or about 4·√n, fewer where there would be few vectors in each."""
    if given > max(n, 1):
        raise ImpossibleSetting(
            f"{name} is {given:,} and the corpus holds {n:,} vectors", expected=f"at most {n:,} lists"
        )
    return given or usual or max(1, min(round(4 * n**0.5), n // _POINTS_FOR_A_LIST))


def resolve_parts(dimensions: int, given: int, name: str, numbers: int) -> int:
    """Parts that a vector is cut into: those given, or as many as have at least so many ``numbers`` each."""
    divisors = [parts for parts in range(1, dimensions + 1) if dimensions % parts == 0]
    if given and given not in divisors:
        near = sorted(sorted(divisors, key=lambda parts: abs(parts - given))[:3])
        raise ImpossibleSetting(
            f"{name} is {given}, which does not divide {dimensions} dimensions",
            expected=f"a divisor, such as {', '.join(map(str, near))}",
        )
    return given or max(parts for parts in divisors if parts <= max(1, dimensions // numbers))


def resolve_bits(n: int, given: int, name: str) -> int:
    """Bits of a part's code: those given, or eight, or fewer where there would be few vectors for each code."""
    if given and 2**given > n:
        raise ImpossibleSetting(
            f"{name} is {given}: {2**given:,} codes a part, and the corpus holds {n:,} vectors",
            expected="no more codes than vectors; 0 chooses",
        )
    return given or min(_MOST_BITS, max(1, (n // _POINTS_FOR_A_CODE).bit_length() - 1))
