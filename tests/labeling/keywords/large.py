"""100,000 items × 10,000 queries × 500 keywords under a limit of memory: run by itself, prints what it checked."""

import re
import resource
from pathlib import Path

import numpy as np
import polars as pl

from rankjury.core.types import Ranking
from rankjury.evaluation.evaluate import evaluate, resolve_measures
from rankjury.labeling.keywords.annotations import annotations_from_frame
from rankjury.labeling.keywords.gold import MOST_LISTED, KeywordMatch, gold_from_keywords

ITEMS, QUERIES, GROUPS, NAMES, DEPTH = 100_000, 10_000, 5, 100, 20
ROOM = 3 << 30
"""Bytes beside what is taken before anything is done; a matrix of bytes over all pairs would need a third of it, one of
whole numbers more than twice as much."""


def limit_memory() -> None:
    found = re.search(r"VmSize:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    most = int(found[1]) * 1024 + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        np.empty(ROOM + (64 << 20), dtype=np.uint8)
    except MemoryError:
        return
    raise AssertionError("the limit does not hold")


def made(rng: np.random.Generator) -> pl.DataFrame:
    """Two values a cell, which may be the same one."""
    columns = {}
    for group in range(GROUPS):
        first, second = (pl.Series(rng.integers(0, NAMES, ITEMS)).cast(pl.String) for _ in range(2))
        columns[f"group{group}"] = first + "|" + second
    return pl.DataFrame({"item_id": [f"clip{n}" for n in range(ITEMS)], **columns})


def plain_counts(frame: pl.DataFrame, asked: list[tuple[str, str]]) -> list[int]:
    """How many items have 1, 2 … of these keywords, from a filter of the table."""
    has = [
        (pl.col(group) == name) | pl.col(group).str.starts_with(f"{name}|") | pl.col(group).str.ends_with(f"|{name}")
        for group, name in asked
    ]
    met = frame.select(pl.sum_horizontal(one.cast(pl.Int64) for one in has).alias("met"))["met"]
    return [int((met == number).sum()) for number in range(1, len(asked) + 1)]


def main() -> None:
    limit_memory()
    rng = np.random.default_rng(7)
    frame = made(rng)
    annotations = annotations_from_frame(frame, id_column="item_id")
    keywords = annotations.vocabulary.keywords
    assert (len(annotations), len(keywords)) == (ITEMS, GROUPS * NAMES)
    names = [f"q{n:05}" for n in range(QUERIES)]
    asked = [sorted(set(rng.integers(0, len(keywords), rng.integers(1, 6)).tolist())) for _ in names]
    sample = rng.choice(QUERIES, 40, replace=False).tolist()
    plain = {n: plain_counts(frame, [(keywords[c].group, keywords[c].name) for c in asked[n]]) for n in sample}
    items = annotations.ids.gather(np.concatenate([rng.choice(ITEMS, DEPTH, replace=False) for _ in names]))
    for match in ("all", "any", "at-least-2", "graded"):
        held = gold_from_keywords(annotations, names, asked, KeywordMatch.parse(match))
        for n in sample:
            least = KeywordMatch.parse(match).needed(len(asked[n]))
            assert held.predicates.relevant_counts[n] == sum(plain[n][least - 1 :]), (match, n)
        if match == "graded":
            for n in sample:
                runs = held.predicates.levels
                own = slice(int(runs.starts[n]), int(runs.starts[n + 1]))
                assert runs.counts[own].tolist() == plain[n][::-1], n
        gold = held.gold()
        by_number = int(held.predicates.relevant_counts.sum()) > MOST_LISTED
        assert (gold.lookup is not None) is by_number
        assert by_number or match in ("all", "at-least-2")
        ranking = Ranking(gold.queries, np.arange(QUERIES + 1) * DEPTH, items, None)
        scores = evaluate(gold, ranking, resolve_measures(["num_rel", "num_rel_ret", "ndcg@10", "recall@20"]))
        for n in sample:
            least = KeywordMatch.parse(match).needed(len(asked[n]))
            assert scores.values[n, 0] == sum(plain[n][least - 1 :])
        print(match, int(scores.values[:, 0].sum()), int(scores.values[:, 1].sum()))


if __name__ == "__main__":
    main()
