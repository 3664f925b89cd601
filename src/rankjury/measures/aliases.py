"""Aliases: the names by which other tools call their measures, read into rankjury's."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rankjury.errors import UnknownName, UsageError
from rankjury.measures.measure import METRICS, Measure, Value, metric_aliases, split_spelling

Options = Mapping[str, Value]


@dataclass(frozen=True)
class MetricSpec:
    """Meaning of a foreign name: a metric, its cut-off, and the options that the name itself sets."""

    name: str
    k: int | None = None
    options: Options = field(default_factory=dict)


NameReader = Callable[[str], MetricSpec | None]


def _specs(*lines: str) -> dict[str, MetricSpec]:
    """Read ``foreign=own`` pairs, such as ``set_P=precision(over=retrieved)``; a bare name is the same in both."""
    specs = {}
    for pair in " ".join(lines).split():
        foreign, _, own = pair.partition("=")
        name, texts, _ = split_spelling(own or foreign)
        options = {key: float(text) if text[0].isdigit() else text for key, text in texts.items()}
        specs[foreign] = MetricSpec(name, None, options)
    return specs


# --- trec_eval ----------------------------------------------------------------------------------------------------

_TREC_PLAIN = _specs(
    "map=ap gm_map=gm_ap Rprec=r_precision recip_rank=rr bpref gm_bpref infAP=inf_ap 11pt_avg=iprec_mean ndcg",
    "set_P=precision(over=retrieved) set_relative_P=recall(over=min) set_recall=recall set_map=set_ap set_F=f1",
    "num_q num_ret num_rel num_rel_ret num_nonrel_judged_ret=num_nonrel_ret utility rbp=rbp(p=0.9,gain=share)",
)
_TREC_CUT = _specs(
    "P=precision recall ndcg_cut=ndcg map_cut=ap success=hit_rate relative_P=recall(over=min) unj=unjudged"
)
_TREC_LEVEL = {"iprec_at_recall": ("iprec", "at"), "Rprec_mult": ("r_precision", "times")}


def read_trec(text: str) -> MetricSpec | None:
    """Read a name of trec_eval, such as ``ndcg_cut_10``; None where it is none."""
    if text in _TREC_PLAIN:
        return _TREC_PLAIN[text]
    match = re.fullmatch(r"(\w+?)[_.](\d+(?:\.\d+)?)", text)
    if match is None:
        return None
    name, number = match[1], match[2]
    if name in _TREC_LEVEL:
        metric_name, option = _TREC_LEVEL[name]
        return MetricSpec(metric_name, None, {option: float(number)})
    if name in _TREC_CUT and number.isdecimal():
        return replace(_TREC_CUT[name], k=int(number))
    return None


# --- ir_measures --------------------------------------------------------------------------------------------------

_IR_NAMES = _specs(
    "nDCG=ndcg NDCG=ndcg AP=ap MAP=ap RR=rr MRR=rr P=precision Precision=precision R=recall Recall=recall",
    "Rprec=r_precision RPrec=r_precision Bpref=bpref BPref=bpref Success=hit_rate Judged=judged ERR=err(max=4) RBP=rbp",
    "SetP=precision(over=retrieved) SetRelP=recall(over=min) SetR=recall SetF=f1 SetAP=set_ap infAP=inf_ap",
    "NumQ=num_q NumRel=num_rel NumRelRet=num_rel_ret",
)
_IR_GAINS: dict[str, Options] = {"log2": {"gain": "linear"}, "exp-log2": {"gain": "exp", "scores": "double"}}


def read_ir_measures(text: str) -> MetricSpec | None:
    """Read a spelling of ir_measures, such as ``nDCG(dcg='exp-log2')@10``; None where it is none."""
    match = re.fullmatch(r"IPrec(?:\((?P<options>[^()]*)\))?@(?P<level>\d*\.?\d+)", text)
    if match is not None:
        return _with_ir_options(MetricSpec("iprec", None, {"at": float(match["level"])}), match["options"] or "", text)
    try:
        name, _, k = split_spelling(text)
    except UsageError:
        return None
    if name == "NumRet":
        spec = MetricSpec("num_rel_ret" if "rel" in text else "num_ret")
    elif name in _IR_NAMES:
        spec = _IR_NAMES[name]
    else:
        return None
    inside = text[text.index("(") + 1 : text.rindex(")")] if "(" in text else ""
    return _with_ir_options(replace(spec, k=k), inside, text)


def _with_ir_options(spec: MetricSpec, inside: str, text: str) -> MetricSpec:
    options: dict[str, Value] = dict(spec.options)
    known = Measure(spec.name, spec.k).metric
    relative = False
    for part in filter(None, (part.strip() for part in inside.split(","))):
        key, _, value = (piece.strip().strip("'\"") for piece in part.partition("="))
        if key == "relative" and spec.name == "precision":
            relative = value == "True"
        elif key == "dcg":
            if value not in _IR_GAINS:
                raise UnknownName("value for dcg=", value, _IR_GAINS, where=text)
            options.update(_IR_GAINS[value])
        else:
            options[key] = known.option(key, where=text).read(value, where=text)
    if relative:
        return MetricSpec("recall", spec.k, {**options, "over": "min"})
    return replace(spec, options=options)


# --- ranx ---------------------------------------------------------------------------------------------------------

_RANX_NAMES = _specs(
    "hits=hit_count hit_rate precision recall f1 r-precision=r_precision mrr=rr map=ap dcg dcg_burges=dcg(gain=exp)",
    "ndcg ndcg_burges=ndcg(gain=exp) bpref",
)


def read_ranx(text: str) -> MetricSpec | None:
    """Read a name of ranx, such as ``ndcg_burges@10`` or ``rbp.95-l2``; None where it is none."""
    match = re.fullmatch(r"rbp[.@](?P<p>\d+)(?:-l(?P<level>\d+))?", text)
    if match is not None:
        spec = MetricSpec("rbp", None, {"p": float(f"0.{match['p']}"), "gain": "linear"})
    else:
        match = re.fullmatch(r"(?P<name>[a-z0-9_]+(?:-precision)?)(?:@(?P<k>\d+))?(?:-l(?P<level>\d+))?", text)
        if match is None or match["name"] not in _RANX_NAMES:
            return None
        spec = replace(_RANX_NAMES[match["name"]], k=int(match["k"]) if match["k"] else None)
    return spec if match["level"] is None else replace(spec, options={**spec.options, "rel": float(match["level"])})


# --- MTEB ---------------------------------------------------------------------------------------------------------

_MTEB_NAMES = _specs("ndcg map=ap recall precision mrr=rr hit_rate")


def read_mteb(text: str) -> MetricSpec | None:
    """Read a name of MTEB, such as ``ndcg_at_10``; None where it is none. Its ``accuracy`` is recall at 1."""
    if text == "accuracy":
        return MetricSpec("recall", 1)
    name, separator, number = text.rpartition("_at_")
    if not separator or name not in _MTEB_NAMES or not number.isdecimal():
        return None
    return replace(_MTEB_NAMES[name], k=int(number))


# --- tools that write name@k --------------------------------------------------------------------------------------

NAMES: dict[str, dict[str, MetricSpec]] = {
    "trec_eval": {**_TREC_PLAIN, **{f"{name}_K": spec for name, spec in _TREC_CUT.items()}},
    "ir_measures": _IR_NAMES,
    "ranx": _RANX_NAMES,
    "mteb": {f"{name}_at_K": spec for name, spec in _MTEB_NAMES.items()},
    "sentence-transformers": _specs("accuracy=hit_rate precision recall mrr=rr ndcg map=ap"),
    "beir": _specs("NDCG=ndcg MAP=ap Recall=recall P=precision MRR=rr R_cap=recall(over=min) Accuracy=hit_rate"),
    "sklearn": _specs("ndcg_score=ndcg dcg_score=dcg average_precision_score=ap"),
    "alfa": _specs("Recall=recall Precision=precision MAP=ap NDCG=ndcg"),
    "rectools": _specs(
        "NDCG=ndcg MAP=ap MRR=rr Precision=precision Recall=recall F1Beta=f1 HitRate=hit_rate",
        "MeanInvUserFreq=novelty Serendipity=serendipity AvgRecPopularity=mean_popularity",
    ),
    "lenskit": _specs(
        "NDCG=ndcg DCG=dcg AveragePrecision=ap RecipRank=rr Precision=precision Recall=recall Hit=hit_rate RBP=rbp"
    ),
    "recbole": _specs("ndcg map=ap mrr=rr precision recall hit=hit_rate"),
    "replay": _specs("NDCG=ndcg MAP=ap MRR=rr Precision=precision Recall=recall HitRate=hit_rate"),
    "implicit": _specs("ndcg map=ap precision=pooled_precision"),
}
"""By tool, the names of its measures."""


def names_at_k(tool: str) -> NameReader:
    """Return the reader of a tool's names, with options and a cut-off as rankjury writes them."""

    def read(text: str) -> MetricSpec | None:
        try:
            name, texts, k = split_spelling(text)
        except UsageError:
            return None
        if name not in NAMES[tool]:
            return None
        spec = NAMES[tool][name]
        known = METRICS.get(spec.name)
        options = {key: known.option(key, where=text).read(value, where=text) for key, value in texts.items()}
        return MetricSpec(spec.name, k, {**spec.options, **options})

    return read


def foreign_names(metric: str) -> dict[str, list[str]]:
    """Return the names by which other tools call a metric, in one variant or another, by tool."""
    names = {tool: [name for name, spec in specs.items() if spec.name == metric] for tool, specs in NAMES.items()}
    names["trec_eval"] += [f"{name}_X" for name, (level, _) in _TREC_LEVEL.items() if level == metric]
    return {tool: names_of_tool for tool, names_of_tool in names.items() if names_of_tool}


# --- spellings of no tool in particular ---------------------------------------------------------------------------

_SHORT_NAMES = {
    **{"p": "precision", "r": "recall", "hr": "hit_rate", "hitrate": "hit_rate", "acc": "hit_rate"},
    **{"rprec": "r_precision", "average_precision": "ap", "reciprocal_rank": "rr", "mean_average_precision": "ap"},
}
"""By lower-case name, what is meant where no tool spells its name so."""
_AT = re.compile(r"\s*@\s*")
_AT_WORD = re.compile(r"(.*\w)[_-]at[_-](\d+)")
_NUMBER_BEHIND = re.compile(r"([A-Za-z][A-Za-z_]*?)[-_:. ]?(\d+)")


def respell(text: str) -> str:
    """Return a spelling with ``@``, and without blanks around it: ``ndcg@10`` for ``ndcg_at_10`` and ``ndcg @ 10``."""
    return _AT_WORD.sub(r"\1@\2", text) if _AT_WORD.fullmatch(text) else _AT.sub("@", text)


def common_spelling(text: str) -> str | None:
    """Return rankjury's spelling for one that differs by its case or is a common short name; None where it is not.

    ``Hits@10`` has none: rankjury's own hits is recall, and elsewhere it is hit_rate.
    """
    try:
        name, _, _ = split_spelling(text)
    except UsageError:
        return None
    folded = name.lower().replace("-", "_")
    known = {*METRICS.names(), *metric_aliases()} - {"hits"}
    own = folded if folded in known else _SHORT_NAMES.get(folded)
    return None if own is None else own + text.strip()[len(name) :]


def with_cutoff(text: str) -> str | None:
    """Return ``ndcg@10`` for ``ndcg10``, ``ndcg-10`` and the like; None for others."""
    match = _NUMBER_BEHIND.fullmatch(text)
    return f"{match[1]}@{match[2]}" if match else None


FAMILIAR = sorted(
    {*_TREC_PLAIN, *_IR_NAMES, *_RANX_NAMES}
    | {f"{name}_10" for name in _TREC_CUT}
    | {f"{name}@10" for name in ("nDCG", "AP", "RR", "R", "P", "ndcg_burges")}
)
