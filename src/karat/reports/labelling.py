"""Where labels of points stand so that none covers another or a point."""

from collections.abc import Iterator, Sequence

__all__ = ["Box", "place_labels"]

Spot = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""
_SIDES: tuple[Spot, ...] = ((1, -1), (-1, 1), (0, -1), (0, 1), (1, 0), (-1, 0), (1, 1), (-1, -1))
_AWAY = (1.0, 2.2, 4.0, 6.5, 9.5, 13.0)
"""How far from its point a label may stand, in units of the gap."""
_APART = 0.6
_NEARBY = 16
"""So many of the nearest free places are looked at for one that covers no line."""


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
