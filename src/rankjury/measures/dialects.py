"""Dialects: named bundles of conventions, each reproducing another tool, and the resolution of measures' spellings.

A name that only another tool uses (``ndcg_cut_10``, ``nDCG@10``, ``ndcg_burges@10``) is read with *that tool's*
conventions, whatever the other measures are. Under ``--dialect`` every measure takes the dialect's conventions,
save those that its spelling sets itself.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rankjury.core.registry import Registry
from rankjury.errors import UnknownName, UsageError, shorten
from rankjury.measures.aliases import (
    FAMILIAR,
    MetricSpec,
    NameReader,
    Options,
    common_spelling,
    foreign_names,
    names_at_k,
    read_ir_measures,
    read_mteb,
    read_ranx,
    read_trec,
    respell,
    with_cutoff,
)
from rankjury.measures.measure import METRICS, Measure, Metric, Value, common_names, metric_aliases, split_spelling


@dataclass(frozen=True)
class Dialect:
    """The conventions of one tool."""

    name: str
    about: str
    common: Options
    """Conventions of all its measures."""
    by_metric: Mapping[str, Options] = field(default_factory=dict)
    refine: Callable[[Measure], Options] = lambda measure: {}
    """Conventions that depend on more than the metric's name, such as its cut-off."""
    read: NameReader = lambda text: None
    """Its own names for measures."""

    pinned: Mapping[str, Options] = field(default_factory=dict)
    """Conventions, by metric, that the tool's switches do not touch."""

    other_measures: Mapping[str, str] = field(default_factory=dict)
    """Names that rankjury has too and that the tool gives to measures that rankjury lacks, with their meaning there."""

    def apply(self, spelled: MetricSpec, overrides: Options) -> Measure:
        """Return the measure with this dialect's conventions, save those set by ``overrides`` and by its spelling."""
        name, k = spelled.name, spelled.k
        refined = self.refine(Measure(name, k, tuple(spelled.options.items())))
        conventions = {**self.common, **self.by_metric.get(name, {}), **refined}
        return Measure(name, k).with_options(
            {**conventions, **overrides, **self.pinned.get(name, {}), **spelled.options}
        )


DIALECTS: Registry[Dialect] = Registry("dialect", home="rankjury.measures.dialects", group="rankjury.dialects")


@dataclass(frozen=True)
class NamedMeasure:
    """A measure and the spelling by which it was asked for."""

    label: str
    measure: Measure
    tool: str | None = None
    """The dialect whose name and conventions it has without having been asked for; None: rankjury's own, or a dialect
    was chosen."""
    by_case: "NamedMeasure | None" = None
    """rankjury's own measure whose spelling differs only by case, where that computes otherwise."""

    @property
    def own(self) -> Measure:
        """The measure by rankjury's conventions, save those that its spelling sets."""
        spelled = None if self.tool is None else DIALECTS.get(self.tool).read(self.label)
        return self.measure if spelled is None else _apply_conventions(spelled, None, {})

    @property
    def differences(self) -> tuple[str, ...]:
        """Conventions that rankjury's own measure of another case does not have, such as ``ties=id-desc``."""
        if self.by_case is None or self.by_case.measure.name != self.measure.name:
            return ()
        own, options = self.by_case.measure, [option.name for option in self.measure.metric.all_options]
        changed = {name: self.measure[name] for name in options if self.measure[name] != own[name]}
        return tuple(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in changed.items()
        )


def resolve(text: str | Measure, dialect: str | None = None, overrides: Options | None = None) -> NamedMeasure:
    """Return the measure that a spelling means.

    Args:
        text: A spelling of rankjury or of another tool, or a measure.
        dialect: Name of the dialect whose conventions it takes; None: those of the tool whose name it is.
        overrides: Conventions that win over everything but the spelling's own options (``--ties``, ``--missing`` …).

    Returns:
        The measure, with its spelling as label.

    Raises:
        UsageError: The measure, an option or a convention is unknown.
    """
    if not isinstance(text, str | Measure):
        raise UsageError(f"a measure of type {type(text).__name__}", expected="a spelling like ndcg@10")
    conventions = dict(overrides or {})
    if conventions:
        known = {option.name for metric in METRICS for option in metric.all_options}
        for name in conventions:
            if name not in known:
                raise UnknownName("convention", name, known)
    chosen = None if dialect is None else find_dialect(dialect)
    if isinstance(text, Measure):
        spec = MetricSpec(text.name, text.k, dict(text.options))
        return NamedMeasure(str(text), _apply_conventions(spec, chosen, conventions))
    label = text.strip()
    if len(label) > 1_000:  # all options of the measure that has most, written out, take 200 characters
        raise UsageError(f"cannot read the measure {shorten(label)!r}", expected="a spelling like ndcg(gain=exp)@10")
    if chosen is not None and (native := chosen.read(label)) is not None:
        return NamedMeasure(label, _apply_conventions(native, chosen, conventions))
    label = respell(label)
    if chosen is not None and (meaning := chosen.other_measures.get(re.split("[(@]", label)[0])):
        found = f"{label} of {chosen.name} is {meaning}, which rankjury does not compute"
        raise UsageError(found, expected="a measure that rankjury list metrics names")
    try:
        measure = Measure.parse(label)
    except UsageError as error:
        for home in DIALECTS:
            foreign = home.read(label)
            if foreign is not None:
                measure = _apply_conventions(foreign, chosen or home, conventions)
                if chosen is not None:
                    return NamedMeasure(label, measure)
                return NamedMeasure(label, measure, home.name, _by_case(label, measure, overrides))
        if isinstance(error, UnknownName) and error.kind == "measure":
            own = common_spelling(label)
            if own is not None:
                return resolve(own, dialect, overrides)
            raise _unknown(label) from None
        raise
    name, texts, _ = split_spelling(label)
    if "empty" in texts and not measure.metric.needs_relevant:
        found = f"empty has no effect on {measure.name}, which counts all queries alike"
        raise UsageError(found, where=label, expected=f"{measure.name} without it")
    spec = MetricSpec(measure.name, measure.k, {option: measure[option] for option in texts})
    shown = label if chosen or name != measure.name else str(measure)
    return NamedMeasure(shown, _apply_conventions(spec, chosen, conventions))


def _by_case(label: str, measure: Measure, overrides: Options | None) -> NamedMeasure | None:
    """Return rankjury's own measure that a tool's name means in lower case; None where it is none, or the same."""
    spelling = common_spelling(label)
    if spelling is None or spelling.lower() != label.lower():
        return None
    try:
        own = resolve(spelling, None, overrides)
    except UsageError:  # options as only the tool writes them
        return None
    return None if own.measure == measure else own


def _unknown(label: str) -> UsageError:
    """Return the error for an unknown measure; suggestions keep the cut-off that was asked for."""
    name, _, cut = label.partition("@")
    suffix = f"@{cut}" if cut.isdecimal() else ""
    if name.lower() == "hits":  # two meanings: most tools call hit rate so, the protocol of movies recall
        hint = f"Did you mean hit_rate{suffix} (any hit) or hits{suffix} (the share of relevant items found)?"
        return UsageError(f"unknown measure {shorten(label, quoted=True)}", hint=hint)
    if not suffix and (spelling := with_cutoff(label)) and spelling.partition("@")[0].lower() in METRICS.names():
        return UnknownName("measure", label, [spelling.lower()])
    known = [*METRICS.names(), *metric_aliases(), *(() if suffix else FAMILIAR)]
    return UnknownName("measure", name.partition("(")[0], known, suffix=suffix)


def _apply_conventions(spelled: MetricSpec, dialect: Dialect | None, overrides: Options) -> Measure:
    known = {option.name: option for option in METRICS.get(spelled.name).all_options}
    overrides = {
        name: value if value is None else known[name].read(str(value), where=f"{name} of {spelled.name}")
        for name, value in overrides.items()
        if name in known
    }
    if dialect is None:
        return Measure(spelled.name, spelled.k).with_options({**overrides, **spelled.options})
    return dialect.apply(spelled, overrides)


def _refine_ir_measures(measure: Measure) -> Options:
    """RR@k comes from the MS MARCO script and Judged@k from Python: both by id ascending, in double precision."""
    if measure.name == "judged" or (measure.name == "rr" and measure.k is not None):
        return {"ties": "id", "scores": "double"}
    if measure.name == "err":
        return {"ties": "id-desc", "scores": "double"}
    if measure.name in ("num_q", "num_rel"):
        return {"missing": "none"}
    return {}


def _refine_beir(measure: Measure) -> Options:
    """MRR, R_cap and Accuracy come from BEIR's own code: ties as given, averaged over all judged queries."""
    if measure.name in ("rr", "hit_rate") or measure["over"] == "min":
        return {"ties": "order", "scores": "double", "missing": "zero"}
    return {}


def _refine_alfa(measure: Measure) -> Options:
    """Where an item's gain is its grade, every grade above 0 counts; elsewhere only full matches do."""
    by_grade = measure.name == "err" or measure["gain"] not in (None, "binary")
    return {"rel": None} if by_grade else {}


# --- the dialects -------------------------------------------------------------------------------------------------

_TREC_EVAL: Options = {"rel": 1.0, "ties": "id-desc", "scores": "single", "empty": "zero", "missing": "skip"}
# trec_eval's -l is not for measures that use the grades themselves.
_TREC_EVAL_PINNED: dict[str, Options] = {"ndcg": {"rel": 1.0}, "rbp": {"rel": 1.0}}
_HELD_OUT: dict[str, Value] = {"ties": "order", "empty": "skip", "missing": "zero"}
_BINARY_OVER_MIN: dict[str, Options] = {"ndcg": {"gain": "binary"}, "dcg": {"gain": "binary"}, "ap": {"over": "min"}}

for _dialect in (
    Dialect(
        "trec_eval",
        "trec_eval up to 9 and pytrec_eval: scores in single precision, ties by id descending, averaged over the "
        "queries that the run has (--missing zero is trec_eval's -c)",
        _TREC_EVAL,
        read=read_trec,
        pinned=_TREC_EVAL_PINNED,
    ),
    Dialect(
        "trec_eval-10",
        "trec_eval 10: in double precision; a judged query that the run lacks is an error (--missing zero is -c)",
        {**_TREC_EVAL, "scores": "double", "missing": "error"},
        {"iprec": {"round": "nearest"}, "iprec_mean": {"round": "nearest"}},
        read=read_trec,
        pinned=_TREC_EVAL_PINNED,
    ),
    Dialect(
        "ir_measures",
        "ir_measures: pytrec_eval's, but missing queries count 0; RR@k and Judged@k by id ascending",
        {**_TREC_EVAL, "missing": "zero"},
        refine=_refine_ir_measures,
        read=read_ir_measures,
        other_measures={
            "Accuracy": "the share of pairs in which the relevant item is ranked above the non-relevant one"
        },
    ),
    Dialect(
        "ranx",
        "ranx with make_comparable: equal scores as given, missing and empty queries count 0, rbp by grade, hits is "
        "a count",
        {"rel": 1.0, "ties": "order", "empty": "zero", "missing": "zero"},
        {"rbp": {"gain": "linear"}, "bpref": {"negative": "judged"}, "gm_bpref": {"negative": "judged"}},
        read=read_ranx,
    ),
    Dialect(
        "beir",
        "BEIR: pytrec_eval's, documents whose id is the query's dropped; MRR, R_cap and Accuracy over all queries",
        {**_TREC_EVAL, "self": "drop"},
        refine=_refine_beir,
        read=names_at_k("beir"),
    ),
    Dialect(
        "mteb",
        "MTEB: pytrec_eval's, for all queries of the run; MRR in double precision",
        _TREC_EVAL,
        {"rr": {"scores": "double"}},
        read=read_mteb,
    ),
    Dialect(
        "sentence-transformers",
        "InformationRetrievalEvaluator from version 6 on: equal scores by id, binary gain, AP over min(k, relevant), "
        "queries with nothing relevant dropped (before 6, equal scores were in arbitrary order)",
        {**_HELD_OUT, "ties": "id"},
        _BINARY_OVER_MIN,
        read=names_at_k("sentence-transformers"),
    ),
    Dialect(
        "sklearn",
        "scikit-learn: equal scores share their discounts (ndcg_score, dcg_score) or their precision (AP)",
        {"empty": "zero", "missing": "zero"},
        {"ndcg": {"ties": "average"}, "dcg": {"ties": "average"}, "ap": {"ties": "group"}},
        read=names_at_k("sklearn"),
    ),
    Dialect(
        "elasticsearch",
        "Elasticsearch's ranking evaluation: gain 2^g − 1, ideal list as long as the returned one, precision over "
        "what was returned",
        {"rel": 1.0, "ties": "order", "empty": "zero", "missing": "zero"},
        {"ndcg": {"gain": "exp", "ideal": "retrieved"}, "dcg": {"gain": "exp"}, "precision": {"over": "retrieved"}},
    ),
    Dialect(
        "opensearch",
        "OpenSearch's search relevance: gain 2^g − 1, ideal list cut at k, precision over what was returned",
        {"rel": 1.0, "ties": "order", "empty": "zero", "missing": "zero"},
        {"ndcg": {"gain": "exp"}, "dcg": {"gain": "exp"}, "precision": {"over": "retrieved"}},
    ),
    Dialect(
        "alfa",
        "the driving protocol: recall over k and precision over the relevant, each the other's usual name; the query's "
        "own item dropped, relevant from grade 1 (NDCG: above 0), recall 0 where nothing is",
        {"rel": 1.0, "self": "drop"},
        {"recall": {"over": "k"}, "precision": {"over": "relevant"}},
        refine=_refine_alfa,
        read=names_at_k("alfa"),
    ),
    # Libraries for recommenders. None looks at ratings (LensKit does when asked): what is in their test data is
    # relevant, so that data is to hold what the gold calls relevant.
    Dialect(
        "rectools",
        "RecTools: binary gain, an ideal list of always k items, users with nothing relevant dropped",
        _HELD_OUT,
        {
            "ndcg": {"gain": "binary", "ideal": "full"},
            "dcg": {"gain": "binary"},
            "novelty": {"unseen": "one"},
            "serendipity": {"against": "places", "over": "retrieved"},
            "mean_popularity": {"scale": "count"},
        },
        read=names_at_k("rectools"),
        other_measures={"Accuracy": "the share of the catalogue that is recommended or omitted rightly"},
    ),
    Dialect(
        "lenskit",
        "LensKit's RunAnalysis: binary gain (gain=linear for its gain=), the first two ranks undiscounted, recall over "
        "min(k, relevant), precision over what was recommended, AP over the least; averaged over the users with a list "
        "(it counts 0 for lists of users who have no test data, whom no gold has)",
        {"ties": "order", "empty": "zero", "missing": "skip"},
        {
            "ndcg": {"gain": "binary", "discount": "rank"},
            "dcg": {"gain": "binary", "discount": "rank"},
            "ap": {"over": "least"},
            "precision": {"over": "retrieved"},
            "rbp": {"p": 0.85},
        },
        # Recall is over min(k, relevant) where there is a cut-off, and else over the relevant.
        refine=lambda measure: {"over": "min"} if measure.name == "recall" and measure.k is not None else {},
        read=names_at_k("lenskit"),
    ),
    Dialect(
        "recbole",
        "RecBole: binary gain, AP over min(k, relevant), users with nothing relevant dropped",
        _HELD_OUT,
        _BINARY_OVER_MIN,
        read=names_at_k("recbole"),
    ),
    Dialect(
        "replay",
        "RePlay: equal scores by id descending, binary gain, AP over min(k, relevant), users with nothing relevant "
        "count 0 (as lists; as data frames they are not there: --empty skip)",
        {"ties": "id-desc", "empty": "zero", "missing": "zero"},
        _BINARY_OVER_MIN,
        read=names_at_k("replay"),
        other_measures={"Novelty": "the share of recommended items that the user does not have in training"},
    ),
    Dialect(
        "implicit",
        "implicit's ranking_metrics_at_k: binary gain, AP over min(k, relevant), precision pooled over all users, "
        "those with nothing relevant dropped",
        _HELD_OUT,
        _BINARY_OVER_MIN,
        read=names_at_k("implicit"),
    ),
):
    DIALECTS.add(_dialect.name, _dialect)


_SAME_DIALECTS = {
    **dict.fromkeys(("pytreceval", "pytrecevalterrier", "treceval9"), "trec_eval"),
    **{"irmeasure": "ir_measures", "scikitlearn": "sklearn", "sbert": "sentence-transformers", "es": "elasticsearch"},
}
"""Other names of tools, without signs between their words."""


def find_dialect(name: str) -> Dialect:
    """Return the dialect of a tool; case and signs between words do not count: ``pytrec-eval`` is trec_eval.

    Raises:
        UnknownName: There is no such dialect.
    """
    if not isinstance(name, str) or DIALECTS.find(name) is not None:
        return DIALECTS.get(name)
    folded = _fold(name)
    same = [known for known in DIALECTS.names() if _fold(known) == folded]
    return DIALECTS.get(same[0] if same else _SAME_DIALECTS.get(folded, name))


def _fold(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


HITS_NOTE = "The alias hits is recall (the movies protocol); elsewhere Hits@k is hit_rate."


def metrics_table() -> list[list[str]]:
    """Return one row per metric: name, rankjury's own aliases, title."""
    return [[metric.name, ", ".join(metric.aliases), metric.title] for metric in METRICS]


def dialects_table() -> list[list[str]]:
    """Return one row per dialect: name and what it reproduces."""
    return [[dialect.name, dialect.about] for dialect in DIALECTS]


def dialect_facts(dialect: Dialect) -> dict[str, Any]:
    """Return what a dialect sets, as JSON values."""
    by_metric = {name: dict(options) for name, options in dialect.by_metric.items()}
    return {"name": dialect.name, "about": dialect.about, "common": dict(dialect.common), "by_metric": by_metric}


def metric_facts(metric: Metric) -> dict[str, Any]:
    """Return everything about one metric, as JSON values."""
    k = 10 if metric.cut == "required" else None
    variants = [str(Measure(metric.name, k, ((o.name, choice),))) for o in metric.options for choice in o.choices]
    return {
        "name": metric.name,
        "aliases": list(metric.aliases),
        "title": metric.title,
        "formula": metric.formula,
        "source": metric.source,
        "cut": metric.cut,
        "aggregate": metric.aggregate,
        "options": [
            {"name": o.name, "choices": list(o.choices), "default": o.default_value, "about": o.about}
            for o in metric.all_options
        ],
        "elsewhere": foreign_names(metric.name),
        "common_names": common_names({variant: variant for variant in variants}),
    }
