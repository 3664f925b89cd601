"""Times one way of finding which items are relevant to queries by their keywords, from lists of numbers in memory.

A process draws items and queries from a fixed seed, makes one small call that is not timed, and times one of the full
size: making what the way looks things up in, and asking. Slow ways are asked some of the queries, and that time is
scaled up. It prints the seconds as JSON, with what came out: of each query how many items are relevant (and where
graded, how many keywords these have of it, in all), or the means of measures.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

# At the end: what the standard library has too, such as `statistics`, is to be taken from there.
sys.path.append(str(Path(__file__).resolve().parent))

from predicate_data import PARTS, Asked, Ints, Lists, draw_asked, draw_ranking, draw_table

MEASURES = ("recall(over=k)@5", "precision(over=relevant)@5", "ap", "ndcg@5")
SCIPY_BLOCK, POLARS_BLOCK = 100, 250
WARMING_ITEMS, WARMING_QUERIES = 1_000, 20

Found = dict[str, Any]
Ask = Callable[[Asked], Found]


def counted(asked: Asked, counts: Sequence[int] | Ints, met: Sequence[int] | Ints) -> Found:
    """An item that asks was counted among its like until here: it has all of its own keywords."""
    own = asked.own is not None
    found = {"counts": (np.asarray(counts, dtype=np.int64) - own).tolist()}
    if asked.graded:
        found["met"] = (np.asarray(met, dtype=np.int64) - own * asked.keywords.lengths).tolist()
    return found


def rankjury_items(table: Lists, keywords: int) -> Any:
    import polars as pl

    from rankjury.labeling.keywords.annotations import Annotations, Keyword, Vocabulary

    ids = pl.Series(np.arange(len(table))).cast(pl.String)
    vocabulary = Vocabulary(tuple(Keyword("all", f"{number:05}") for number in range(keywords)))
    return Annotations(ids, vocabulary, table.starts, table.codes)


def rankjury_asks(annotations: Any, asked: Asked) -> Any:
    from rankjury.labeling.keywords.gold import KeywordMatch, gold_from_items, gold_from_keywords

    match = KeywordMatch.parse("graded" if asked.graded else "all")
    if asked.own is not None:
        return gold_from_items(annotations, annotations.ids.gather(asked.own), match)
    return gold_from_keywords(annotations, [f"t{row}" for row in range(len(asked))], asked.keywords.lists(), match)


def by_rankjury(table: Lists, keywords: int) -> Ask:
    annotations = rankjury_items(table, keywords)

    def ask(asked: Asked) -> Found:
        predicates = rankjury_asks(annotations, asked).predicates
        found, levels = {"counts": predicates.relevant_counts.tolist()}, predicates.levels
        if asked.graded:
            lengths = np.repeat(asked.keywords.lengths, np.diff(levels.starts))
            met = np.rint(levels.grades * lengths).astype(np.int64) * levels.counts
            found["met"] = np.add.reduceat(met, levels.starts[:-1]).tolist()
        return found

    return ask


def by_rankjury_listed(table: Lists, keywords: int) -> Ask:
    """The gold as users get it: every relevant item by name, unless there are too many."""
    annotations = rankjury_items(table, keywords)

    def ask(asked: Asked) -> Found:
        gold = rankjury_asks(annotations, asked).gold()
        return {"listed": None if gold.lookup else len(gold.items)}

    return ask


def by_rankjury_measured(table: Lists, keywords: int, *, by_number: bool = False) -> Ask:
    """Until the means of measures."""
    from rankjury import evaluate
    from rankjury.core.types import Ranking

    annotations = rankjury_items(table, keywords)

    def ask(asked: Asked) -> Found:
        asks = rankjury_asks(annotations, asked)
        gold = asks.predicates.gold_by_number() if by_number else asks.gold()
        assert asked.ranked is not None
        ranking = Ranking(gold.queries, asked.ranked.starts, annotations.ids.gather(asked.ranked.codes), None)
        means = evaluate(gold, ranking, MEASURES).mean()
        return {"means": means, "listed": None if gold.lookup else len(gold.items)}

    return ask


def by_scipy(table: Lists, keywords: int) -> Ask:
    """A product of sparse matrices holds how many keywords each pair shares; block by block, so that it fits."""
    from scipy import sparse

    def matrix(lists: Lists) -> Any:
        ones = np.ones(lists.codes.size, dtype=np.uint8)
        return sparse.csr_array((ones, lists.codes, lists.starts), shape=(len(lists), keywords))

    items = matrix(table).T.tocsr()

    def ask(asked: Asked) -> Found:
        counts, met = [], []
        for block in asked.blocks(SCIPY_BLOCK):
            shared = matrix(block.keywords) @ items
            if not block.graded:
                shared.data *= shared.data == np.repeat(block.keywords.lengths, np.diff(shared.indptr))
                shared.eliminate_zeros()
            counts.append(np.diff(shared.indptr))
            met.append(shared.sum(axis=1, dtype=np.int64))
        return counted(asked, np.concatenate(counts), np.concatenate(met))

    return ask


def by_polars(table: Lists, keywords: int) -> Ask:
    """Pairs of query and item that share a keyword, from a join on it; their number by group; block by block."""
    import polars as pl

    items = pl.LazyFrame({"item": table.rows, "keyword": table.codes}).cast(pl.Int32).collect().lazy()

    def relevant(block: Asked) -> Any:
        wanted = pl.LazyFrame({"query": block.keywords.rows, "keyword": block.keywords.codes}).cast(pl.Int32)
        pairs = wanted.join(items, on="keyword").group_by("query", "item").agg(pl.len().alias("met"))
        if not block.graded:
            lengths = pl.LazyFrame({"query": np.arange(len(block)), "asked": block.keywords.lengths}).cast(pl.Int32)
            pairs = pairs.join(lengths, on="query").filter(pl.col("met") == pl.col("asked"))
        found = pairs.group_by("query").agg(pl.len().alias("count"), pl.col("met").sum()).collect(engine="streaming")
        everyone = pl.DataFrame({"query": np.arange(len(block), dtype=np.int32)})
        return everyone.join(found, on="query", how="left", maintain_order="left").fill_null(0)

    def ask(asked: Asked) -> Found:
        found = pl.concat([relevant(block) for block in asked.blocks(POLARS_BLOCK)])
        return counted(asked, found["count"].to_numpy(), found["met"].to_numpy())

    return ask


def by_sets(table: Lists, keywords: int) -> Ask:
    """Every query beside every item."""
    items = [frozenset(codes) for codes in table.lists()]

    def ask(asked: Asked) -> Found:
        queries = [frozenset(codes) for codes in asked.keywords.lists()]
        if not asked.graded:
            return counted(asked, [sum(query <= item for item in items) for query in queries], [])
        shared = [[len(query & item) for item in items if not query.isdisjoint(item)] for query in queries]
        return counted(asked, [len(one) for one in shared], [sum(one) for one in shared])

    return ask


def by_index(table: Lists, keywords: int) -> Ask:
    """The items of each keyword as a set; those of a query's keywords intersected, the smallest first, or counted."""
    holders: list[set[int]] = [set() for _ in range(keywords)]
    for item, codes in enumerate(table.lists()):
        for code in codes:
            holders[code].add(item)

    def ask(asked: Asked) -> Found:
        queries = [sorted((holders[code] for code in codes), key=len) for codes in asked.keywords.lists()]
        if not asked.graded:
            return counted(asked, [len(set.intersection(*sets)) for sets in queries], [])
        counts = [len(Counter(chain.from_iterable(sets))) for sets in queries]
        return counted(asked, counts, [sum(map(len, sets)) for sets in queries])

    return ask


def by_nobody(table: Lists, keywords: int) -> Ask:
    """What the data alone needs."""
    return lambda asked: {}


WAYS: dict[str, tuple[Callable[[Lists, int], Ask], str]] = {
    "nothing": (by_nobody, "numpy"),
    "rankjury": (by_rankjury, "rankjury"),
    "rankjury-listed": (by_rankjury_listed, "rankjury"),
    "rankjury-measured": (by_rankjury_measured, "rankjury"),
    "rankjury-by-number": (partial(by_rankjury_measured, by_number=True), "rankjury"),
    "scipy": (by_scipy, "scipy"),
    "polars": (by_polars, "polars"),
    "index": (by_index, ""),
    "sets": (by_sets, ""),
}
"""How it is prepared, and which package does it."""
MEASURED = ("rankjury-measured", "rankjury-by-number")
MOST_ASKED = {"sets": 100}


def draw(way: str, part: str, items: int, keywords: int, queries: int) -> tuple[Lists, Asked]:
    table = draw_table(items, keywords)
    asked = draw_asked(part, table, queries).some(0, MOST_ASKED.get(way, queries))
    return table, draw_ranking(table, asked) if way in MEASURED else asked


def time_way(way: str, part: str, items: int, keywords: int, queries: int) -> Found:
    prepare, package = WAYS[way]
    few, asked = draw(way, part, WARMING_ITEMS, keywords, WARMING_QUERIES)
    prepare(few, keywords)(asked)
    table, asked = draw(way, part, items, keywords, queries)
    start = time.perf_counter()
    ask = prepare(table, keywords)
    prepared = time.perf_counter()
    found = ask(asked)
    asking = (time.perf_counter() - prepared) * queries / len(asked)
    version = metadata.version(package) if package else sys.version.split()[0]
    seconds = {"seconds": prepared - start + asking, "preparing_seconds": prepared - start}
    return {**seconds, "asked": len(asked), "version": version, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("part", choices=PARTS)
    for name in ("items", "keywords", "queries"):
        parser.add_argument(name, type=int)
    print(json.dumps(time_way(**vars(parser.parse_args()))), flush=True)


if __name__ == "__main__":
    main()
