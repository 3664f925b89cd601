"""A commented plan to start from, filled in with what lies in the folder."""

import re
from collections.abc import Callable
from json import dumps
from pathlib import Path

from karat.errors import UnknownName
from karat.gold.reference import measures_for
from karat.plan.looking import Found
from karat.registry import Registry

__all__ = ["KINDS", "draft", "kind_for"]

Draft = Callable[[Found], list[str]]
KINDS: Registry[tuple[str, Draft]] = Registry("kind of plan", home="karat.plan.drafting", group="karat.plan.drafts")
"""By name: what it is for, and the lines of its gold and systems."""
ALIASES = {"movies": "spaces", "papers": "reference", "fashion": "search"}
SCHEMA_FILE = "karat.schema.json"


def kind_for(found: Found) -> str:
    """The kind of plan that the files call for."""
    if found.ordered:
        return "spaces"
    if found.runs and found.golds:
        return "runs"
    if found.golds and found.vectors:
        return "search"
    if len(found.vectors) > 1:
        return "reference"
    return "runs"


def draft(kind: str, found: Found, name: str) -> str:
    """The text of a plan."""
    chosen = ALIASES.get(kind, kind)
    if KINDS.find(chosen) is None:
        raise UnknownName("kind of plan", kind, [*KINDS.names(), *ALIASES])
    about, lines_of = KINDS.get(chosen)
    return (
        "\n".join([f"#:schema {SCHEMA_FILE}", f"# {about}", f"name = {_text(name)}", *lines_of(found), *_REST]) + "\n"
    )


_REST = [
    "",
    "# [statistics]             # how intervals and tests are made",
    "# resamples = 10000",
    "# level = 0.95",
    "# seed = 0",
    "",
    "# [[target]]               # something that must hold; karat run then exits with 4 where it does not",
    '# require = "ndcg@10 >= 0.6"',
    '# slice = "type=question"',
    "",
    "[meta]                     # what to record with the results",
    '# model = "all-MiniLM-L6-v2"',
    '# dataset_version = "2026-11"',
]


def _register(name: str, about: str) -> Callable[[Draft], Draft]:
    def add(function: Draft) -> Draft:
        KINDS.add(name, (about, function))
        return function

    return add


def _top(measures: list[str], cutoffs: list[int], baseline: str | None, found: Found, outputs: list[str]) -> list[str]:
    lines = ['# baseline = "…"']
    if baseline:
        lines = [f"baseline = {_text(baseline)}      # the others are compared with it"]
    lines += ["", f"measures = [{', '.join(_text(one) for one in measures)}]   # karat metrics lists them"]
    if cutoffs:
        lines.append(f"cutoffs = {sorted(cutoffs)}           # of measures that have none")
        main = [_text(f"{measure}@{cutoffs[0]}") for measure in measures[:4]]
        lines.append(f"headline = [{', '.join(main)}]   # printed and tested; the others are in the files")
    of_queries = {**found.tables, **(found.item_tables if found.queries_are_items else {})}
    slices = next((_text(f"{name}:{attributes[0]}") for name, attributes in of_queries.items()), None)
    lines.append(
        f"slices = {slices}" if slices else '# slices = "queries.csv:type"   # attributes of queries to break down by'
    )
    if found.item_tables and not found.queries_are_items:
        name, attributes = next(iter(found.item_tables.items()))
        lines.append(f"item_slices = {_text(f'{name}:{attributes[0]}')}")
    if found.names:
        lines.append(f"names = {_text(found.names)}   # printed instead of ids")
    lines.append(f"outputs = [{', '.join(_text(one) for one in outputs)}]")
    return lines


def _text(value: str) -> str:
    """As TOML, which escapes as JSON does."""
    return dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    """A key of TOML: quoted unless it is of plain letters."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _name_of(path: str, taken: set[str]) -> str:
    """A name for a system: the key of its array, or the stem of its file."""
    file, _, key = path.partition(":")
    base = key or Path(file).name.partition(".")[0]
    bare = (character.isascii() and (character.isalnum() or character in "-_") for character in base)
    name = "".join(character if fits else "-" for character, fits in zip(base, bare, strict=True)) or "system"
    while name in taken:
        name += "-2"
    taken.add(name)
    return name


@_register("runs", "Saved runs against graded labels.")
def _runs(found: Found) -> list[str]:
    taken: set[str] = set()
    runs = {_name_of(path, taken): path for path in found.runs or ["bm25.trec", "dense.trec"]}
    measures = ["ndcg@10", "ap", "rr", "recall@100", "precision@10"]
    baseline = next(iter(runs)) if len(runs) > 1 else None
    lines = _top(measures, [], baseline, found, ["report.json", "report.md"])
    lines += ["", "[gold]", 'kind = "labels"', f"path = {_text(next(iter(found.golds), 'qrels.txt'))}"]
    lines.append("# relevant_from = 2        # the grade from which an item is relevant")
    for name, path in runs.items():
        lines += ["", f"[systems.{_key(name)}]", 'kind = "run"', f"path = {_text(path)}"]
    return lines


@_register("spaces", "Embedding spaces of one set of items, fused, against ordered lists.")
def _spaces(found: Found) -> list[str]:
    gold, aspects = next(iter(found.ordered.items()), ("gold.json", ["overall"]))
    taken = {"combined", "random"}
    spaces = {_name_of(path, taken): path for path in found.vectors or ["vectors.npz:anchor", "vectors.npz:content"]}
    lines = _top(["ndcg(gain=exp)", "hits", "rr"], [5, 10], next(iter(spaces)), found, ["karat.json", "scores.csv"])
    lines += ["", "[gold]", 'kind = "ordered"', f"path = {_text(gold)}", f"# its aspects: {', '.join(aspects)}"]
    for name, path in spaces.items():
        aspect = next((one for one in aspects if one.rstrip("s") in name or name.rstrip("s") in one), aspects[0])
        lines += ["", f"[systems.{_key(name)}]", 'kind = "vectors"', f"path = {_text(path)}", f"gold = {_text(aspect)}"]
        lines += ['# metric = "cosine"        # or ip, l2'] if name == next(iter(spaces)) else []
    if len(spaces) > 1:
        lines += [
            "",
            "[systems.combined]",
            'kind = "fusion"',
            f"of = [{', '.join(map(_text, spaces))}]",
            'method = "rrf"',
        ]
        lines += [
            f"weights = {{ {', '.join(f'{_key(name)} = 1' for name in spaces)} }}   # karat tune searches better ones"
        ]
        lines += [
            "c = 60",
            "# depth = 50               # only so many of each list count",
            f"gold = {_text(aspects[0])}",
        ]
    lines += ["", "[systems.random]          # the exact expectation of a random order", 'kind = "random"']
    return [*lines, f"gold = {_text(aspects[0])}"]


@_register("reference", "Candidate models against a reference model's neighbours.")
def _reference(found: Found) -> list[str]:
    vectors = found.vectors or ["reference.npy", "candidate.npy"]
    reference = found.reference or vectors[0]
    taken: set[str] = set()
    candidates = {_name_of(path, taken): path for path in vectors if path != reference} or {
        "candidate": "candidate.npy"
    }
    measures = measures_for()
    baseline = next(iter(candidates)) if len(candidates) > 1 else None
    lines = _top(measures, [10, 1, 3, 5], baseline, found, ["report.json", "metrics_vs_k.png"])
    lines += ["", "[[output]]", 'file = "{system}_results.csv"', 'form = "cutoffs"         # a row for each k']
    lines += ["", "[[output]]", 'file = "queries.parquet"', 'form = "queries"         # every query\'s scores']
    lines += ["", "[gold]", 'kind = "reference"', f"path = {_text(reference)}"]
    lines += [
        "# sample = 500             # ask only so many of the items, drawn by seed and id",
        '# ids = "items.csv:id"     # ids of the rows',
        '# ties = "any"             # all that tie with the k-th count, with measures of gold=tied',
    ]
    for name, path in candidates.items():
        lines += ["", f"[systems.{_key(name)}]", 'kind = "vectors"', f"path = {_text(path)}"]
    name, path = next(iter(candidates.items()))
    lines += [
        "",
        f"# [systems.{_key(f'{name}-int8')}]   # a smaller form of the same matrix",
        '# kind = "vectors"',
        f"# path = {_text(path)}",
        '# dtype = "int8"           # or float16, binary; truncate = 128 keeps the first dimensions',
    ]
    return [*lines, "", "[agreement]                # similarities of pairs, by the reference and by each system",
            "pairs = 20000"]  # fmt: skip


@_register("search", "Search by vectors of queries, against graded labels.")
def _search(found: Found) -> list[str]:
    taken: set[str] = set()
    spaces = {_name_of(path, taken): path for path in found.vectors or ["items.npz"]}
    queries = next(iter(found.query_vectors), "queries.npz")
    measures = ["ndcg(gain=exp)@10", "recall(rel=2)@10", "precision(rel=2)@10", "rr(rel=2)@10"]
    baseline = next(iter(spaces)) if len(spaces) > 1 else None
    lines = _top(measures, [], baseline, found, ["report.json", "scores.csv"])
    lines += ["", "[gold]", 'kind = "labels"', f"path = {_text(next(iter(found.golds), 'labels.jsonl'))}"]
    for name, path in spaces.items():
        lines += [
            "",
            f"[systems.{_key(name)}]",
            'kind = "vectors"',
            f"path = {_text(path)}",
            f"queries = {_text(queries)}",
        ]
    name = next(iter(spaces))
    return [
        *lines,
        "",
        f"# [figures.{_key(name)}]       # measured elsewhere, for targets such as latency_p95_ms <= 150",
        "# latency_p95_ms = 12.5",
    ]
