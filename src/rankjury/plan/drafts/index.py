"""Draft of the fashion protocol: vector indexes against exact search and graded labels."""

from rankjury.plan.draft import (
    LABELS,
    DraftNotes,
    count_queries,
    output_lines,
    register_draft,
    top_level_lines,
    with_comment,
)
from rankjury.plan.drafts.labels import assume_relevance, vector_lines
from rankjury.plan.folder_match import match_gold
from rankjury.plan.folder_scan import FolderContents
from rankjury.plan.toml import toml_string

_ENGINES = "rankjury list engines shows others"
_HNSW = "build = { m = 8, ef_construction = 64 }"
_PG = 'build = { index = "hnsw", m = 8, ef_construction = 64 }'


@register_draft(
    "index",
    "May this vector index ship? Exact search, HNSW in memory and PostgreSQL with pgvector: quality, recall, latency.",
    rank=45,
    suits=lambda found: False,
    alias="fashion",
)
def _draft_index(found: FolderContents, notes: DraftNotes) -> list[str]:
    """Return the fashion protocol: indexes, the index benchmark, targets, a sweep, and the evaluation of each index."""
    match = match_gold(found)
    notes.left_out |= match.left_out
    gold = found.facts_of(match.gold)
    texts = match.texts or next(iter(found.texts), None)
    if match.spaces and match.gold is not None:
        notes.summary = f"3 indexes over {match.spaces[0].path} against {match.gold}{count_queries(gold.queries)}"
        notes.assumed.append(f"the indexes hold {match.spaces[0].path}, brought to length one")
        notes.left_out |= {space.path: "another embedding; the plan tries one" for space in match.spaces[1:]}
    notes.left_out |= dict.fromkeys(match.runs, "a saved run; the plan tries indexes")
    rel = assume_relevance(found, match, notes)
    main = ["ndcg(gain=exp)@10" if notes.protocol else "ndcg@10", f"recall{rel}@10"]
    notes.baseline = "exact"
    notes.assumed.append("the targets are those of the protocol: change them to yours")
    measures = [*main, *(f"{name}{rel}@10" for name in ("precision", "rr", "hit_rate"))]
    lines = top_level_lines(
        measures, [], found, notes, ["report.html", "report.json"],
        headline=main, queries=gold.queries, items=gold.items, texts=match.texts,
    )  # fmt: skip
    make = f"rankjury label {match.products} {texts} -o labels.jsonl" if match.products and texts else ""
    if match.gold is None and found.golds:
        make = ""
    lines += [
        "",
        "# What must hold: rankjury run exits with 4 where a target failed.",
        "targets = [",
        f"  {toml_string(f'{main[0]} >= 0.85')},",
        '  "ann_recall@10 >= 0.95",   # share of the exact top 10 that the index finds',
        '  "latency_p95_ms <= 150",   # milliseconds of the index alone',
        '  "drift <= 5 %",            # similarities and norms against the last run; not checked in the first one',
        "]",
        "",
        "[gold]",
        'kind = "labels"',
        notes.file_line("path", match.gold, "labels.jsonl", f"{LABELS}, 0 to 3", make),
    ]
    vectors = [*vector_lines(found, match, notes), "normalise = true           # vectors of length one"]
    for name, engine, more in (
        ("exact", "exact", []),
        ("hnsw", "faiss-hnsw", [_HNSW, "search = { ef_search = 32 }"]),
        (
            "pgvector",
            "pgvector",
            [_PG, "search = { ef_search = 40 }"],
        ),
    ):
        lines += ["", f"[systems.{name}]", 'kind = "index"', with_comment(f"engine = {toml_string(engine)}", _ENGINES)]
        extra = engine.partition("-")[0]
        lines += [f"optional = true            # omitted where rankjury[{extra}] is not installed"] if more else []
        lines += [*vectors, *more]
    product_table = next((name for name in found.item_tables if name in found.products), None)
    items = product_table or next(iter([*found.item_tables, *found.products]), None)
    lines += [
        "",
        "# The index benchmark. rankjury pin QUERIES refuses changed queries under an unchanged version.",
        "[lab]",
        "k = 10",
        f"queries = {toml_string(texts)}" if texts else '# queries = "queries.jsonl"   # id, text, type, version',
        f"items = {toml_string(items)}"
        if items
        else '# items = "catalogue.jsonl"   # attributes of the items, for filters',
        "rate = 1000                # queries a second of the open loop",
        'earlier = "reports/eval_*_{index}.json"   # the last run, for the target on drift',
        "",
        "# rankjury sweep builds once for each m and searches with each ef_search: recall against p95.",
        "[sweep.hnsw]",
        "build = { m = [4, 8, 16] }",
        "search = { ef_search = [10, 16, 32, 64] }",
        *output_lines("reports/eval_{date}_{model}_{index}.json", "evaluation", "one file for each index"),
        "",
        "[meta]                     # recorded with the results",
        'model_version = "unknown"  # in the names of the reports',
        'dataset_version = "unknown"',
        'chunking_config = "unknown"',
    ]
    return lines
