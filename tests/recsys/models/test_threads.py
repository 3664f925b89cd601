"""The same to the last digit with one thread of BLAS, or with two."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.models import RECOMMENDERS
from tests.recsys.models.made import fitted

limits = pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed").threadpool_limits


def large(users: int, items: int) -> Log:
    """Large enough for sums to be parted among threads."""
    chance = np.random.default_rng(3)
    user = np.repeat(np.arange(users), 30)
    frame = pl.DataFrame(
        {"user": user, "item": chance.integers(0, items, user.size), "value": chance.integers(1, 6, user.size) / 1.0}
    )
    return log_from_frame(frame.unique(["user", "item"], maintain_order=True))


@pytest.mark.parametrize(
    ("name", "settings", "users", "items"),
    [
        ("ease", {}, 500, 900),
        ("ease", {}, 900, 500),
        ("svd", {"factors": 40}, 900, 700),
        ("svd", {"factors": 40, "values": "ratings"}, 900, 700),
        ("als", {"factors": 32, "iterations": 3}, 900, 700),
    ],
)
def test_no_digit_hangs_on_them(name: str, settings: dict[str, Any], users: int, items: int) -> None:
    if not RECOMMENDERS.get(name).is_installed():
        pytest.skip(f"{name} needs a library that is not installed")
    log, found = large(users, items), []
    for threads in (1, 2):
        with limits(threads, user_api="blas"):
            model = fitted(name, log, **settings)
        found.append(model.score(np.arange(40), np.arange(len(log.items))))
    np.testing.assert_array_equal(found[0], found[1])
