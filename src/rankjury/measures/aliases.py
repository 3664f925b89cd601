"""The names by which other tools call their measures, read into rankjury's."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rankjury.errors import UnknownName, UsageError
from rankjury.measures.measure import METRICS, Measure, Value, split_spelling

Options = Mapping[str, Value]


@dataclass(frozen=True)
class Spelled:
    """What a foreign name means: a metric, its cut-off, and the options that the name itself sets."""

    name: str
    k: int | None = None
    options: Options = field(default_factory=dict)


Reader = Callable[[str], Spelled | None]


# --- the names of trec_eval ---------------------------------------------------------------------------------------

_TREC_PLAIN: dict[str, Spelled] = {
    "map": Spelled("ap"),
    "gm_map": Spelled("gm_ap"),
    "Rprec": Spelled("r_precision"),
    "recip_rank": Spelled("rr"),
    "bpref": Spelled("bpref"),
    "gm_bpref": Spelled("gm_bpref"),
    "infAP": Spelled("inf_ap"),
    "11pt_avg": Spelled("iprec_mean"),
    "ndcg": Spelled("ndcg"),
    "set_P": Spelled("precision", None, {"over": "retrieved"}),
    "set_relative_P": Spelled("recall", None, {"over": "min"}),
    "set_recall": Spelled("recall"),
    "set_map": Spelled("set_ap"),
    "set_F": Spelled("f1"),
    "num_q": Spelled("num_q"),
    "num_ret": Spelled("num_ret"),
    "num_rel": Spelled("num_rel"),
    "num_rel_ret": Spelled("num_rel_ret"),
    "num_nonrel_judged_ret": Spelled("num_nonrel_ret"),
    "utility": Spelled("utility"),
    "rbp": Spelled("rbp", None, {"p": 0.9, "gain": "share"}),
}
_TREC_CUT: dict[str, Spelled] = {
    "P": Spelled("precision"),
    "recall": Spelled("recall"),
    "ndcg_cut": Spelled("ndcg"),
    "map_cut": Spelled("ap"),
    "success": Spelled("hit_rate"),
    "relative_P": Spelled("recall", None, {"over": "min"}),
    "unj": Spelled("unjudged"),
}
_TREC_LEVEL = {"iprec_at_recall": ("iprec", "at"), "Rprec_mult": ("r_precision", "times")}


def read_trec(text: str) -> Spelled | None:
    if text in _TREC_PLAIN:
        return _TREC_PLAIN[text]
    match = re.fullmatch(r"(\w+?)[_.](\d+(?:\.\d+)?)", text)
    if match is None:
        return None
    name, number = match[1], match[2]
    if name in _TREC_LEVEL:
        metric_name, option = _TREC_LEVEL[name]
        return Spelled(metric_name, None, {option: float(number)})
    if name in _TREC_CUT and number.isdecimal():
        return Spelled(_TREC_CUT[name].name, int(number), _TREC_CUT[name].options)
    return None


# --- the names of ir_measures -------------------------------------------------------------------------------------

_IR_NAMES: dict[str, Spelled] = {
    **dict.fromkeys(("nDCG", "NDCG"), Spelled("ndcg")),
    **dict.fromkeys(("AP", "MAP"), Spelled("ap")),
    **dict.fromkeys(("RR", "MRR"), Spelled("rr")),
    **dict.fromkeys(("P", "Precision"), Spelled("precision")),
    **dict.fromkeys(("R", "Recall"), Spelled("recall")),
    **dict.fromkeys(("Rprec", "RPrec"), Spelled("r_precision")),
    **dict.fromkeys(("Bpref", "BPref"), Spelled("bpref")),
    "Success": Spelled("hit_rate"),
    "Judged": Spelled("judged"),
    "ERR": Spelled("err", None, {"max": 4.0}),
    "RBP": Spelled("rbp"),
    "SetP": Spelled("precision", None, {"over": "retrieved"}),
    "SetRelP": Spelled("recall", None, {"over": "min"}),
    "SetR": Spelled("recall"),
    "SetF": Spelled("f1"),
    "SetAP": Spelled("set_ap"),
    "infAP": Spelled("inf_ap"),
    "NumQ": Spelled("num_q"),
    "NumRel": Spelled("num_rel"),
    "NumRelRet": Spelled("num_rel_ret"),
}
_IR_GAINS: dict[str, Options] = {"log2": {"gain": "linear"}, "exp-log2": {"gain": "exp", "scores": "double"}}


def read_ir_measures(text: str) -> Spelled | None:
    match = re.fullmatch(r"IPrec(?:\((?P<options>[^()]*)\))?@(?P<level>\d*\.?\d+)", text)
    if match is not None:
        return _with_ir_options(Spelled("iprec", None, {"at": float(match["level"])}), match["options"] or "", text)
    try:
        name, _, k = split_spelling(text)
    except UsageError:
        return None
    if name == "NumRet":
        found = Spelled("num_rel_ret" if "rel" in text else "num_ret")
    elif name in _IR_NAMES:
        found = _IR_NAMES[name]
    else:
        return None
    inside = text[text.index("(") + 1 : text.rindex(")")] if "(" in text else ""
    return _with_ir_options(Spelled(found.name, k, found.options), inside, text)


def _with_ir_options(found: Spelled, inside: str, text: str) -> Spelled:
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
        return Spelled("recall", found.k, {**options, "over": "min"})
    return Spelled(found.name, found.k, options)


# --- the names of ranx --------------------------------------------------------------------------------------------

_RANX_NAMES: dict[str, Spelled] = {
    "hits": Spelled("hit_count"),
    "hit_rate": Spelled("hit_rate"),
    "precision": Spelled("precision"),
    "recall": Spelled("recall"),
    "f1": Spelled("f1"),
    "r-precision": Spelled("r_precision"),
    "mrr": Spelled("rr"),
    "map": Spelled("ap"),
    "dcg": Spelled("dcg"),
    "dcg_burges": Spelled("dcg", None, {"gain": "exp"}),
    "ndcg": Spelled("ndcg"),
    "ndcg_burges": Spelled("ndcg", None, {"gain": "exp"}),
    "bpref": Spelled("bpref"),
}


def read_ranx(text: str) -> Spelled | None:
    match = re.fullmatch(r"rbp[.@](?P<p>\d+)(?:-l(?P<level>\d+))?", text)
    if match is not None:
        level = _ranx_level(match["level"])
        return Spelled("rbp", None, {"p": float(f"0.{match['p']}"), "gain": "linear", **level})
    match = re.fullmatch(r"(?P<name>[a-z0-9_]+(?:-precision)?)(?:@(?P<k>\d+))?(?:-l(?P<level>\d+))?", text)
    if match is None or match["name"] not in _RANX_NAMES:
        return None
    found = _RANX_NAMES[match["name"]]
    return Spelled(
        found.name, int(match["k"]) if match["k"] else None, {**found.options, **_ranx_level(match["level"])}
    )


def _ranx_level(level: str | None) -> Options:
    return {} if level is None else {"rel": float(level)}


# --- the names of sentence-transformers, BEIR, scikit-learn and the driving protocol ------------------------------

SENTENCE_TRANSFORMERS = {
    "accuracy": Spelled("hit_rate"),
    "precision": Spelled("precision"),
    "recall": Spelled("recall"),
    "mrr": Spelled("rr"),
    "ndcg": Spelled("ndcg"),
    "map": Spelled("ap"),
}
BEIR = {
    "NDCG": Spelled("ndcg"),
    "MAP": Spelled("ap"),
    "Recall": Spelled("recall"),
    "P": Spelled("precision"),
    "MRR": Spelled("rr"),
    "R_cap": Spelled("recall", None, {"over": "min"}),
    "Accuracy": Spelled("hit_rate"),
}
SKLEARN = {
    "ndcg_score": Spelled("ndcg"),
    "dcg_score": Spelled("dcg"),
    "average_precision_score": Spelled("ap"),
}
ALFA = {
    "Recall": Spelled("recall"),
    "Precision": Spelled("precision"),
    "MAP": Spelled("ap"),
    "NDCG": Spelled("ndcg"),
}

# --- the names of libraries for recommenders ----------------------------------------------------------------------

RECTOOLS = {
    "NDCG": Spelled("ndcg"),
    "MAP": Spelled("ap"),
    "MRR": Spelled("rr"),
    "Precision": Spelled("precision"),
    "Recall": Spelled("recall"),
    "F1Beta": Spelled("f1"),
    "HitRate": Spelled("hit_rate"),
    "MeanInvUserFreq": Spelled("novelty"),
    "Serendipity": Spelled("serendipity"),
    "AvgRecPopularity": Spelled("mean_popularity"),
}
LENSKIT = {
    "NDCG": Spelled("ndcg"),
    "DCG": Spelled("dcg"),
    "AveragePrecision": Spelled("ap"),
    "RecipRank": Spelled("rr"),
    "Precision": Spelled("precision"),
    "Recall": Spelled("recall"),
    "Hit": Spelled("hit_rate"),
    "RBP": Spelled("rbp"),
}
RECBOLE = {
    "ndcg": Spelled("ndcg"),
    "map": Spelled("ap"),
    "mrr": Spelled("rr"),
    "precision": Spelled("precision"),
    "recall": Spelled("recall"),
    "hit": Spelled("hit_rate"),
}
REPLAY = {
    "NDCG": Spelled("ndcg"),
    "MAP": Spelled("ap"),
    "MRR": Spelled("rr"),
    "Precision": Spelled("precision"),
    "Recall": Spelled("recall"),
    "HitRate": Spelled("hit_rate"),
}
IMPLICIT = {
    "ndcg": Spelled("ndcg"),
    "map": Spelled("ap"),
    "precision": Spelled("pooled_precision"),
}


def names_at_k(names: Mapping[str, Spelled]) -> Reader:
    def read(text: str) -> Spelled | None:
        try:
            name, given, k = split_spelling(text)
        except UsageError:
            return None
        if name not in names:
            return None
        found = names[name]
        known = METRICS.get(found.name)
        options = {key: known.option(key, where=text).read(value, where=text) for key, value in given.items()}
        return Spelled(found.name, k, {**found.options, **options})

    return read


_TOOLS: dict[str, dict[str, Spelled]] = {
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


def names_elsewhere(metric: str) -> dict[str, list[str]]:
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
