"""Pages of measures: an index, and one page per metric with its formula, options, names and values elsewhere."""

from collections.abc import Iterator

from rankjury.measures.aliases import NAMES, foreign_names
from rankjury.measures.dialects import DIALECTS, HITS_NOTE, resolve
from rankjury.measures.measure import COMMON_OPTIONS, METRICS, Measure, Metric, Option, Value, common_names
from reference.example import Example, example_of, measure_of
from reference.markdown import code, codes, fence, joined, page, sentence, table, text

_EMPTY = {
    "skip": "skipped: it is not in the mean, and the number of such queries is shown",
    "zero": "counts 0",
    "error": "an error",
}
_MISSING = {
    "zero": "counts 0, with a warning",
    "skip": "skipped",
    "none": "not counted",
    "error": "an error",
}
_AGGREGATES = {"mean": "mean", "sum": "sum", "geometric": "geometric mean"}
_CUTS = {
    "optional": "optional: {0}, or {0}@{1}",
    "required": "required: {0}@{1}",
    "none": "none: the complete list is used",
}
_SAMPLE_NUMBERS = {"rel": 2, "p": 0.95, "at": 0.2, "times": 2, "max": 4}
"""A value of each numeric option, for its spelling."""
_SAMPLE_LEVEL = "0.20"


def measure_pages() -> dict[str, str]:
    """Return the pages by their path in docs/reference."""
    return {
        "measures/index.md": _index(),
        **{f"measures/{metric.name}.md": metric_page(metric) for metric in METRICS},
    }


def _index() -> str:
    rows = [[f"[`{m.name}`]({m.name}.md)", codes(m.aliases), text(m.title), _own_options(m)] for m in METRICS]
    common = table(
        ["option", "values, the default first", "what it decides"],
        [[code(f"{option.name}="), codes(option.choices), sentence(option.about)] for option in COMMON_OPTIONS],
    )
    spelling = [
        "A measure is a metric with its conventions: `name(option=value,…)@k`. Options that are not written have their "
        "default, and `@k` is the cut-off.",
        "",
        *fence("text", ["ndcg@10", "ndcg(gain=exp)@5", "recall(over=k)@5", "ap(over=found)@10", "precision(rel=4)@10"]),
        "",
        "A name that only another tool uses is read with the conventions of that tool: "
        + _read_elsewhere("ndcg_cut_10", "P_10", "nDCG@10", "ndcg_burges@10", "map@100-l2")
        + ". With `--dialect` (in Python `dialect=`), all measures take the conventions of one tool, except the "
        "options that a spelling sets itself: see [dialects](../dialects.md).",
        "",
        sentence(HITS_NOTE),
        "",
        "A measure whose usual name is another is shown with both names: `recall(over=k)@5` as "
        "`recall(over=k)@5 = precision@5`; JSON and CSV have a field `common_name`.",
    ]
    empty = table(
        ["default of `empty`", "measures"],
        [
            [
                f"{code(default)}: {_EMPTY[default]}",
                codes(m.name for m in METRICS if m.needs_relevant and _default(m, "empty") == default),
            ]
            for default in ("skip", "zero")
        ],
    )
    return page(
        "Measures",
        f"The {len(METRICS.names())} metrics, their options, and how a measure is spelled.",
        ["## How a measure is spelled", "", *spelling],
        ["## All measures", "", *table(["measure", "also", "what it is", "own options"], rows)],
        [
            "## Options of every measure",
            "",
            *common,
            "",
            "A metric may have further values of these options; they are on its page. `gold=k` and `gold=tied` need a "
            "cut-off.",
            "",
            *empty,
            "",
            "`rankjury list metrics NAME` prints the page of a measure, under any of its names; `rankjury explain` "
            "computes a measure for your run under all conventions.",
        ],
    )


def _read_elsewhere(*names: str) -> str:
    return ", ".join(f"{code(name)} is {code(resolve(name).measure)}" for name in names)


def _own_options(metric: Metric) -> str:
    shown = [code(f"{o.name}=") + (f" {', '.join(map(text, o.choices))}" if o.choices else "") for o in metric.options]
    return "; ".join(shown)


def metric_page(metric: Metric) -> str:
    """Return the page of one metric."""
    return page(
        metric.name,
        sentence(metric.title),
        table(["property", "value"], _properties(metric)),
        ["## Formula", "", sentence(metric.formula), "", f"Source: {sentence(metric.source)}"],
        _options(metric),
        _spellings(metric),
        _names_elsewhere(metric),
        _conventions(metric, example_of(metric)),
    )


def _default(metric: Metric, name: str) -> Value:
    option = next((option for option in metric.all_options if option.name == name), None)
    return None if option is None else metric.default(option, {})


def _properties(metric: Metric) -> Iterator[list[str]]:
    """Yield what a reader asks first: names, cut-off, aggregation, direction, empty and missing queries."""
    query = "user" if metric.of_lists else "query"
    if metric.aliases:
        yield ["also called", codes(metric.aliases)]
    yield ["cut-off", text(_CUTS[metric.cut].format(metric.name, 10))]
    whole = "one value for all queries together" if metric.whole else f"{_AGGREGATES[metric.aggregate]} over {query}s"
    yield ["value", whole.replace("querys", "queries")]
    if metric.descriptive:
        yield ["better", "neither: it describes the run or the gold, and differences are not tested"]
    else:
        yield ["better", "lower" if metric.lower_is_better else "higher"]
    if metric.needs_relevant:
        yield ["a query without relevant items", _EMPTY[str(_default(metric, "empty"))]]
    yield [f"a {query} missing in the run", _missing(metric)]
    if metric.needs_places:
        yield ["needs", "a gold in order, such as ordered lists"]
    if metric.of_lists:
        yield ["needs", "the training data of a recommender"]


def _missing(metric: Metric) -> str:
    """Return what becomes of a query that is missing in the run."""
    own = next((option for option in metric.options if option.name == "missing"), None)
    if own is not None:  # its text has an explanation of each choice after the colon, that of the default first
        return text(own.about.partition(": ")[2].partition(", ")[0])
    if metric.of_lists and not metric.needs_relevant:
        return "undefined, as there is no list"
    return _MISSING[str(_default(metric, "missing"))]


def _options(metric: Metric) -> list[str]:
    names = {option.name for option in metric.options}
    others = [option for option in metric.all_options if option.name not in names]
    if not metric.needs_relevant:
        others = [option for option in others if option.name != "empty"]
    defaults = ", ".join(f"{code(o.name)} ({metric.default(o, {})})" for o in others)
    shared = f"Also the [options of every measure](index.md#options-of-every-measure), with their defaults: {defaults}."
    if not metric.options:
        return ["## Options", "", f"The metric has no options of its own. {shared}"]
    rows = [[code(o.name), _values(o), _default_text(metric, o), sentence(o.about)] for o in metric.options]
    return ["## Options", "", *table(["option", "values", "default", "what it decides"], rows), "", shared]


def _values(option: Option) -> str:
    if option.choices:
        return codes(option.choices)
    bounded = option.low > float("-inf")
    if bounded and option.high < float("inf"):
        return f"a number from {option.low:g} to {option.high:g}"
    return f"a number from {option.low:g}" if bounded else "a number"


def _default_text(metric: Metric, option: Option) -> str:
    value = metric.default(option, {})
    if value is None:
        return "from the gold"
    return code(f"{value:g}" if isinstance(value, float) else value)


def _spellings(metric: Metric) -> list[str]:
    """Return spellings of the metric that are read, each parsed here, and what they stand for."""
    cut = None if metric.cut == "none" else 10
    base = Measure(metric.name, cut)
    rows = [[code(base), "all conventions at their defaults"]]
    for alias in metric.aliases:
        same = alias if cut is None else f"{alias}@{cut}"
        rows.append([code(same), f"the same as {code(resolve(same).measure)}"])
    variants = list(_variants(metric, base))
    usual = common_names({str(measure): str(measure) for measure, _ in variants})
    for measure, means in variants:
        name = f"; usually called {code(usual[str(measure)])}" if str(measure) in usual else ""
        rows.append([code(measure), means + name])
    for measure, _ in variants:
        if Measure.parse(str(measure)) != measure:
            raise ValueError(f"{measure} is not read as it is spelled")
    return ["## Spellings", "", *table(["spelling", "what it is"], rows)]


def _variants(metric: Metric, base: Measure) -> Iterator[tuple[Measure, str]]:
    for option in metric.options:
        values: tuple[Value, ...] = option.choices[1:]
        if not option.choices:
            values = (float(_SAMPLE_NUMBERS.get(option.name, max(option.low, 1.0))),)
        for value in values:
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            yield base.with_options({option.name: value}), f"{code(option.name)} is {code(shown)}"


def _names_elsewhere(metric: Metric) -> list[str]:
    """Return the names by which tools call the metric, each read under the conventions of its tool."""
    rows = []
    for tool, names in foreign_names(metric.name).items():
        for name in names:
            label = foreign_label(tool, name, metric)
            rows.append([_tool_link(tool), code(label), code(resolve(label, tool).measure)])
    if not rows:
        return []
    lead = "What another tool calls this measure, and how `--dialect` of that tool reads it:"
    return ["## Names in other tools", "", lead, "", *table(["tool", "name there", "read as"], rows)]


def foreign_label(tool: str, name: str, metric: Metric) -> str:
    """Return a name of a tool with a cut-off where it takes one, such as ``ndcg_cut_10`` for ``ndcg_cut_K``."""
    if name.endswith("_X"):
        return name.removesuffix("X") + _SAMPLE_LEVEL
    if name.endswith("_K"):
        return f"{name.removesuffix('K')}10"
    plain = tool in ("trec_eval", "sklearn") or "(" in name or metric.cut == "none"
    whole = tool == "ir_measures" and name.startswith(("Set", "Num"))
    return name if plain or whole else f"{name}@10"


def _conventions(metric: Metric, example: Example) -> list[str]:
    """Return which tools compute the metric in another way, and the value of the example under each of them."""
    own = measure_of(metric)
    known = [_tools(metric), {dialect.name for dialect in DIALECTS} - _tools(metric)]
    tables, same = [], []
    for tools in known:
        groups: dict[Measure, list[str]] = {}
        for dialect in DIALECTS:
            if dialect.name in tools:
                groups.setdefault(resolve(own, dialect.name).measure, []).append(dialect.name)
        same.append(", ".join(map(_tool_link, groups.pop(own, []))))
        tables.append([_way(", ".join(map(_tool_link, names)), m, example) for m, names in groups.items()])
    each, unit = example.value(own)[1], "user" if metric.of_lists else "query"
    total = " Their mean is the value." if metric.whole else ""
    theirs, others = tables
    lead = ["Each row has the value on the example below. The first row has rankjury's own conventions."]
    if same[0]:
        lead.append(f"The same as rankjury: {same[0]}.")
    if not theirs and not same[0]:
        lead = ["rankjury knows no other tool with this measure."]
    further = [
        "The other dialects have no name of their own for this measure; `--dialect` gives it their common conventions."
        + (f" Unchanged: {same[1]}." if same[1] else "")
    ]
    header = ["tool", "value", "measure"]
    return joined(
        [
            ["## Who computes it otherwise"],
            lead,
            table(header, [_way("rankjury", own, example), *theirs], numbers=[1]),
            further if others else [],
            table(header, others, numbers=[1]) if others else [],
            ["## Example"],
            example.shown,
            [f"{f'Contributions by {unit}' if metric.whole else f'By {unit}'}, as {code(own)}: {each}.{total}"],
        ]
    )


def _way(tools: str, measure: Measure, example: Example) -> list[str]:
    """Return a row: tools, the value of the example, and the measure as they compute it."""
    value, about = example.value(measure)
    return [tools, value, code(measure) + (f": {about}" if value == "error" else "")]


def _tools(metric: Metric) -> set[str]:
    """Return the dialects of tools that have the metric: by their names for it, or by a convention of their own."""
    named = {tool for tool, names in NAMES.items() if any(spec.name == metric.name for spec in names.values())}
    if "trec_eval" in named or metric.name in ("iprec", "r_precision"):
        named |= {"trec_eval", "trec_eval-10"}
    return named | {dialect.name for dialect in DIALECTS if metric.name in dialect.by_metric}


def _tool_link(name: str) -> str:
    return f"[{name}](../dialects.md#{name})"
