"""The charts' colours: read from the CSS itself, against the grounds that pages have."""

import re
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from rankjury.reporting.charts.svg import CHART_CSS

GROUNDS = {"light": ["#ffffff", "#f5f5f5"], "dark": ["#14171c", "#1c2026", "#22262e"]}
SERIES = [str(place) for place in range(8)]


def palettes() -> dict[str, dict[str, str]]:
    """What the first block sets, what the button sets, what the system's dark mode and print set."""
    blocks = re.findall(r"([^{}]*)\{((?:--chart-[^;{}]+;?)+)\}", CHART_CSS)
    names = ["light", "system", "dark", "print", "print where the system is dark"]
    assert [selector.strip() for selector, _ in blocks] == [
        ":root",
        ":root:not([data-theme=light])",
        ":root[data-theme=dark]",
        ":root,:root[data-theme]",
        ":root:not([data-theme=light])",
    ]
    return {
        name: dict(re.findall(r"--chart-(\w+):(#\w+)", body)) for name, (_, body) in zip(names, blocks, strict=True)
    }


PALETTES = palettes()


def linear(colour: str) -> NDArray[np.float64]:
    channels = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2.2: relative luminances, 0.05 added to each."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(weights @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def test_contrast_by_hand() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", [*SERIES, "good", "bad", "axis"])
def test_strokes_stand_out(theme: str, name: str) -> None:
    assert min(contrast(PALETTES[theme][name], ground) for ground in GROUNDS[theme]) >= 3.0


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["text", "soft"])
def test_texts_are_readable(theme: str, name: str) -> None:
    assert min(contrast(PALETTES[theme][name], ground) for ground in GROUNDS[theme]) >= 4.5


def test_the_system_and_the_button_give_one_dark_and_print_is_light() -> None:
    assert PALETTES["system"] == PALETTES["dark"] != PALETTES["light"] == PALETTES["print"]
    assert PALETTES["print where the system is dark"] == PALETTES["light"]


# Machado, Oliveira and Fernandes, A physiologically-based model for simulation of color vision deficiency, 2009.
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, deficiency: str) -> NDArray[np.float64]:
    seen = np.clip(DEFICIENCIES[deficiency] @ linear(colour), 0, 1)
    x, y, z = np.cbrt(TO_XYZ @ seen / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("deficiency", list(DEFICIENCIES))
def test_the_first_five_are_told_apart_by_anybody(theme: str, deficiency: str) -> None:
    """As far apart in CIELAB as 15: a difference that is seen at a glance."""
    seen = [lab(PALETTES[theme][name], deficiency) for name in SERIES[:5]]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) > 15


def test_nothing_is_fetched() -> None:
    assert "url(" not in CHART_CSS and "@import" not in CHART_CSS and "</" not in CHART_CSS


def test_every_class_of_a_series_has_a_colour() -> None:
    assert all(f"svg.chart .c{name}{{--hue:var(--chart-{name})}}" in CHART_CSS for name in SERIES)
