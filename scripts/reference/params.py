"""Pages of engines, recommenders and splits, and of fusion, embedding models and keyword mappers."""

import re
from collections.abc import Mapping
from inspect import getdoc

from rankjury.core.importing import OPTIONAL_LIBRARIES
from rankjury.core.params import _LARGEST as LARGEST, Param
from rankjury.errors import install_command
from rankjury.labeling.keywords.mapping import MAPPERS
from rankjury.recsys.models import RECOMMENDERS, Recommender
from rankjury.recsys.splitting import SPLITS, SplitKind
from rankjury.retrieval.embedding.models import MODELS
from rankjury.retrieval.engines.base import ENGINES, Engine
from rankjury.retrieval.fusion.fusion import METHODS, NORMALIZATIONS
from reference.markdown import code, codes, fence, joined, number, page, sentence, table, text

_PHASES = {
    "open_params": ("open", "How the index is opened"),
    "build_params": ("build", "How it is built"),
    "search_params": ("search", "How it is searched"),
}
"""By attribute of an engine, the key of a plan and the heading of the parameters."""


def params_table(params: Mapping[str, Param], *, search: bool = False) -> list[str]:
    """Return the table of parameters with defaults and bounds."""
    rows = [
        [code(name), _default(param), _bounds(param), _help(param, search=search)] for name, param in params.items()
    ]
    return table(["parameter", "default", "values", "what it does"], rows)


def _default(param: Param) -> str:
    if param.auto and not param.default:
        return f"{code(param.default)} (chosen from the training data)"
    if isinstance(param.default, bool):
        return code(str(param.default).lower())
    return code(param.default) if param.default != "" else "empty"


def _bounds(param: Param) -> str:
    if param.choices:
        return codes(param.choices)
    kinds = {bool: "true or false", int: "whole number", float: "number", str: "text"}
    kind = kinds[type(param.default)]
    if param.min is not None and param.max is not None:
        return f"{kind} from {number(param.min)} to {number(param.max)}"
    if param.min is not None:
        return f"{kind} from {number(param.min)}"
    return kind if param.max is None else f"{kind} up to {number(param.max)}"


def _help(param: Param, *, search: bool) -> str:
    more = " Recall does not fall as it grows." if search and param.monotonic_recall else ""
    return sentence(param.help) + more


def engines_page() -> str:
    """Return the page of vector engines."""
    rows = [
        [f"[`{engine.name}`](#{engine.name})", sentence(engine.description), _installed_by(engine.extra)]
        for engine in ENGINES
    ]
    plan = ["[systems.hnsw]", 'kind = "index"', 'path = "items.npy"', 'engine = "faiss-hnsw"']
    plan += ["build = { m = 16 }", "search = { ef_search = 64 }"]
    return page(
        "Engines",
        "The vector indexes that rankjury builds, searches, times and compares with exact search.",
        [
            "A plan names an engine and its parameters in a system of the kind `index` "
            "([keys](plan.md#kind-of-system-index)); `rankjury sweep` and `rankjury.try_index` take the same names:",
            "",
            *fence("toml", plan),
            "",
            "What is measured is explained in [approximate search](../explanation/ann.md) and "
            "[latency](../explanation/latency.md). `rankjury list engines NAME` prints the parameters of an engine. A "
            "parameter that does not fit the corpus is refused before anything is built. Whole numbers are at most "
            f"{number(LARGEST)} unless the table says otherwise.",
        ],
        ["## All engines", "", *table(["engine", "what it is", "installed by"], rows)],
        *map(_engine, ENGINES),
    )


def _installed_by(extra: str | None) -> str:
    return "rankjury itself" if extra is None else code(install_command(extra))


def _engine(engine: type[Engine]) -> list[str]:
    filters = "in the index" if engine.native_filter else "by searching deeper and dropping results that do not pass"
    facts = [
        ["installed by", _installed_by(engine.extra)],
        ["similarities", codes(engine.metrics)],
        ["approximate", "yes" if engine.approximate else "no"],
        ["exact mode for comparison", "yes" if engine.exact_mode else "no"],
        ["filters", filters],
    ]
    blocks = [[f"## {engine.name}"], [sentence(engine.description)], table(["property", "value"], facts)]
    for attribute, (key, heading) in _PHASES.items():
        params: Mapping[str, Param] = getattr(engine, attribute)
        if params:
            blocks += [[f"{heading} ({code(key)}):"], params_table(params, search=attribute == "search_params")]
    if not any(getattr(engine, attribute) for attribute in _PHASES):
        blocks.append(["There are no parameters to set."])
    return joined(blocks)


def recommenders_page() -> str:
    """Return the page of recommenders and splits."""
    names = RECOMMENDERS.names()
    rows = [
        [
            f"[`{name}`](#{name})",
            sentence(RECOMMENDERS.get(name).description),
            _installed_by(RECOMMENDERS.get(name).extra),
        ]
        for name in names
    ]
    splits = [[f"[`{name}`](#split-{name})", sentence(SPLITS.get(name).description)] for name in SPLITS.names()]
    plan = ["[gold]", 'kind = "interactions"', 'path = "ratings.csv"']
    plan += ['split = { kind = "temporal", fractions = "0.8/0.1/0.1" }', ""]
    plan += ["[systems.als]", 'kind = "recommender"', 'model = "als"', "params = { factors = 64 }"]
    return page(
        "Recommenders and splits",
        "The recommenders that rankjury fits and evaluates, the splits of a log, and their parameters.",
        [
            "A plan names a split in its gold of the kind `interactions` and a model in a system of the kind "
            "`recommender` ([keys](plan.md#kind-of-system-recommender)):",
            "",
            *fence("toml", plan),
            "",
            'In Python, `rankjury.held_out("ratings.csv", kind="temporal")` splits a log, and '
            '`rankjury.recommend(task, "als", k=20)` fits a model and ranks the catalogue. `rankjury list recommenders '
            "NAME` prints the parameters of a model, `rankjury split --help` those of all splits. What is measured is "
            "explained in [recommenders](../explanation/recommenders.md).",
        ],
        ["## All recommenders", "", *table(["model", "what it is", "installed by"], rows)],
        ["## All splits", "", *table(["kind", "what it does"], splits)],
        *(_recommender(name, RECOMMENDERS.get(name)) for name in names),
        *(_split(name, SPLITS.get(name)) for name in SPLITS.names()),
    )


def _recommender(name: str, kind: type[Recommender]) -> list[str]:
    facts = [["installed by", _installed_by(kind.extra)]]
    if kind.libraries:
        facts.append(["libraries", codes(kind.libraries)])
    facts.append(["scores differ between users", "yes" if kind.personal else "no: everybody gets the same order"])
    if kind.simpler:
        simple = ", ".join(code(f"{key}={value}") for key, value in kind.simpler.items())
        facts.append(["always tried when tuning", simple])
    params = params_table(kind.params) if kind.params else ["There are no parameters to set."]
    return joined([[f"## {name}"], [sentence(kind.description)], table(["property", "value"], facts), params])


def _split(name: str, kind: SplitKind) -> list[str]:
    facts = [["needs times", "yes" if kind.timed else "no"]]
    if kind.folds_param:
        facts.append(["splits", f"several: {code(kind.folds_param)} of them, {code(kind.fold_param)} selects one"])
    params = params_table(kind.params) if kind.params else ["There are no parameters to set."]
    return joined([[f"## Split: {name}"], [sentence(kind.description)], table(["property", "value"], facts), params])


def retrieval_page() -> str:
    """Return the page of similarities, fusion, embedding models and keyword mappers."""
    methods = [
        [code(method.name), sentence(method.description), "`c`" if method.has_c else "", code(method.normalise or "")]
        for method in METHODS
    ]
    sources = [f"- {code(method.name)}: {text(source)}" for method in METHODS if (source := _source(method.function))]
    normalizations = [
        [code(name), sentence(_first_line(way))] for name, way in NORMALIZATIONS.items() if name != "none"
    ]
    mappers = [[code(name), sentence(MAPPERS.get(name).about)] for name in MAPPERS.names()]  # type: ignore[attr-defined]
    models = [
        [code(name), sentence(_first_line(MODELS.get(name))), _installed_by(OPTIONAL_LIBRARIES[name][1])]
        for name in MODELS.names()
    ]
    return page(
        "Fusion, embedding models and keyword mappers",
        "The methods that plans, commands and Python functions take by name, apart from engines and recommenders.",
        [
            "## Fusion methods",
            "",
            '`rankjury.fuse(rankings, rankjury.Fusion("rrf", weights=(0.7, 0.3)))` fuses rankings in Python, a system '
            "of the kind `fusion` does in a plan ([keys](plan.md#kind-of-system-fusion)), and `rankjury tune` finds "
            "weights. Equal fused scores go by id.",
            "",
            *table(["method", "score of an item", "constant", "default normalization"], methods),
            "",
            *sources,
            "",
            "Options of all methods: `weights` (one per ranking, 1 by default) and `depth` (how many items of each "
            "list count, all by default). A fusion is also spelled as text, in `rankjury.Fusion.parse` and in reports: "
            "`rrf(c=60,depth=50,weights=0.7:0.3)`.",
        ],
        [
            "## Normalization of scores",
            "",
            "Within each query of each list; methods without a default normalization use ranks only.",
            "",
            *table(["name", "value of an item"], [["`none`", "The score itself."], *normalizations]),
        ],
        [
            "## Embedding models",
            "",
            "`rankjury embed --model MODEL`, a plan's systems of the kind `texts`, `lab.model` and the mappers below "
            "take one of these:",
            "",
            *table(["model", "what it is", "installed by"], [*models, *_MODELS_BY_PATH]),
            "",
            "Nothing is downloaded. `module:function` is found among the installed modules and in the current folder.",
        ],
        [
            "## Keyword mappers",
            "",
            "`rankjury keywords --method METHOD` and `gold.mapping.method` of a plan map texts onto the keywords of a "
            "vocabulary ([explanation](../explanation/keywords.md)). `keybert` needs "
            f"{code(install_command('keybert'))}:",
            "",
            *table(["method", "what it does"], mappers),
        ],
    )


_MODELS_BY_PATH = [
    [
        "a folder",
        "A sentence-transformers model as `SentenceTransformer.save` writes it; its version is a hash of its files.",
        code(install_command("sentence-transformers")),
    ],
    [
        "`module:function`",
        "A function from a list of texts to an array; its version is `function.version`, or a hash of its file.",
        "you",
    ],
]


def _first_line(thing: object) -> str:
    return (getdoc(thing) or "").partition("\n")[0]


def _source(function: object) -> str:
    """Return the source that a docstring names after ``Source:``."""
    found = re.search(r"Source: (.*)", " ".join((getdoc(function) or "").split()))
    return found[1] if found else ""
