"""Scores and factors from files, matched by id; what is wrong with a file is named."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankjury.errors import DataError, UsageError
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.models import Recommender, make_recommender
from rankjury.recsys.models.precomputed import PrecomputedFactors, PrecomputedScores
from rankjury.recsys.recommend import recommend
from tests.recsys.models.made import made_log, task_of

LOG = made_log()
USERS, ITEMS = ["u03", "nobody", "u01"], ["i05", "i00", "nothing", "i17"]
SCORES = np.arange(12.0).reshape(3, 4)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("users.txt").write_text("\n".join(USERS) + "\n")
    Path("items.txt").write_text("\n".join(ITEMS) + "\n")
    np.save("scores.npy", SCORES)
    np.savez("scores.npz", scores=SCORES, users=np.array(USERS), items=np.array(ITEMS))
    pl.DataFrame(
        {
            "user": [user for user in USERS for _ in ITEMS],
            "item": ITEMS * 3,
            "score": SCORES.ravel(),
        }
    ).write_csv("scores.csv")
    pl.read_csv("scores.csv").sample(fraction=1.0, shuffle=True, seed=1).write_parquet("scores.parquet")


def read(name: str, **settings: str) -> Recommender:
    model = make_recommender(name, settings)
    model.fit(LOG, SideFeatures())
    return model


IDS = {"users": "users.txt", "items": "items.txt"}
FORMS = [
    {"path": "scores.npy", **IDS},
    {"path": "scores.npz"},
    {"path": "scores.npz", **IDS},
    {"path": "scores.csv"},
    {"path": "scores.parquet"},
]


@pytest.mark.parametrize("settings", FORMS, ids=lambda settings: "+".join(settings.values()))
def test_scores_of_every_form(settings: dict[str, str]) -> None:
    model = read("scores", **settings)
    assert isinstance(model, PrecomputedScores)
    users, items = np.array([1, 2, 3]), np.array([17, 0, 1, 5])
    assert model.knows(users).tolist() == [True, False, True]
    nothing = -np.inf
    assert model.score(users, items).tolist() == [
        [11, 9, nothing, 8],
        [nothing] * 4,
        [3, 1, nothing, 0],
    ]
    assert [note.partition(": ")[2] for note in model.notes()] == [
        "1 user is not in the log, and ignored",
        "1 item is not in the log, and ignored",
    ]


def test_scores_can_lack_items_of_some_users() -> None:
    pl.DataFrame(
        {"user_id": ["u00", "u00", "u01"], "movieId": ["i01", "i02", "i03"], "score": [1.0, 2.0, 3.0]}
    ).write_csv("part.csv")
    scores = read("scores", path="part.csv").score(np.array([1, 0]), np.array([1, 2, 3]))
    assert scores.tolist() == [[-np.inf, -np.inf, 3.0], [1.0, 2.0, -np.inf]]


def test_minus_infinity_is_what_cannot_be_recommended() -> None:
    values = SCORES.copy()
    values[0, 0] = -np.inf
    np.save("scores.npy", values)
    assert np.isneginf(read("scores", path="scores.npy", **IDS).score(np.array([3]), np.array([5]))[0, 0])


def test_whole_numbers_will_do() -> None:
    np.save("scores.npy", SCORES.astype(np.int16))
    assert read("scores", path="scores.npy", **IDS).score(np.array([1]), np.array([17])).tolist() == [[11.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: np.save("scores.npy", np.where(SCORES == 9, np.nan, SCORES)),
         r"scores\.npy: the score of item 'i00' for user 'u01' is NaN \(1 such value\); expected finite scores"),
        (lambda: np.save("scores.npy", np.where(SCORES > 9, np.inf, SCORES)),
         r"item 'nothing' for user 'u01' is inf \(2 such values\)"),
        (lambda: np.save("scores.npy", SCORES[:2]),
         r"shape 2×4 and type float64; expected numbers, 3 users × 4 items"),
        (lambda: np.save("scores.npy", SCORES.astype(str)), "type <U"),
        (lambda: Path("users.txt").write_text("u03\nu03\nu01\n"), "duplicate user u03"),
        (lambda: Path("items.txt").write_text("a\nb\nc\nd\n"),
         r"none of its 4 items is in the log: a, b, c …; expected ids such as i00, i01, i02 …"),
        (lambda: Path("users.txt").unlink(), r"users\.txt: no such file"),
        (lambda: Path("scores.npy").write_bytes(b"something else"), r"scores\.npy: cannot be read as NumPy"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_matrix_is_named(change, message: str) -> None:
    change()
    with pytest.raises(DataError, match=message):
        read("scores", path="scores.npy", **IDS)


def test_what_is_wrong_with_a_table_is_named() -> None:
    Path("bad.csv").write_text("user,item,score\nu01,i01,1\nu01,i02,high\n")
    with pytest.raises(DataError, match=r"bad\.csv:3"):
        read("scores", path="bad.csv")
    Path("twice.csv").write_text("user,item,score\nu01,i01,1\nu02,i02,4\nu01,i01,2\n")
    with pytest.raises(DataError, match="duplicate item 'i01' for user 'u01'"):
        read("scores", path="twice.csv")
    with pytest.raises(UsageError, match="is a table, which already contains ids"):
        read("scores", path="scores.csv", **IDS)


def test_settings_that_are_missing() -> None:
    with pytest.raises(UsageError, match="path is missing; expected path = FILE"):
        read("scores")
    with pytest.raises(UsageError, match="has no ids of users; expected users = FILE, one id per line"):
        read("scores", path="scores.npy")
    with pytest.raises(UsageError, match="item_factors is missing; expected item_factors = FILE"):
        np.savez("f.npz", user=SCORES, user_ids=np.array(USERS))
        read("factors", user_factors="f.npz:user")


def save_factors(*, items: np.ndarray) -> None:
    users = np.random.default_rng(0).normal(size=(25, 3)).astype(np.float32)
    np.savez("f.npz", user=users, user_ids=LOG.users.to_numpy().astype(str)[::-1])
    np.save("items.npy", items)
    Path("ids.txt").write_text("\n".join(LOG.items.to_list()[:16]) + "\n")


def test_factors_from_files() -> None:
    items = np.random.default_rng(1).normal(size=(16, 3))
    save_factors(items=items)
    model = read("factors", user_factors="f.npz:user", item_factors="items.npy", items="ids.txt")
    assert isinstance(model, PrecomputedFactors) and model.notes() == []
    users = np.load("f.npz")["user"][::-1].astype(np.float64)
    scores = model.score(np.arange(25), np.arange(18))
    assert np.allclose(scores[:, :16], users @ items.T, atol=1e-12) and np.isneginf(scores[:, 16:]).all()
    task = task_of(LOG)
    found = recommend(model, task, 3)
    assert found.items.max() < 16 and np.allclose(found.scores[0], scores[task.users[0]][found.items[0]], atol=1e-12)


def test_factors_that_do_not_go_together() -> None:
    save_factors(items=np.ones((16, 4)))
    with pytest.raises(DataError, match="vectors of 3 numbers for users and of 4 for items; expected as many for both"):
        read("factors", user_factors="f.npz:user", item_factors="items.npy", items="ids.txt")
