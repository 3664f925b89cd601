"""The kinds of plan that can be drafted: the lines of their gold and systems."""

from dataclasses import replace

from rankjury.plan.draft import aspect_for, register, system_names, top_level_lines
from rankjury.plan.folder_scan import FolderContents
from rankjury.plan.toml import toml_key, toml_string
from rankjury.retrieval.agreement.reference import measures_for

TUNING_GRIDS: dict[str, dict[str, list[int | float]]] = {
    "item-knn": {"neighbours": [50, 100, 500], "shrinkage": [0.0, 20.0, 100.0]},
    "als": {"factors": [8, 16, 32, 64], "alpha": [1.0, 5.0]},
    "ease": {"regularization": [100.0, 300.0, 1000.0, 3000.0, 10000.0]},
}
"""What a drafted plan tries of its recommenders. Each grid holds the defaults; that of EASE holds the range that its
default is chosen from by the size of the log (docs/recommenders.md)."""


@register("runs", "Saved runs against graded labels.")
def _runs(found: FolderContents) -> list[str]:
    taken: set[str] = set()
    runs = system_names(found.runs or ["bm25.trec", "dense.trec"], taken)
    measures = ["ndcg@10", "ap", "rr", "recall@100", "precision@10"]
    baseline = next(iter(runs)) if len(runs) > 1 else None
    lines = top_level_lines(measures, [], baseline, found, ["report.html", "report.json", "report.md"])
    lines += ["", "[gold]", 'kind = "labels"', f"path = {toml_string(next(iter(found.golds), 'qrels.txt'))}"]
    lines.append("# relevant_from = 2        # the grade from which an item is relevant")
    for name, path in runs.items():
        lines += ["", f"[systems.{toml_key(name)}]", 'kind = "run"', f"path = {toml_string(path)}"]
    return lines


@register("spaces", "Embedding spaces of one set of items, fused, against ordered lists.")
def _spaces(found: FolderContents) -> list[str]:
    gold, aspects = next(iter(found.ordered.items()), ("gold.json", ["overall", "content", "vibes"]))
    overall = aspect_for("overall", aspects)
    taken = {"combined", "random"}
    spaces = system_names(found.vectors or ["vectors.npz:anchor", "vectors.npz:content"], taken)
    lines = top_level_lines(
        ["ndcg(gain=exp)", "hits", "rr"], [5, 10], next(iter(spaces)), found, ["rankjury.json", "scores.csv"]
    )
    lines += ["", "[gold]", 'kind = "ordered"', f"path = {toml_string(gold)}", f"# its aspects: {', '.join(aspects)}"]
    for name, path in spaces.items():
        aspect = aspect_for(name, aspects) or aspect_for(path, aspects)
        lines += [
            "",
            f"[systems.{toml_key(name)}]",
            'kind = "vectors"',
            f"path = {toml_string(path)}",
            _gold(aspect, aspects),
        ]
        lines += ['# metric = "cosine"        # or ip, l2'] if name == next(iter(spaces)) else []
    if len(spaces) > 1:
        lines += [
            "",
            "[systems.combined]",
            'kind = "fusion"',
            f"of = [{', '.join(map(toml_string, spaces))}]",
            'method = "rrf"',
        ]
        weights = ", ".join(f"{toml_key(name)} = 1" for name in spaces)
        lines += [f"weights = {{ {weights} }}   # rankjury tune finds better ones"]
        lines += [
            "c = 60",
            "# depth = 50               # only so many of each list count",
            _gold(overall, aspects),
        ]
    lines += ["", "[systems.random]          # the exact expectation of a random order", 'kind = "random"']
    return [*lines, _gold(overall, aspects)]


def _gold(aspect: str | None, aspects: list[str]) -> str:
    """The key gold of a system; left out where no name tells which aspect it is, so that the run asks for it."""
    if aspect is not None:
        return f"gold = {toml_string(aspect)}"
    return f"# gold = …                # the lists to compare with: {', '.join(map(toml_string, aspects))}"


@register("reference", "Candidate models against a reference model's neighbours.")
def _reference(found: FolderContents) -> list[str]:
    vectors = found.vectors or ["reference.npy", "candidate.npy"]
    reference = found.reference or vectors[0]
    taken: set[str] = set()
    candidates = system_names([path for path in vectors if path != reference] or ["candidate.npy"], taken)
    measures = measures_for()
    baseline = next(iter(candidates)) if len(candidates) > 1 else None
    lines = top_level_lines(
        measures, [10, 1, 3, 5], baseline, found, ["report.html", "report.json", "metrics_vs_k.png"]
    )
    lines += ["", "[[output]]", 'file = "{system}_results.csv"', 'form = "cutoffs"         # a row for each k']
    lines += ["", "[[output]]", 'file = "queries.parquet"', 'form = "queries"         # every query\'s scores']
    lines += ["", "[gold]", 'kind = "reference"', f"path = {toml_string(reference)}"]
    lines += [
        "# sample = 500             # ask only so many of the items, drawn by seed and id",
        '# ids = "items.csv:id"     # ids of the rows',
        '# ties = "any"             # all that tie with the k-th count, with measures of gold=tied',
    ]
    for name, path in candidates.items():
        lines += ["", f"[systems.{toml_key(name)}]", 'kind = "vectors"', f"path = {toml_string(path)}"]
    name, path = next(iter(candidates.items()))
    lines += [
        "",
        f"# [systems.{toml_key(f'{name}-int8')}]   # a smaller form of the same matrix",
        '# kind = "vectors"',
        f"# path = {toml_string(path)}",
        '# dtype = "int8"           # or float16, binary; truncate = 128 keeps the first dimensions',
    ]
    return [*lines, "", "[agreement]                # similarities of pairs, by the reference and by each system",
            "pairs = 20000"]  # fmt: skip


@register("search", "Search by vectors of queries, against graded labels.")
def _search(found: FolderContents) -> list[str]:
    taken: set[str] = set()
    embedded = found.has_texts and not found.vectors
    texts = next(iter(found.texts), None)
    spaces = {"title": found.products[0]} if embedded else system_names(found.vectors or ["items.npz"], taken)
    queries = next(iter(found.query_vectors), "queries.npz")
    measures = ["ndcg(gain=exp)@10", "recall(rel=2)@10", "precision(rel=2)@10", "rr(rel=2)@10"]
    baseline = next(iter(spaces)) if len(spaces) > 1 else None
    lines = top_level_lines(measures, [], baseline, found, ["report.html", "report.json", "scores.csv"])
    lines += ["", "[gold]", 'kind = "labels"', f"path = {toml_string(next(iter(found.golds), 'labels.jsonl'))}"]
    if found.has_texts and not found.golds:
        lines.append(f"# made by: rankjury label {found.products[0]} {texts} -o labels.jsonl")
    for name, path in spaces.items():
        lines += ["", f"[systems.{toml_key(name)}]"]
        if embedded:
            lines += ['kind = "texts"             # embedded by a small model that comes with rankjury[text]']
            lines += [f"items = {toml_string(path)}", f"queries = {toml_string(str(texts))}"]
            lines += ['chunking = "title"         # or title+bullets, title+description/300+50']
            continue
        lines += ['kind = "vectors"', f"path = {toml_string(path)}", f"queries = {toml_string(queries)}"]
        if texts is not None and not found.query_vectors:
            lines.append(f"# made by: rankjury embed {texts} -o {queries} --model …   # the model of the items")
    name = next(iter(spaces))
    return [
        *lines,
        "",
        f"# [figures.{toml_key(name)}]       # measured elsewhere, for targets such as latency_p95_ms <= 150",
        "# latency_p95_ms = 12.5",
    ]


@register("keywords", "Items that have all keywords of a query: of a text, or of another item.")
def _keywords(found: FolderContents) -> list[str]:
    table, columns = next(iter(found.annotated.items()), ("clips.csv", ["object_type", "behavior"]))
    queries = next((name for name in found.texts if name != table), None)
    vectors = next((one for one in found.query_vectors), None)
    asks = queries is not None and (vectors is not None or (bool(found.runs) and not found.vectors))
    off = "" if asks else "# "
    measures = ["Recall", "Precision", "NDCG", "MAP"]
    bare = replace(found, tables={}, item_tables={}, names=None)
    lines = top_level_lines(measures, [5, 1, 3], None, bare, ["report.html", "report.json", "report.md"])
    lines += [
        'conventions.dialect = "alfa"   # Recall divides by K, Precision by all that is relevant',
        "",
        "[gold]",
        'kind = "keywords"',
        f"path = {toml_string(table)}",
        f'groups = [{", ".join(map(toml_string, columns))}]   # columns; or {{ object = ["type", "size"], … }}',
        f"# select = [{', '.join(map(toml_string, columns[:2]))}]   # the groups that count",
        '# match = "all"            # any, at-least-2, graded',
        f"{off}queries = {toml_string(queries or 'queries.jsonl')}   # texts; without, every item asks",
        "",
        f"{off}[gold.mapping]           # texts → keywords, where these are not given",
        f'{off}method = "exact"          # embedding, keybert: rankjury keywords shows what they find',
        '# synonyms = "synonyms.toml"',
    ]
    taken = {"random"}
    for name, path in system_names(found.vectors or ([] if found.runs else ["vectors.npz"]), taken).items():
        lines += ["", f"[systems.{toml_key(name)}]", 'kind = "vectors"', f"path = {toml_string(path)}"]
        lines += [f"queries = {toml_string(vectors)}"] if asks and vectors else []
        lines.append("# threshold = 0.15         # what scores less is not shown")
    for name, path in system_names(found.runs, taken).items():
        lines += ["", f"[systems.{toml_key(name)}]", 'kind = "run"', f"path = {toml_string(path)}"]
    return [*lines, "", "[systems.random]          # the exact expectation of a random order", 'kind = "random"']


@register("recommenders", "Recommenders on a log of interactions: learn from the past, evaluated on what came later.")
def _recommenders(found: FolderContents) -> list[str]:
    log = next(iter(found.logs), "ratings.csv")
    items = next(iter(found.catalogues), None)
    beyond = ["coverage@10", "novelty@10", *(["diversity@10"] if items else [])]
    users = next(iter(found.people), None)
    rel = "(rel=4)" if log not in found.unrated else ""
    accuracy = ["ndcg", f"precision{rel}", f"recall{rel}"]
    head = [toml_string(one) for one in ["ndcg@10", f"precision{rel}@10", f"recall{rel}@10", *beyond]]
    liked = "   # rel: the rating from which one is liked" if rel else "   # whatever was held out is relevant"
    lines = [
        'baseline = "popularity"      # the others are compared with it',
        "",
        f"measures = [{', '.join(map(toml_string, [*accuracy, *beyond]))}]{liked}",
        "cutoffs = [5, 10, 20]           # of measures that have none",
        f"headline = [{', '.join(head)}]",
        'outputs = ["report.html", "report.json", "report.md"]',
        "",
        "[[output]]",
        'file = "recommenders.png"',
        'form = "recommenders"    # by tier, by popularity, by cut-off',
        "",
        "[gold]",
        'kind = "interactions"',
        f"path = {toml_string(log)}      # rankjury audit looks at it first",
        f"{'' if items else '# '}items = {toml_string(items or 'items.csv')}     # the catalogue, with genres",
        *([f"users = {toml_string(users)}     # what is known of them, for factorization machines"] if users else []),
        '# window = "validation"     # while you are choosing; the test window is for the end',
        "",
        "[gold.split]",
        'kind = "temporal"         # train before validation before test; rankjury split lists other kinds',
        "fractions = [0.8, 0.1, 0.1]",
    ]
    for model, extra in (("popularity", ""), ("item-knn", "recsys"), ("als", "recsys"), ("ease", "recsys")):
        lines += ["", f"[systems.{model}]", 'kind = "recommender"', f"model = {toml_string(model)}"]
        lines += ["optional = true         # left out where rankjury[recsys] is not installed"] if extra else []
    taken = {"popularity", "item-knn", "als", "ease", "random"}
    for name, path in system_names(found.runs, taken).items():
        lines += ["", f"[systems.{toml_key(name)}]", 'kind = "run"', f"path = {toml_string(path)}"]
    lines += ["", "[systems.random]          # the exact expectation of a random order", 'kind = "random"']
    lines += [
        "",
        "# rankjury tune --extend tries these on validation, beside those in use, and widens grids that are too narrow",
    ]
    for model, grid in TUNING_GRIDS.items():
        inside = ", ".join(f"{name} = [{', '.join(map(str, values))}]" for name, values in grid.items())
        lines += [f"[tune.{model}]", f"params = {{ {inside} }}", ""]
    return lines[:-1]
