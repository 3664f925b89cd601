"""Labels: names made safe and short enough for a chart, and places where they cover nothing."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil
from unicodedata import category, east_asian_width

__all__ = ["UNSHOWN", "Box", "Spot", "clean", "fit", "place_labels", "rows_for", "width_of"]

Spot = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""
_SIDES: tuple[Spot, ...] = ((1, -1), (-1, 1), (0, -1), (0, 1), (1, 0), (-1, 0), (1, 1), (-1, -1))
_AWAY = (1.0, 2.2, 4.0, 6.5, 9.5, 13.0)
"""How far from its point a label may stand, in units of the gap."""
_APART = 0.6
_NEARBY = 16
"""So many of the nearest free places are looked at for one that covers no line."""
UNSHOWN = "□"
"""Stands for what cannot be shown, as in pictures."""
_LONGEST = 400
"""Of a name this much is looked at: more fits nowhere."""
_MOST_MARKS = 2
"""Accents on one letter: a heap of them would cover the lines above and below."""
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_JOINING = frozenset("\u200c\u200d\ufe0e\ufe0f")
# Widths in ems, by DejaVu Sans, the widest of the fonts that pages ask for.
_WIDTHS = {
    **dict.fromkeys("ijlI.,:;|!'\\/ft r", 0.4),
    **dict.fromkeys('()[]-"*sJ_', 0.53),
    **dict.fromkeys("+=<>−~#^&±×→", 0.85),
    **dict.fromkeys("w", 0.82),
    **dict.fromkeys("mMW%@—…", 1.0),
}
_LOWER, _UPPER, _FOREIGN, _FULL = 0.64, 0.79, 0.9, 1.25


@lru_cache(maxsize=4096)
def clean(text: str, longest: int = _LONGEST) -> str:
    """One line of characters that XML may hold, its middle left out where it is very long.

    Marks that change the direction of text are shown as something that cannot be.
    """
    if len(text) > 4 * longest:  # of more nothing would be left
        text = f"{text[: 2 * longest]}{text[-2 * longest :]}"
    shown: list[str] = []
    marks = 0
    for letter in " ".join(text.split()):
        kind = category(letter)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if marks > _MOST_MARKS and letter not in _JOINING:
            continue
        unshown = letter in _TURNING or kind in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp")
        shown.append(UNSHOWN if unshown or (kind == "Cf" and letter not in _JOINING) else letter)
    whole = "".join(shown)
    return whole if len(whole) <= longest else _without_middle(whole, longest - 1)


def _without_middle(whole: str, kept: int) -> str:
    """Both its beginning and its end tell it from others."""
    return f"{whole[: ceil(kept / 2)].rstrip()}…{whole[len(whole) - kept // 2 :].lstrip()}"


def width_of(text: str, size: float) -> float:
    """About how wide it is in a sans-serif font, rather more than less."""
    return size * sum(map(_em, text))


@lru_cache(maxsize=4096)
def _em(letter: str) -> float:
    if letter in _JOINING or category(letter) in ("Mn", "Me"):
        return 0.0
    if (known := _WIDTHS.get(letter)) is not None:
        return known
    if letter == UNSHOWN or east_asian_width(letter) in ("W", "F") or category(letter) == "So":
        return _FULL
    return _FOREIGN if not letter.isascii() else _UPPER if letter.isupper() else _LOWER


def fit(text: str, room: float, size: float) -> str:
    """Cleaned, with its middle left out where it is too long."""
    whole = shown = clean(text)
    kept = len(whole)
    while kept > 0 and (width := width_of(shown, size)) > room:
        kept = max(0, min(kept - 1, int(kept * room / width)))
        shown = _without_middle(whole, kept)
    return shown


def rows_for(spans: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """In which row each span finds room, from left to right: the first in which the last one ended before it."""
    order = sorted(range(len(spans)), key=lambda one: spans[one])
    rows, ends = [0] * len(spans), list[float]()
    for one in order:
        left, right = spans[one]
        row = next((row for row, end in enumerate(ends) if end <= left), len(ends))
        ends[row : row + 1] = [right + gap]
        rows[one] = row
    return rows


def place_labels(
    spots: Sequence[Spot], sizes: Sequence[Spot], within: Box, taken: Sequence[Box] = (), *, gap: float = 4.0,
    avoided: Sequence[Box] = (),
) -> list[Spot | None]:  # fmt: skip
    """The middle of each label, as near to its spot as there is room; None where there is none. The first choose first.

    ``sizes`` are widths and heights, ``taken`` is what must not be covered, the points among it; ``gap`` is from a spot
    to its label. What is ``avoided`` is covered only where there is no other place nearby.
    """
    blocked = list(taken)
    placed: list[Spot | None] = []
    for spot, size in zip(spots, sizes, strict=True):
        free = [one for one in _candidates(spot, size, gap) if _free(_box(one, size), within, blocked)]
        clear = (one for one in free[:_NEARBY] if _free(_box(one, size), within, avoided))
        chosen = next(clear, free[0] if free else None)
        if chosen is not None:
            blocked.append(_box(chosen, (size[0] + 2 * _APART, size[1] + 2 * _APART)))
        placed.append(chosen)
    return placed


def _candidates(spot: Spot, size: Spot, gap: float) -> Iterator[Spot]:
    for away in _AWAY:
        for across, up in _SIDES:
            reach = gap * away * (0.8 if across and up else 1.0)
            yield spot[0] + across * (reach + size[0] / 2), spot[1] + up * (reach + size[1] / 2)


def _box(middle: Spot, size: Spot) -> Box:
    return middle[0] - size[0] / 2, middle[1] - size[1] / 2, middle[0] + size[0] / 2, middle[1] + size[1] / 2


def _free(box: Box, within: Box, blocked: Sequence[Box]) -> bool:
    inside = box[0] >= within[0] and box[1] >= within[1] and box[2] <= within[2] and box[3] <= within[3]
    return inside and not any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in blocked
    )
