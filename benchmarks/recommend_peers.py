"""Times how RecTools or LensKit evaluates recommendations that it is given, in an environment of its own.

Data comes as .npy files, and becomes what the tool takes (frames, lists) before the clock starts. Only users of whom
something relevant was held out are handed over. Prints seconds, means and version as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

CUTS, REL = (5, 10, 20), 4.0
CALLS = {"catalogue": 3, "arrays": 5}

Work = Callable[[], dict[str, float]]


def frames(folder: Path, part: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Recommendations with ranks, and held-out pairs."""
    if part == "arrays":
        shown, held = (np.load(folder / f"{name}.npy") for name in ("shown", "held_out"))
        of_held, items = np.repeat(np.arange(len(held)), held.shape[1]), held.reshape(-1)
    else:
        shown = np.load(folder / "recommended.npy")
        user, item, rating, out = (np.load(folder / f"{name}.npy") for name in ("user", "item", "rating", "held"))
        kept = out & (rating >= REL)
        of_held, items = user[kept].astype(np.int64), item[kept].astype(np.int64)
    rows = np.unique(of_held)
    recommended = pd.DataFrame(
        {
            "user_id": np.repeat(rows, shown.shape[1]),
            "item_id": shown[rows].reshape(-1),
            "rank": np.tile(np.arange(1, shown.shape[1] + 1), rows.size),
        }
    )
    return recommended, pd.DataFrame({"user_id": of_held, "item_id": items})


def rectools_metrics(cuts: tuple[int, ...]) -> dict[str, Any]:
    from rectools.metrics import MAP, MRR, NDCG, HitRate, Precision, Recall

    kinds = {"precision": Precision, "recall": Recall, "hit_rate": HitRate, "rr": MRR, "ap": MAP, "ndcg": NDCG}
    return {f"{name}@{k}": kind(k=k) for name, kind in kinds.items() for k in cuts}


def by_rectools(folder: Path, part: str) -> Work:
    from rectools.metrics import calc_metrics

    recommended, held = frames(folder, part)
    metrics = rectools_metrics((10,) if part == "arrays" else CUTS)
    return lambda: {name: float(mean) for name, mean in calc_metrics(metrics, recommended, held).items()}


def by_rectools_with_slices(folder: Path, part: str) -> Work:
    """What it has of rankjury's measures beyond accuracy as well, and those of accuracy by tiers of users and items."""
    from rectools.metrics import (
        AvgRecPopularity,
        CatalogCoverage,
        IntraListDiversity,
        MeanInvUserFreq,
        PairwiseHammingDistanceCalculator,
        Serendipity,
        calc_metrics,
    )

    recommended, held = frames(folder, part)
    user, item, out = (np.load(folder / f"{name}.npy") for name in ("user", "item", "held"))
    taken = pd.DataFrame({"user_id": user[~out].astype(np.int64), "item_id": item[~out].astype(np.int64)})
    genres = pd.DataFrame(np.load(folder / "genres.npy"))
    catalogue = np.arange(len(genres))
    kinds: dict[str, Any] = {"coverage": CatalogCoverage, "mean_popularity": AvgRecPopularity}
    kinds |= {"novelty": MeanInvUserFreq, "serendipity": Serendipity}
    accuracy, beyond = rectools_metrics(CUTS), {name: kind(k=max(CUTS)) for name, kind in kinds.items()}
    beyond["diversity"] = IntraListDiversity(k=max(CUTS), distance_calculator=PairwiseHammingDistanceCalculator(genres))
    tiers = {name: np.load(folder / f"tier_{name}.npy") for name in ("activity", "user", "popularity", "item")}

    def work() -> dict[str, float]:
        means = calc_metrics({**accuracy, **beyond}, recommended, held, taken, catalogue)
        for name, places in tiers.items():
            column = "user_id" if name in ("activity", "user") else "item_id"
            for place in np.unique(places[held[column]]):
                kept = held[places[held[column]] == place]
                shown = recommended[recommended["user_id"].isin(kept["user_id"].unique())]
                calc_metrics(accuracy, shown, kept)
        return {name: float(means[name]) for name in accuracy}

    return work


def by_lenskit(folder: Path, part: str) -> Work:
    from lenskit.data import ItemListCollection
    from lenskit.metrics import NDCG, Hit, Precision, Recall, RecipRank, RunAnalysis
    from lenskit.metrics.ranking import AveragePrecision

    recommended, held = frames(folder, part)
    lists, test = (ItemListCollection.from_df(frame, ["user_id"]) for frame in (recommended, held))
    kinds: dict[str, Any] = {"precision": Precision, "recall": Recall, "hit_rate": Hit, "rr": RecipRank}
    kinds |= {"ap": AveragePrecision, "ndcg": NDCG}
    cuts = (10,) if part == "arrays" else CUTS

    def work() -> dict[str, float]:
        analysis = RunAnalysis()
        for name, kind in kinds.items():
            for k in cuts:
                analysis.add_metric(kind(k), f"{name}@{k}")
        return {str(name): float(mean) for name, mean in analysis.measure(lists, test).list_summary()["mean"].items()}

    return work


PEERS = {"rectools": by_rectools, "rectools-slices": by_rectools_with_slices, "lenskit": by_lenskit}


def time_peer(peer: str, part: str, folder: Path) -> dict[str, Any]:
    work = PEERS[peer](folder, part)
    seconds = []
    for _ in range(CALLS[part] if peer != "lenskit" else 1):
        start = time.perf_counter()
        means = work()
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "calls": seconds, "means": means, "version": metadata.version(peer.split("-")[0])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("part", choices=CALLS)
    parser.add_argument("folder", type=Path)
    print(json.dumps(time_peer(**vars(parser.parse_args()))), flush=True)


if __name__ == "__main__":
    sys.exit(main())
