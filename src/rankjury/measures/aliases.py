"""The names by which other tools call their measures, read into rankjury's."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rankjury.errors import UnknownName, UsageError
from rankjury.measures.measure import METRICS, Measure, Value, split_spelling

Options = Mapping[str, Value]


@dataclass(frozen=True)
class MetricSpec:
    """What a foreign name means: a metric, its cut-off, and the options that the name itself sets."""

    name: str
    k: int | None = None
    options: Options = field(default_factory=dict)


NameReader = Callable[[str], MetricSpec | None]


# --- the names of trec_eval ---------------------------------------------------------------------------------------

_TREC_PLAIN: dict[str, MetricSpec] = {
    "map": MetricSpec("ap"),
    "gm_map": MetricSpec("gm_ap"),
    "Rprec": MetricSpec("r_precision"),
    "recip_rank": MetricSpec("rr"),
    "bpref": MetricSpec("bpref"),
    "gm_bpref": MetricSpec("gm_bpref"),
    "infAP": MetricSpec("inf_ap"),
    "11pt_avg": MetricSpec("iprec_mean"),
    "ndcg": MetricSpec("ndcg"),
    "set_P": MetricSpec("precision", None, {"over": "retrieved"}),
    "set_relative_P": MetricSpec("recall", None, {"over": "min"}),
    "set_recall": MetricSpec("recall"),
    "set_map": MetricSpec("set_ap"),
    "set_F": MetricSpec("f1"),
    "num_q": MetricSpec("num_q"),
    "num_ret": MetricSpec("num_ret"),
    "num_rel": MetricSpec("num_rel"),
    "num_rel_ret": MetricSpec("num_rel_ret"),
    "num_nonrel_judged_ret": MetricSpec("num_nonrel_ret"),
    "utility": MetricSpec("utility"),
    "rbp": MetricSpec("rbp", None, {"p": 0.9, "gain": "share"}),
}
_TREC_CUT: dict[str, MetricSpec] = {
    "P": MetricSpec("precision"),
    "recall": MetricSpec("recall"),
    "ndcg_cut": MetricSpec("ndcg"),
    "map_cut": MetricSpec("ap"),
    "success": MetricSpec("hit_rate"),
    "relative_P": MetricSpec("recall", None, {"over": "min"}),
    "unj": MetricSpec("unjudged"),
}
_TREC_LEVEL = {"iprec_at_recall": ("iprec", "at"), "Rprec_mult": ("r_precision", "times")}


def read_trec(text: str) -> MetricSpec | None:
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
        return MetricSpec(_TREC_CUT[name].name, int(number), _TREC_CUT[name].options)
    return None


# --- the names of ir_measures -------------------------------------------------------------------------------------

_IR_NAMES: dict[str, MetricSpec] = {
    **dict.fromkeys(("nDCG", "NDCG"), MetricSpec("ndcg")),
    **dict.fromkeys(("AP", "MAP"), MetricSpec("ap")),
    **dict.fromkeys(("RR", "MRR"), MetricSpec("rr")),
    **dict.fromkeys(("P", "Precision"), MetricSpec("precision")),
    **dict.fromkeys(("R", "Recall"), MetricSpec("recall")),
    **dict.fromkeys(("Rprec", "RPrec"), MetricSpec("r_precision")),
    **dict.fromkeys(("Bpref", "BPref"), MetricSpec("bpref")),
    "Success": MetricSpec("hit_rate"),
    "Judged": MetricSpec("judged"),
    "ERR": MetricSpec("err", None, {"max": 4.0}),
    "RBP": MetricSpec("rbp"),
    "SetP": MetricSpec("precision", None, {"over": "retrieved"}),
    "SetRelP": MetricSpec("recall", None, {"over": "min"}),
    "SetR": MetricSpec("recall"),
    "SetF": MetricSpec("f1"),
    "SetAP": MetricSpec("set_ap"),
    "infAP": MetricSpec("inf_ap"),
    "NumQ": MetricSpec("num_q"),
    "NumRel": MetricSpec("num_rel"),
    "NumRelRet": MetricSpec("num_rel_ret"),
}
_IR_GAINS: dict[str, Options] = {"log2": {"gain": "linear"}, "exp-log2": {"gain": "exp", "scores": "double"}}


def read_ir_measures(text: str) -> MetricSpec | None:
    match = re.fullmatch(r"IPrec(?:\((?P<options>[^()]*)\))?@(?P<level>\d*\.?\d+)", text)
    if match is not None:
        return _with_ir_options(MetricSpec("iprec", None, {"at": float(match["level"])}), match["options"] or "", text)
    try:
        name, _, k = split_spelling(text)
    except UsageError:
        return None
    if name == "NumRet":
        found = MetricSpec("num_rel_ret" if "rel" in text else "num_ret")
    elif name in _IR_NAMES:
        found = _IR_NAMES[name]
    else:
        return None
    inside = text[text.index("(") + 1 : text.rindex(")")] if "(" in text else ""
    return _with_ir_options(MetricSpec(found.name, k, found.options), inside, text)


def _with_ir_options(found: MetricSpec, inside: str, text: str) -> MetricSpec:
    options: dict[str, Value] = dict(found.options)
    known = Measure(found.name, found.k).metric
    relative = False
    for part in filter(None, (part.strip() for part in inside.split(","))):
        key, _, value = (piece.strip().strip("'\"") for piece in part.partition("="))
        if key == "relative" and found.name == "precision":
            relative = value == "True"
        elif key == "dcg":
            if value not in _IR_GAINS:
                raise UnknownName("value for dcg=", value, _IR_GAINS, where=text)
            options.update(_IR_GAINS[value])
        else:
            options[key] = known.option(key, where=text).read(value, where=text)
    if relative:
        return MetricSpec("recall", found.k, {**options, "over": "min"})
    return MetricSpec(found.name, found.k, options)


# --- the names of ranx --------------------------------------------------------------------------------------------

_RANX_NAMES: dict[str, MetricSpec] = {
    "hits": MetricSpec("hit_count"),
    "hit_rate": MetricSpec("hit_rate"),
    "precision": MetricSpec("precision"),
    "recall": MetricSpec("recall"),
    "f1": MetricSpec("f1"),
    "r-precision": MetricSpec("r_precision"),
    "mrr": MetricSpec("rr"),
    "map": MetricSpec("ap"),
    "dcg": MetricSpec("dcg"),
    "dcg_burges": MetricSpec("dcg", None, {"gain": "exp"}),
    "ndcg": MetricSpec("ndcg"),
    "ndcg_burges": MetricSpec("ndcg", None, {"gain": "exp"}),
    "bpref": MetricSpec("bpref"),
}


def read_ranx(text: str) -> MetricSpec | None:
    match = re.fullmatch(r"rbp[.@](?P<p>\d+)(?:-l(?P<level>\d+))?", text)
    if match is not None:
        level = _ranx_level(match["level"])
        return MetricSpec("rbp", None, {"p": float(f"0.{match['p']}"), "gain": "linear", **level})
    match = re.fullmatch(r"(?P<name>[a-z0-9_]+(?:-precision)?)(?:@(?P<k>\d+))?(?:-l(?P<level>\d+))?", text)
    if match is None or match["name"] not in _RANX_NAMES:
        return None
    found = _RANX_NAMES[match["name"]]
    return MetricSpec(
        found.name, int(match["k"]) if match["k"] else None, {**found.options, **_ranx_level(match["level"])}
    )


def _ranx_level(level: str | None) -> Options:
    return {} if level is None else {"rel": float(level)}


# --- the names of sentence-transformers, BEIR, scikit-learn and the driving protocol ------------------------------

SENTENCE_TRANSFORMERS = {
    "accuracy": MetricSpec("hit_rate"),
    "precision": MetricSpec("precision"),
    "recall": MetricSpec("recall"),
    "mrr": MetricSpec("rr"),
    "ndcg": MetricSpec("ndcg"),
    "map": MetricSpec("ap"),
}
BEIR = {
    "NDCG": MetricSpec("ndcg"),
    "MAP": MetricSpec("ap"),
    "Recall": MetricSpec("recall"),
    "P": MetricSpec("precision"),
    "MRR": MetricSpec("rr"),
    "R_cap": MetricSpec("recall", None, {"over": "min"}),
    "Accuracy": MetricSpec("hit_rate"),
}
SKLEARN = {
    "ndcg_score": MetricSpec("ndcg"),
    "dcg_score": MetricSpec("dcg"),
    "average_precision_score": MetricSpec("ap"),
}
ALFA = {
    "Recall": MetricSpec("recall"),
    "Precision": MetricSpec("precision"),
    "MAP": MetricSpec("ap"),
    "NDCG": MetricSpec("ndcg"),
}

# --- the names of libraries for recommenders ----------------------------------------------------------------------

RECTOOLS = {
    "NDCG": MetricSpec("ndcg"),
    "MAP": MetricSpec("ap"),
    "MRR": MetricSpec("rr"),
    "Precision": MetricSpec("precision"),
    "Recall": MetricSpec("recall"),
    "F1Beta": MetricSpec("f1"),
    "HitRate": MetricSpec("hit_rate"),
    "MeanInvUserFreq": MetricSpec("novelty"),
    "Serendipity": MetricSpec("serendipity"),
    "AvgRecPopularity": MetricSpec("mean_popularity"),
}
LENSKIT = {
    "NDCG": MetricSpec("ndcg"),
    "DCG": MetricSpec("dcg"),
    "AveragePrecision": MetricSpec("ap"),
    "RecipRank": MetricSpec("rr"),
    "Precision": MetricSpec("precision"),
    "Recall": MetricSpec("recall"),
    "Hit": MetricSpec("hit_rate"),
    "RBP": MetricSpec("rbp"),
}
RECBOLE = {
    "ndcg": MetricSpec("ndcg"),
    "map": MetricSpec("ap"),
    "mrr": MetricSpec("rr"),
    "precision": MetricSpec("precision"),
    "recall": MetricSpec("recall"),
    "hit": MetricSpec("hit_rate"),
}
REPLAY = {
    "NDCG": MetricSpec("ndcg"),
    "MAP": MetricSpec("ap"),
    "MRR": MetricSpec("rr"),
    "Precision": MetricSpec("precision"),
    "Recall": MetricSpec("recall"),
    "HitRate": MetricSpec("hit_rate"),
}
IMPLICIT = {
    "ndcg": MetricSpec("ndcg"),
    "map": MetricSpec("ap"),
    "precision": MetricSpec("pooled_precision"),
}


def names_at_k(names: Mapping[str, MetricSpec]) -> NameReader:
    def read(text: str) -> MetricSpec | None:
        try:
            name, given, k = split_spelling(text)
        except UsageError:
            return None
        if name not in names:
            return None
        found = names[name]
        known = METRICS.get(found.name)
        options = {key: known.option(key, where=text).read(value, where=text) for key, value in given.items()}
        return MetricSpec(found.name, k, {**found.options, **options})

    return read


_TOOLS: dict[str, dict[str, MetricSpec]] = {
    "trec_eval": {**_TREC_PLAIN, **{f"{name}_K": spelled for name, spelled in _TREC_CUT.items()}},
    "ir_measures": _IR_NAMES,
    "ranx": _RANX_NAMES,
    "sentence-transformers": SENTENCE_TRANSFORMERS,
    "beir": BEIR,
    "sklearn": SKLEARN,
    "alfa": ALFA,
    "rectools": RECTOOLS,
    "lenskit": LENSKIT,
    "recbole": RECBOLE,
    "replay": REPLAY,
    "implicit": IMPLICIT,
}


def foreign_names(metric: str) -> dict[str, list[str]]:
    """By which names other tools call a metric, in one variant or another."""
    found = {
        tool: [name for name, spelled in names.items() if spelled.name == metric] for tool, names in _TOOLS.items()
    }
    for name, (level, _) in _TREC_LEVEL.items():
        if level == metric:
            found["trec_eval"].append(f"{name}_X")
    return {tool: names for tool, names in found.items() if names}


FAMILIAR = sorted(
    {*_TREC_PLAIN, *_IR_NAMES, *_RANX_NAMES}
    | {f"{name}_10" for name in _TREC_CUT}
    | {f"{name}@10" for name in ("nDCG", "AP", "RR", "R", "P", "ndcg_burges")}
)
