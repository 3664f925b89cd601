"""Draws what recommenders are measured with, from a fixed seed, into a folder of .npy files that every tool reads.

For the part `catalogue` 6,040 users took about 165 of 3,883 items and had 20 more held out, with ratings; all have 64
factors, and items 18 genres. How often items are taken falls as a power of their place; how much users take is
lognormal. The first factor follows popularity, so that recommendations are not all misses. For the part `arrays`
200,000 users have 10 recommendations and 5 held-out items each, of 20,000.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats, Ints = NDArray[np.float64], NDArray[np.int64]

SEED = 20_260_815
USERS, ITEMS, FACTORS, HELD, GENRES = 6040, 3883, 64, 20, 18
MANY_USERS, MANY_ITEMS, SHOWN, FEW_HELD = 200_000, 20_000, 10, 5
ROWS_AT_ONCE = 1024
SKEW = 0.8


def popularity(items: int, rng: np.random.Generator) -> Floats:
    """Shares of the interactions, in no order."""
    shares = np.arange(1, items + 1) ** -SKEW
    return rng.permutation(shares / shares.sum())


def draw_without_repeats(shares: Floats, users: int, most: int, rng: np.random.Generator) -> Ints:
    """Of each user so many items, drawn one after the other in proportion to their shares."""
    logarithms = np.log(shares)
    found = np.empty((users, most), dtype=np.int64)
    for first in range(0, users, ROWS_AT_ONCE):
        size = min(ROWS_AT_ONCE, users - first)
        keys = logarithms + rng.gumbel(size=(size, shares.size))
        kept = np.argpartition(-keys, most - 1, axis=1)[:, :most]
        order = np.argsort(-np.take_along_axis(keys, kept, axis=1), axis=1)
        found[first : first + size] = np.take_along_axis(kept, order, axis=1)
    return found


def draw_catalogue(folder: Path, users: int = USERS) -> None:
    rng = np.random.default_rng(SEED)
    shares = popularity(ITEMS, rng)
    most = 1200
    drawn = draw_without_repeats(shares, users, most + HELD, rng)
    taken = np.clip(rng.lognormal(np.log(165) - 0.5, 1.0, users), 5, most).astype(np.int64)
    within = np.arange(most + HELD) < (taken + HELD)[:, None]
    # The held-out ones are drawn among all that a user takes, not the last and least popular of them.
    chance = np.where(within, rng.random(within.shape), 2.0)
    held = np.zeros_like(within)
    np.put_along_axis(held, np.argpartition(chance, HELD - 1, axis=1)[:, :HELD], True, axis=1)
    user, place = np.nonzero(within)
    users_by, items_by = (rng.standard_normal((n, FACTORS)).astype(np.float32) for n in (users, ITEMS))
    users_by[:, 0], items_by[:, 0] = 4.0, np.log(shares) - np.log(shares).mean()
    arrays = {
        "user": user.astype(np.int32),
        "item": drawn[user, place].astype(np.int32),
        "rating": rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], user.size, p=[0.06, 0.11, 0.26, 0.35, 0.22]),
        "held": held[user, place],
        "genres": (rng.random((ITEMS, GENRES)) < 0.1).astype(np.float64),
        "factors_of_users": users_by,
        "factors_of_items": items_by,
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def draw_arrays(folder: Path, users: int = MANY_USERS) -> None:
    """Ten recommendations and five held-out items; draws that come twice in a row are drawn again."""
    rng = np.random.default_rng(SEED + 1)
    upto = np.cumsum(popularity(MANY_ITEMS, rng))
    for name, width in (("shown", SHOWN), ("held_out", FEW_HELD)):
        table = np.searchsorted(upto, rng.random((users, width)))
        while (again := repeats(table)).any():
            table[again] = np.searchsorted(upto, rng.random(int(again.sum())))
        np.save(folder / f"{name}.npy", np.minimum(table, MANY_ITEMS - 1).astype(np.int64))


def repeats(table: Ints) -> NDArray[np.bool_]:
    """Which cells hold what a cell before them in the row holds."""
    clipped = np.minimum(table, MANY_ITEMS - 1)
    found = np.zeros(table.shape, dtype=bool)
    for column in range(1, table.shape[1]):
        found[:, column] = (clipped[:, :column] == clipped[:, column, None]).any(axis=1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("catalogue", "arrays"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("users", type=int)
    arguments = parser.parse_args()
    draw = draw_catalogue if arguments.what == "catalogue" else draw_arrays
    draw(arguments.folder, arguments.users)
    print("{}", flush=True)


if __name__ == "__main__":
    main()
