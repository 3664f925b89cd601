"""Names that people gave, made fit for a drawing: one line that turns nothing around and fits its room."""

from functools import lru_cache
from math import ceil
from unicodedata import category, east_asian_width

__all__ = ["UNSHOWN", "clean", "fit", "width_of"]

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
