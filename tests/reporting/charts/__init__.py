"""Charts: what their tests share. SVG is read back as XML, and values from where ticks stand."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from rankjury.reporting.charts.spec import Chart
from rankjury.reporting.charts.svg import to_svg

__all__ = ["Axis", "all_of", "dots_of", "drawn", "spot_of", "texts_of"]

SVG = ElementTree.Element
_FORBIDDEN = re.compile(
    r"<(script|style|foreignobject|image|use|a|iframe|animate|set)\b|\b(style|href|on\w+)\s*=", re.I
)


def drawn(chart: Chart, prefix: str = "p", width: float = 720.0) -> SVG:
    """Well-formed, and with nothing in it that a strict policy forbids: tags and attributes, not texts."""
    text = to_svg(chart, prefix, width=width)
    tags = "".join(re.findall(r"<[^>]*>", text))
    assert not _FORBIDDEN.search(tags), _FORBIDDEN.search(tags)
    return ElementTree.fromstring(text)


def all_of(svg: SVG, kind: str) -> list[SVG]:
    """Elements that have a class."""
    return [one for one in svg.iter() if kind in one.get("class", "").split()]


def texts_of(svg: SVG, kind: str | None = None) -> list[str]:
    return [one.text or "" for one in svg.iter("text") if kind is None or kind in one.get("class", "").split()]


def spot_of(marker: SVG) -> tuple[float, float]:
    """Where a marker stands."""
    x, y = re.fullmatch(r"translate\((\S+) (\S+)\)", marker.get("transform", "")).groups()  # type: ignore[union-attr]
    return float(x), float(y)


def dots_of(svg: SVG) -> list[tuple[float, float]]:
    """Where markers stand, those of the legend left out, in the order drawn."""
    keys = {id(one) for key in all_of(svg, "key") for one in key.iter()}
    return [spot_of(one) for one in all_of(svg, "dot") if id(one) not in keys]


def ends_of(path: SVG) -> list[float]:
    """The numbers of a path."""
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", path.get("d", ""))]


class Axis:
    """Where values belong, by the ticks alone: of two of them every other is known."""

    def __init__(self, ticks: list[tuple[float, float]]) -> None:
        assert len(ticks) >= 2, "an axis of fewer than two ticks says nothing"
        self.ticks = ticks

    @classmethod
    def across(cls, svg: SVG) -> "Axis":
        return cls([(value, float(one.get("x", ""))) for value, one in _ticks(svg, "middle")])

    @classmethod
    def upright(cls, svg: SVG) -> "Axis":
        """Texts stand 4 below the middle of their line."""
        return cls([(value, float(one.get("y", "")) - 4) for value, one in _ticks(svg, "end")])

    def at(self, value: float) -> float:
        (first, start), (last, end) = self.ticks[0], self.ticks[-1]
        return start + (value - first) / (last - first) * (end - start)


def _ticks(svg: SVG, anchor: str) -> Iterator[tuple[float, SVG]]:
    for one in svg.iter("text"):
        if one.get("class") == "tick" and one.get("text-anchor") == anchor:
            text = (one.text or "").replace("−", "-").replace(",", "")
            if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text):
                yield float(text), one
            elif re.fullmatch(r"-?[\d.]+ %", text):
                yield float(text[:-2]) / 100, one
