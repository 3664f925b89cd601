"""The kinds of plan that can be drafted: the lines of their gold and systems."""

from dataclasses import replace

from rankjury.plan.draft import aspect_for, names_of, register, top
from rankjury.plan.draft_scan import Found
from rankjury.plan.toml import key_of, text_of
from rankjury.retrieval.agreement.reference import measures_for

TUNING_GRIDS: dict[str, dict[str, list[int | float]]] = {
    "item-knn": {"neighbours": [50, 100, 500], "shrinkage": [0.0, 20.0, 100.0]},
    "als": {"factors": [8, 16, 32, 64], "alpha": [1.0, 5.0]},
    "ease": {"regularization": [100.0, 300.0, 1000.0, 3000.0, 10000.0]},
}
"""What a drafted plan tries of its recommenders. Each grid holds the defaults; that of EASE holds the range that its
default is chosen from by the size of the log (docs/recommenders.md)."""


@register("runs", "Saved runs against graded labels.")
def _runs(found: Found) -> list[str]:
    taken: set[str] = set()
    runs = names_of(found.runs or ["bm25.trec", "dense.trec"], taken)
    measures = ["ndcg@10", "ap", "rr", "recall@100", "precision@10"]
    baseline = next(iter(runs)) if len(runs) > 1 else None
    lines = top(measures, [], baseline, found, ["report.html", "report.json", "report.md"])
    lines += ["", "[gold]", 'kind = "labels"', f"path = {text_of(next(iter(found.golds), 'qrels.txt'))}"]
    lines.append("# relevant_from = 2        # the grade from which an item is relevant")
    for name, path in runs.items():
        lines += ["", f"[systems.{key_of(name)}]", 'kind = "run"', f"path = {text_of(path)}"]
    return lines


@register("spaces", "Embedding spaces of one set of items, fused, against ordered lists.")
def _spaces(found: Found) -> list[str]:
    gold, aspects = next(iter(found.ordered.items()), ("gold.json", ["overall", "content", "vibes"]))
    overall = aspect_for("overall", aspects)
    taken = {"combined", "random"}
    spaces = names_of(found.vectors or ["vectors.npz:anchor", "vectors.npz:content"], taken)
    lines = top(["ndcg(gain=exp)", "hits", "rr"], [5, 10], next(iter(spaces)), found, ["rankjury.json", "scores.csv"])
    lines += ["", "[gold]", 'kind = "ordered"', f"path = {text_of(gold)}", f"# its aspects: {', '.join(aspects)}"]
    for name, path in spaces.items():
        aspect = aspect_for(name, aspects) or aspect_for(path, aspects)
        lines += [
            "",
            f"[systems.{key_of(name)}]",
            'kind = "vectors"',
            f"path = {text_of(path)}",
            _gold(aspect, aspects),
        ]
        lines += ['# metric = "cosine"        # or ip, l2'] if name == next(iter(spaces)) else []
    if len(spaces) > 1:
        lines += [
            "",
            "[systems.combined]",
            'kind = "fusion"',
            f"of = [{', '.join(map(text_of, spaces))}]",
            'method = "rrf"',
        ]
        lines += [
            f"weights = {{ {', '.join(f'{key_of(name)} = 1' for name in spaces)} }}   # rankjury tune finds better ones"
        ]
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
        return f"gold = {text_of(aspect)}"
    return f"# gold = …                # the lists to compare with: {', '.join(map(text_of, aspects))}"


@register("reference", "Candidate models against a reference model's neighbours.")
def _reference(found: Found) -> list[str]:
    vectors = found.vectors or ["reference.npy", "candidate.npy"]
    reference = found.reference or vectors[0]
    taken: set[str] = set()
    candidates = names_of([path for path in vectors if path != reference] or ["candidate.npy"], taken)
    measures = measures_for()
    baseline = next(iter(candidates)) if len(candidates) > 1 else None
    lines = top(measures, [10, 1, 3, 5], baseline, found, ["report.html", "report.json", "metrics_vs_k.png"])
    lines += ["", "[[output]]", 'file = "{system}_results.csv"', 'form = "cutoffs"         # a row for each k']
    lines += ["", "[[output]]", 'file = "queries.parquet"', 'form = "queries"         # every query\'s scores']
    lines += ["", "[gold]", 'kind = "reference"', f"path = {text_of(reference)}"]
    lines += [
        "# sample = 500             # ask only so many of the items, drawn by seed and id",
        '# ids = "items.csv:id"     # ids of the rows',
        '# ties = "any"             # all that tie with the k-th count, with measures of gold=tied',
    ]
    for name, path in candidates.items():
        lines += ["", f"[systems.{key_of(name)}]", 'kind = "vectors"', f"path = {text_of(path)}"]
    name, path = next(iter(candidates.items()))
    lines += [
        "",
        f"# [systems.{key_of(f'{name}-int8')}]   # a smaller form of the same matrix",
        '# kind = "vectors"',
        f"# path = {text_of(path)}",
        '# dtype = "int8"           # or float16, binary; truncate = 128 keeps the first dimensions',
    ]
    return [*lines, "", "[agreement]                # similarities of pairs, by the reference and by each system",
            "pairs = 20000"]  # fmt: skip


@register("search", "Search by vectors of queries, against graded labels.")
def _search(found: Found) -> list[str]:
    taken: set[str] = set()
    embedded = found.has_texts and not found.vectors
    texts = next(iter(found.texts), None)
    spaces = {"title": found.products[0]} if embedded else names_of(found.vectors or ["items.npz"], taken)
    queries = next(iter(found.query_vectors), "queries.npz")
    measures = ["ndcg(gain=exp)@10", "recall(rel=2)@10", "precision(rel=2)@10", "rr(rel=2)@10"]
    baseline = next(iter(spaces)) if len(spaces) > 1 else None
    lines = top(measures, [], baseline, found, ["report.html", "report.json", "scores.csv"])
    lines += ["", "[gold]", 'kind = "labels"', f"path = {text_of(next(iter(found.golds), 'labels.jsonl'))}"]
    if found.has_texts and not found.golds:
        lines.append(f"# made by: rankjury label {found.products[0]} {texts} -o labels.jsonl")
    for name, path in spaces.items():
        lines += ["", f"[systems.{key_of(name)}]"]
        if embedded:
            lines += ['kind = "texts"             # embedded by a small model that comes with rankjury[text]']
            lines += [f"items = {text_of(path)}", f"queries = {text_of(str(texts))}"]
            lines += ['chunking = "title"         # or title+bullets, title+description/300+50']
            continue
        lines += ['kind = "vectors"', f"path = {text_of(path)}", f"queries = {text_of(queries)}"]
        if texts is not None and not found.query_vectors:
            lines.append(f"# made by: rankjury embed {texts} -o {queries} --model …   # the model of the items")
    name = next(iter(spaces))
    return [
        *lines,
        "",
        f"# [figures.{key_of(name)}]       # measured elsewhere, for targets such as latency_p95_ms <= 150",
        "# latency_p95_ms = 12.5",
    ]


@register("keywords", "Items that have all keywords of a query: of a text, or of another item.")
def _keywords(found: Found) -> list[str]:
    table, columns = next(iter(found.annotated.items()), ("clips.csv", ["object_type", "behavior"]))
    queries = next((name for name in found.texts if name != table), None)
    vectors = next((one for one in found.query_vectors), None)
    asks = queries is not None and (vectors is not None or (bool(found.runs) and not found.vectors))
    off = "" if asks else "# "
    measures = ["Recall", "Precision", "NDCG", "MAP"]
    bare = replace(found, tables={}, item_tables={}, names=None)
    lines = top(measures, [5, 1, 3], None, bare, ["report.html", "report.json", "report.md"])
    lines += [
        'conventions.dialect = "alfa"   # Recall divides by K, Precision by all that is relevant',
        "",
        "[gold]",
        'kind = "keywords"',
        f"path = {text_of(table)}",
        f'groups = [{", ".join(map(text_of, columns))}]   # columns; or {{ object = ["type", "size"], … }}',
        f"# select = [{', '.join(map(text_of, columns[:2]))}]   # the groups that count",
        '# match = "all"            # any, at-least-2, graded',
        f"{off}queries = {text_of(queries or 'queries.jsonl')}   # texts; without, every item asks",
        "",
        f"{off}[gold.mapping]           # texts → keywords, where these are not given",
        f'{off}method = "exact"          # embedding, keybert: rankjury keywords shows what they find',
        '# synonyms = "synonyms.toml"',
    ]
    taken = {"random"}
    for name, path in names_of(found.vectors or ([] if found.runs else ["vectors.npz"]), taken).items():
        lines += ["", f"[systems.{key_of(name)}]", 'kind = "vectors"', f"path = {text_of(path)}"]
        lines += [f"queries = {text_of(vectors)}"] if asks and vectors else []
        lines.append("# threshold = 0.15         # what scores less is not shown")
    for name, path in names_of(found.runs, taken).items():
        lines += ["", f"[systems.{key_of(name)}]", 'kind = "run"', f"path = {text_of(path)}"]
    return [*lines, "", "[systems.random]          # the exact expectation of a random order", 'kind = "random"']


@register("recommenders", "Recommenders on a log of interactions: learn from the past, evaluated on what came later.")
def _recommenders(found: Found) -> list[str]:
    log = next(iter(found.logs), "ratings.csv")
    items = next(iter(found.catalogues), None)
    beyond = ["coverage@10", "novelty@10", *(["diversity@10"] if items else [])]
    users = next(iter(found.people), None)
    rel = "(rel=4)" if log not in found.unrated else ""
    accuracy = ["ndcg", f"precision{rel}", f"recall{rel}"]
    head = [text_of(one) for one in ["ndcg@10", f"precision{rel}@10", f"recall{rel}@10", *beyond]]
    liked = "   # rel: the rating from which one is liked" if rel else "   # whatever was held out is relevant"
    lines = [
        'baseline = "popularity"      # the others are compared with it',
        "",
        f"measures = [{', '.join(map(text_of, [*accuracy, *beyond]))}]{liked}",
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
        f"path = {text_of(log)}      # rankjury audit looks at it first",
        f"{'' if items else '# '}items = {text_of(items or 'items.csv')}     # the catalogue, with genres",
        *([f"users = {text_of(users)}     # what is known of them, for factorization machines"] if users else []),
        '# window = "validation"     # while you are choosing; the test window is for the end',
        "",
        "[gold.split]",
        'kind = "temporal"         # train before validation before test; rankjury split lists other kinds',
        "fractions = [0.8, 0.1, 0.1]",
    ]
    for model, extra in (("popularity", ""), ("item-knn", "recsys"), ("als", "recsys"), ("ease", "recsys")):
        lines += ["", f"[systems.{model}]", 'kind = "recommender"', f"model = {text_of(model)}"]
        lines += ["optional = true         # left out where rankjury[recsys] is not installed"] if extra else []
    taken = {"popularity", "item-knn", "als", "ease", "random"}
    for name, path in names_of(found.runs, taken).items():
        lines += ["", f"[systems.{key_of(name)}]", 'kind = "run"', f"path = {text_of(path)}"]
    lines += ["", "[systems.random]          # the exact expectation of a random order", 'kind = "random"']
    lines += [
        "",
        "# rankjury tune --extend tries these on validation, beside those in use, and widens grids that are too narrow",
    ]
    for model, grid in TUNING_GRIDS.items():
        inside = ", ".join(f"{name} = [{', '.join(map(str, values))}]" for name, values in grid.items())
        lines += [f"[tune.{model}]", f"params = {{ {inside} }}", ""]
    return lines[:-1]
