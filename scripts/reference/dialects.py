"""Page of dialects: their conventions as data, the names that they read, and how each is tested."""

from collections.abc import Mapping
from pathlib import Path

from rankjury.measures.aliases import foreign_names
from rankjury.measures.dialects import DIALECTS, Dialect, resolve
from rankjury.measures.measure import METRICS, Measure, Value
from reference.markdown import code, codes, page, sentence, table, text
from reference.measures import foreign_label

ROOT = Path(__file__).parents[2]
PROOFS = {
    "trec_eval": (
        "compared with pytrec_eval, which is trec_eval 9, on generated runs; and with the outputs of trec_eval 10 on "
        "NIST's own test files, which are not part of the repository",
        ("tests/peers/test_trec_eval.py", "tests/peers/test_nist.py"),
    ),
    "trec_eval-10": (
        "compared with what trec_eval 10 prints for NIST's own test files, which are not part of the repository",
        ("tests/peers/test_nist.py",),
    ),
    "ir_measures": ("compared with ir_measures on generated runs", ("tests/peers/test_ir_measures.py",)),
    "ranx": (
        "compared with values that ranx itself computed for recorded cases",
        ("tests/peers/test_ranx.py", "tests/peers/make_ranx_oracles.py"),
    ),
    "beir": (
        "compared with pytrec_eval without self-matches, and with BEIR's own four measures as its source code defines "
        "them, on generated runs",
        ("tests/peers/test_beir.py",),
    ),
    "mteb": (
        "compared with pytrec_eval, and with MTEB's MRR as its source code defines it, on generated runs",
        ("tests/peers/test_mteb.py",),
    ),
    "sentence-transformers": (
        "compared with the documented definitions of the evaluator, on generated runs; the library needs torch and is "
        "not installed beside the tests",
        ("tests/peers/test_sentence_transformers.py",),
    ),
    "sklearn": ("compared with scikit-learn on generated runs", ("tests/peers/test_sklearn.py",)),
    "elasticsearch": (
        "compared with the definitions of its ranking evaluation API on generated runs, and with the values in "
        "Elasticsearch's own unit tests",
        ("tests/peers/test_elasticsearch.py",),
    ),
    "opensearch": (
        "compared with its definition on a case computed by hand; apart from the ideal list it is the elasticsearch "
        "dialect",
        ("tests/peers/test_elasticsearch.py",),
    ),
    "alfa": (
        "compared with the formulas of the driving protocol, by hand and on generated sets",
        ("tests/stats/test_alfa.py",),
    ),
    **dict.fromkeys(
        ("rectools", "lenskit", "recbole", "replay"),
        (
            "compared with values that the library itself computed for recorded cases",
            ("tests/peers/test_recommender_dialects.py", "tests/peers/make_recommender_oracles.py"),
        ),
    ),
    "implicit": (
        "compared with ranking_metrics_at_k of implicit on generated runs",
        ("tests/peers/test_implicit.py",),
    ),
}
"""By dialect, how it is tested, and the files of the tests."""
_COMMON = ("gold", "rel", "ties", "scores", "self", "empty", "missing")
_ABSENT = {"rel": "gold's"}


def dialects_page() -> str:
    """Return the page."""
    unproved = sorted(set(DIALECTS.names()) - PROOFS.keys())
    if unproved:
        raise ValueError(f"PROOFS in scripts/reference/dialects.py does not say how these are tested: {unproved}")
    overview = [[_link(d.name), sentence(d.about)] for d in DIALECTS]
    header = ["dialect", *map(code, _COMMON[1:])]
    defaults = ["rankjury", *(_default(name) for name in _COMMON[1:])]
    rows = [[_link(d.name), *(_value(d.common, name) for name in _COMMON[1:])] for d in DIALECTS]
    return page(
        "Dialects",
        "A dialect is a named set of conventions that reproduces the numbers of another tool.",
        [
            "`--dialect TOOL` (in Python `dialect=`, in a plan `conventions.dialect`) gives all measures the "
            "conventions of a tool: its tie rule, its gain and divisors, what it does with empty and missing queries. "
            "Options that are set in a spelling or by `--ties`, `--missing`, `--empty` and `--rel` win over the "
            "dialect. Names of tools are also read with other signs: `pytrec-eval` is `trec_eval`.",
            "",
            "`rankjury explain` computes one measure under all dialects and shows which conventions make the "
            "difference. Each [measure](measures/index.md) has a table of the tools that compute it otherwise.",
        ],
        ["## All dialects", "", *table(["dialect", "what it reproduces"], overview)],
        [
            "## Common conventions",
            "",
            "The conventions that a dialect gives to all its measures. Empty: rankjury's default, in the first row; "
            "the [options](measures/index.md#options-of-every-measure) are explained with the measures.",
            "",
            *table(header, [defaults, *rows]),
        ],
        *map(_section, DIALECTS),
    )


def _link(name: str) -> str:
    return f"[`{name}`](#{name})"


def _default(name: str) -> str:
    if name == "empty":
        return "skip or zero, by the measure"
    value = Measure("ap")[name]
    return _ABSENT.get(name, "") if value is None else str(value)


def _value(options: Mapping[str, Value], name: str) -> str:
    value = options.get(name)
    return "" if value is None else f"{value:g}" if isinstance(value, float) else text(str(value))


def _section(dialect: Dialect) -> list[str]:
    about, files = PROOFS[dialect.name]
    missing = [name for name in files if not (ROOT / name).is_file()]
    if missing:
        raise ValueError(f"{', '.join(missing)}: no such file, but scripts/reference/dialects.py names it")
    common = ", ".join(_spell(name, value) for name, value in dialect.common.items())
    lines = [f"## {dialect.name}", "", sentence(dialect.about), "", f"All measures: {common or 'no change'}."]
    own = list(_by_metric(dialect))
    if own:
        lines += ["", "Measures with further conventions:", "", *table(["measure", "conventions"], own)]
    names = _names(dialect)
    if names:
        lines += ["", "Its own names:", "", *table(["name", "read as"], names)]
    else:
        lines += ["", "It has no names of its own; measures have rankjury's names."]
    return [*lines, "", f"Test: {text(about)} ({codes(files)})."]


def _by_metric(dialect: Dialect) -> list[list[str]]:
    """Return the metrics whose conventions differ from the common ones, by what the dialect says of each metric.

    Conventions may depend on the cut-off, so each metric is resolved with one and without one.
    """
    rows = []
    for metric in METRICS:
        shown: dict[str, str] = {}
        for k in [10, None] if metric.cut == "optional" else [None]:
            measure = Measure(metric.name, k)
            shown[str(measure)] = _changed(resolve(measure, dialect.name).measure, dialect)
        with_cut, *without = shown.values()
        if not without or with_cut == without[0]:
            rows += [[_metric(metric.name), with_cut]] if with_cut else []
            continue
        for spelling, spelled in shown.items():
            rows.append([_metric(metric.name, spelling), spelled or "the common conventions"])
    return rows


def _metric(name: str, spelling: str | None = None) -> str:
    return f"[{code(spelling or name)}](measures/{name}.md)"


def _changed(measure: Measure, dialect: Dialect) -> str:
    """Return the conventions of a measure that are not the common ones of its dialect."""
    plain = Measure(measure.name, measure.k).with_options(dialect.common)
    names = [option.name for option in measure.metric.all_options if measure[option.name] != plain[option.name]]
    return ", ".join(_spell(name, measure[name]) for name in names)


def _spell(name: str, value: Value) -> str:
    if value is None:
        return f"{code(name)} any grade above 0"
    return code(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}")


def _names(dialect: Dialect) -> list[list[str]]:
    """Return the dialect's own names of measures, and how it reads them beside its common conventions."""
    tool = "trec_eval" if dialect.name == "trec_eval-10" else dialect.name
    groups: dict[str, list[str]] = {}
    for metric in METRICS:
        for name in foreign_names(metric.name).get(tool, ()):
            label = foreign_label(tool, name, metric)
            spec = dialect.read(label)
            if spec is None:
                raise ValueError(f"{dialect.name} does not read its own name {label}")
            measure = dialect.apply(spec, {})
            changed = _changed(measure, dialect)
            meaning = _metric(metric.name) + (f" with {changed}" if changed else "")
            if name.endswith("_X"):
                meaning = meaning.replace("=0.2`", "=X`")
            shown = name if name.endswith(("_K", "_X")) else label.replace("@10", "@K")
            groups.setdefault(meaning, []).append(shown)
    return [[codes(names), meaning] for meaning, names in groups.items()]
