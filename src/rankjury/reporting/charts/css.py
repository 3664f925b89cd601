"""The charts' colours and strokes for a page: light, dark and in print.

Okabe and Ito's palette in the order of pictures/figure.py, its light hues darkened for a light ground and its dark ones
lightened for a dark ground, so that each is at least 3 : 1 against what it stands on and texts 4.5 : 1.
"""

LIGHT = {
    "0": "#0072b2",
    "1": "#b87400",
    "2": "#1f2328",
    "3": "#b5568c",
    "4": "#008a63",
    "5": "#2a8fcb",
    "6": "#c24e00",
    "7": "#7a7a7a",
    "text": "#1f2328",
    "soft": "#57606a",
    "grid": "#e2e5e9",
    "axis": "#7d8590",
    "ground": "#ffffff",
    "good": "#0072b2",
    "bad": "#c24e00",
}
DARK = {
    "0": "#4da3e0",
    "1": "#e69f00",
    "2": "#f0f0f0",
    "3": "#d98bb8",
    "4": "#1fb587",
    "5": "#8fd0f5",
    "6": "#f07830",
    "7": "#a0a0a0",
    "text": "#e6e9ed",
    "soft": "#a3adb8",
    "grid": "#323841",
    "axis": "#7d8793",
    "ground": "#14171c",
    "good": "#4da3e0",
    "bad": "#f07830",
}


def _variables(colours: dict[str, str]) -> str:
    return ";".join(f"--chart-{name}:{colour}" for name, colour in colours.items())


_RULES = (
    "svg.chart{display:block;width:100%;height:auto;max-width:60rem;overflow:visible;"
    "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;"
    "font-variant-numeric:tabular-nums}",
    "svg.chart text{fill:var(--chart-text);stroke:none}",
    "svg.chart .tick,svg.chart .note{fill:var(--chart-soft)}",
    "svg.chart .over{paint-order:stroke;stroke:var(--chart-ground);stroke-width:4px}",
    "svg.chart .grid{stroke:var(--chart-grid);stroke-width:1;fill:none}",
    "svg.chart .axis,svg.chart .lead{stroke:var(--chart-axis);stroke-width:1;fill:none}",
    "svg.chart .reference{stroke:var(--chart-soft);stroke-width:1.2;stroke-dasharray:4 3;fill:none}",
    "svg.chart .mark{stroke:var(--chart-soft);stroke-width:1.2;stroke-dasharray:2 3;fill:none}",
    "svg.chart .frontier{stroke:var(--chart-axis);stroke-width:6;stroke-linejoin:round;stroke-linecap:round;"
    "stroke-opacity:.35;fill:none}",
    "svg.chart .circle{stroke:var(--chart-text);stroke-width:1.4;fill:none}",
    "svg.chart .faint .circle{stroke:var(--chart-axis)}",
    "svg.chart .behind{--hue:var(--chart-grid)}",
    "svg.chart .allowed{fill:var(--chart-good);fill-opacity:.12;stroke:none}",
    *(f"svg.chart .c{place}{{--hue:var(--chart-{place})}}" for place in range(8)),
    "svg.chart .good{--hue:var(--chart-good)}",
    "svg.chart .bad{--hue:var(--chart-bad)}",
    "svg.chart .even{--hue:var(--chart-soft)}",
    "svg.chart .line{stroke:var(--hue);stroke-width:2;stroke-linejoin:round;fill:none}",
    "svg.chart .band{fill:var(--hue);fill-opacity:.14;stroke:none}",
    "svg.chart .whisker{stroke:var(--hue);stroke-width:2;fill:none}",
    "svg.chart .bar{fill:var(--hue);stroke:none}",
    "svg.chart .dot{fill:var(--hue);stroke:var(--hue);stroke-width:1}",
    "svg.chart .point .dot{stroke:var(--chart-ground)}",
    "svg.chart .muted .dot{fill:var(--chart-ground);stroke-width:1.6}",
    "svg.chart .muted .whisker{stroke-width:1.2}",
)
CHART_CSS = "\n".join(
    (
        f":root{{{_variables(LIGHT)}}}",
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{_variables(DARK)}}}}}",
        f":root[data-theme=dark]{{{_variables(DARK)}}}",
        *_RULES,
        f"@media print{{:root,:root[data-theme]{{{_variables(LIGHT)}}}svg.chart{{break-inside:avoid}}}}",
        "@media print and (prefers-color-scheme:dark){:root:not([data-theme=light]){" + _variables(LIGHT) + "}}",
    )
)
"""A page that has grounds of its own sets ``--chart-ground`` to them, for hollow markers."""
