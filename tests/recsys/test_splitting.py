"""Ways of splitting a log: which rows train, validate and test, what is told of it, and what is refused."""

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.data.times import format_time, parse_time
from rankjury.recsys.split import WINDOWS, Split, read_fractions, window_sizes
from rankjury.recsys.splitting import SPLITS, split_folds, split_log
from rankjury.recsys.splitting.temporal import temporal_cutoffs
from tests.stats.support import thorough

KINDS: dict[str, dict[str, Any]] = {
    "temporal": {},
    "dates": {"validation": 40, "test": 60},
    "leave-last": {},
    "user-fraction": {"fractions": (0.5, 0.2, 0.3)},
    "random": {"fractions": (0.4, 0.3, 0.3)},
    "users": {"folds": 2, "fraction": 0.4, "validation": 0.2},
    "rolling": {"windows": 2, "share": 0.2, "window": 2},
}
ROWS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 9), st.integers(1, 5), st.integers(0, 100)), min_size=1, max_size=80
)
Row = tuple[int, int, int, int]


def log_of(rows: list[Row] | list[tuple[str, str, int, int]], *, timed: bool = True) -> Log:
    frame = pl.DataFrame(rows, schema=["user", "item", "value", "time"], orient="row")
    return log_from_frame(frame if timed else frame.drop("time"), unit="s")


def times(*at: int) -> Log:
    """One user, an item a row."""
    return log_of([(1, place, 3, time) for place, time in enumerate(at)])


def rows_in(split: Split, window: Any) -> list[tuple[Any, ...]]:
    return sorted(split.window(window).frame().rows())


def windows_of(split: Split) -> dict[str, list[tuple[Any, ...]]]:
    return {name: rows_in(split, name) for name in WINDOWS}


def or_empty(log: Log, kind: str, **options: Any) -> Split | None:
    try:
        return split_log(log, kind, **options)
    except DataError as error:
        assert "no rows for" in str(error) or "folds of" in str(error)
        return None


@pytest.fixture
def spread() -> Log:
    """Users of 1 to 40 rows, times with many equal ones."""
    chance = np.random.default_rng(3)
    rows = [
        (f"u{user}", f"i{chance.integers(30)}", int(chance.integers(1, 6)), int(chance.integers(60)))
        for user in range(1, 25)
        for _ in range(user + 1)
    ]
    return log_of(rows)


class TestEveryKind:
    @pytest.mark.parametrize("kind", KINDS)
    @given(rows=ROWS, seed=st.integers(0, 99))
    @thorough(60)
    def test_order_of_rows_does_not_matter(self, kind: str, rows: list[Row], seed: int) -> None:
        one = or_empty(log_of(rows), kind, **KINDS[kind])
        mixed = [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))]
        other = or_empty(log_of(mixed), kind, **KINDS[kind])
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert windows_of(one) == windows_of(other)
            assert (one.cutoffs, one.leaks, one.settings) == (other.cutoffs, other.leaks, other.settings)

    @pytest.mark.parametrize("kind", KINDS)
    @given(rows=ROWS)
    @thorough(60)
    def test_windows_partition_the_rows(self, kind: str, rows: list[Row]) -> None:
        split = or_empty(log_of(rows), kind, **KINDS[kind])
        if split is not None:
            found = [row for part in windows_of(split).values() for row in part]
            assert sorted(found) == sorted(split.log.frame().rows())

    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "random"])
    def test_needs_times(self, kind: str) -> None:
        with pytest.raises(DataError, match=rf"no times; .* for a {kind} split\. Kinds without times: random"):
            split_log(log_of([(1, 1, 1, 1), (1, 2, 1, 2)], timed=False), kind, **KINDS[kind])

    def test_all_are_tested_here(self) -> None:
        assert set(SPLITS.names()) == set(KINDS)

    def test_nobody_is_dropped(self, spread: Log) -> None:
        split = split_log(spread)
        assert split.log.users.equals(spread.users) and split.log.items.equals(spread.items)


class TestTemporal:
    @given(
        at=st.lists(st.integers(0, 30), min_size=4, max_size=60),
        train=st.integers(1, 98),
        validation=st.integers(0, 98),
    )
    @thorough(60)
    def test_against_all_cutoffs_tried(self, at: list[int], train: int, validation: int) -> None:
        validation = min(validation, 99 - train)
        shares = [Fraction(train, 100), Fraction(train + validation, 100)]
        expected = [
            min(sorted(set(at)), key=lambda time: abs(Fraction(sum(one < time for one in at), len(at)) - share))
            for share in shares
        ]
        assert temporal_cutoffs(np.array(at), shares) == expected

    @given(rows=ROWS)
    @thorough(40)
    def test_equal_times_stay_together(self, rows: list[Row]) -> None:
        split = or_empty(log_of(rows), "temporal")
        if split is not None:
            found = {name: {row[3] for row in part} for name, part in windows_of(split).items()}
            assert max(found["train"]) < split.cutoffs["validation"] <= min(found["validation"])
            assert max(found["validation"]) < split.cutoffs["test"] <= min(found["test"])
            assert split.cutoffs["test"] in found["test"]
            assert split.leaks == ()

    def test_by_hand(self) -> None:
        split = split_log(times(*range(10, 110, 10)))
        assert split.cutoffs == {"validation": 90, "test": 100}
        assert split.window_codes.tolist() == [0] * 8 + [1, 2]
        assert split.settings == {"kind": "temporal", "fractions": [0.8, 0.1, 0.1]}

    def test_of_two_as_near_the_earlier(self) -> None:
        """Half of six rows lies in the middle of two rows of one time: either one row less or one more."""
        split = split_log(times(1, 2, 3, 3, 5, 6), fractions="0.5/0/0.5")
        assert split.cutoffs == {"test": 3}

    def test_without_validation(self) -> None:
        split = split_log(times(1, 2, 3, 4), fractions=[0.75, 0, 0.25])
        assert split.window_codes.tolist() == [0, 0, 0, 2]

    @pytest.mark.parametrize("fractions", [(0.8, 0.1, 0.1), [80, 10, 10], "80/10/10", " 0.8 / 0.1 / 0.1 "])
    def test_fractions_as_they_are_written(self, fractions: Any) -> None:
        assert split_log(times(*range(100)), fractions=fractions).settings["fractions"] == [0.8, 0.1, 0.1]

    def test_thirds_sum_to_one(self) -> None:
        assert sum(read_fractions("0.3333333/0.3333333/0.3333333")) == 1

    @pytest.mark.parametrize(
        "fractions",
        ["", "80", "80/20", "80/10/20", "0/50/50", "90/10/0", "a/b/c", "110/-20/10", "nan/0/1", "1/1e400/1", (1, 2)],
    )
    def test_odd_fractions(self, fractions: Any) -> None:
        with pytest.raises(UsageError, match="shares of train, validation and test that sum to 1"):
            split_log(times(1, 2, 3), fractions=fractions)

    @pytest.mark.parametrize(
        ("at", "empty"), [((1, 1, 1, 1), "train and validation"), ((1, 1, 1, 1, 2), "validation"), ((1,), "train")]
    )
    def test_a_window_would_be_empty(self, at: tuple[int, ...], empty: str) -> None:
        with pytest.raises(DataError, match=f"no rows for {empty}"):
            split_log(times(*at))


class TestDates:
    @pytest.mark.parametrize(
        ("given", "unit", "expected"),
        [
            ("1970-01-02", "s", 86_400),
            ("1970-01-02", "ms", 86_400_000),
            ("1970-01-02T01:00:00+01:00", "us", 86_400_000_000),
            ("1970-01-02T00:00:00Z", "ns", 86_400_000_000_000),
            ("1970-01-01T00:00:00.5", "s", 1),
            ("1969-12-31T23:59:59.5", "s", 0),
            ("86400", "s", 86_400),
            ("-2.5", "", -2),
        ],
    )
    def test_read(self, given: str, unit: str, expected: int) -> None:
        assert parse_time(given, unit, "it") == expected

    @pytest.mark.parametrize("given", ["yesterday", "2000-13-01", "nan", "inf", "1e999999"])
    def test_no_date(self, given: str) -> None:
        with pytest.raises(UsageError, match="expected a date like 2000-12-31, or a number"):
            split_log(times(1, 2, 3), "dates", test=given)

    def test_a_date_where_times_are_numbers(self) -> None:
        with pytest.raises(UsageError, match="plain numbers; expected a number"):
            parse_time("2000-01-01", "", "it")
        assert format_time(3, "") is None

    def test_written(self) -> None:
        assert format_time(1046454590, "s") == "2003-02-28T17:49:50Z"
        assert format_time(1046454590123, "ms") == "2003-02-28T17:49:50.123Z"

    def test_windows(self) -> None:
        split = split_log(times(1, 2, 3, 4), "dates", validation=2, test="4")
        assert (split.window_codes.tolist(), split.cutoffs) == ([0, 1, 1, 2], {"validation": 2, "test": 4})
        assert split_log(times(1, 2, 3, 4), "dates", test="1970-01-01T00:00:03Z").window_codes.tolist() == [0, 0, 2, 2]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "needs a date"),
            ({"validation": 3}, "needs a date"),
            ({"validation": 3, "test": 3}, "expected validation before test"),
            ({"test": True}, "test is True"),
        ],
    )
    def test_odd(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            split_log(times(1, 2, 3, 4), "dates", **options)

    @pytest.mark.parametrize(("options", "empty"), [({"test": 0}, "train"), ({"test": 9}, "test")])
    def test_outside(self, options: dict[str, Any], empty: str) -> None:
        with pytest.raises(DataError, match=f"no rows for {empty}"):
            split_log(times(1, 2, 3, 4), "dates", **options)


def moments_of(split: Split) -> dict[str, list[tuple[Any, ...]]]:
    """Whose rows of which times each window has."""
    return {name: sorted((row[0], row[3]) for row in rows) for name, rows in windows_of(split).items()}


def held_back(log: Log, boundaries: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Plainly, user by user: when rows were, in order, cut where ``boundaries`` says for so many rows.

    Which of several rows of one time comes first is by chance, so that items are not looked at.
    """
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in WINDOWS}
    rows = [(row[0], row[3]) for row in log.frame().rows()]
    for user in log.users:
        own = sorted(row for row in rows if row[0] == user)
        first, second = boundaries(len(own))
        for name, part in zip(WINDOWS, (own[:first], own[first:second], own[second:]), strict=True):
            found[name] += part
    return {name: sorted(part) for name, part in found.items()}


class TestByUser:
    @pytest.mark.parametrize(("n", "validation"), [(1, None), (3, None), (2, 0), (1, 4)])
    def test_leave_last(self, spread: Log, n: int, validation: int | None) -> None:
        before = n if validation is None else validation

        def boundaries(rows: int) -> tuple[int, int]:
            return (rows - n - before, rows - n) if rows > n + before else (rows, rows)

        split = split_log(spread, "leave-last", n=n, validation=validation)
        assert moments_of(split) == held_back(spread, boundaries)
        assert split.settings["users_in_train_only"] == int((spread.per_user <= n + before).sum())

    def test_fractions(self, spread: Log) -> None:
        def boundaries(rows: int) -> tuple[int, int]:
            first = max(1, int(Fraction(7, 10) * rows + Fraction(1, 2)))
            return first, max(first, int(Fraction(9, 10) * rows + Fraction(1, 2)))

        split = split_log(spread, "user-fraction", fractions="70/20/10")
        assert moments_of(split) == held_back(spread, boundaries)

    def test_everybody_trains_on_something(self, spread: Log) -> None:
        split = split_log(spread, "user-fraction", fractions="1/0/99")
        assert window_sizes(split)["test"]["cold_users"] == 0

    def test_cuts_within_one_time_are_counted(self) -> None:
        log = log_of([("a", "x", 1, 1), ("a", "z", 1, 2), ("a", "y", 1, 2), ("b", "x", 1, 1), ("b", "y", 1, 2)])
        split = split_log(log, "leave-last", validation=0)
        assert [row[::3] for row in rows_in(split, "test")] == [("a", 2), ("b", 2)]
        assert split.leaks == ("1 user was split between rows of equal time, so that the held-out row is random",)

    def test_rows_of_one_time_are_not_held_out_by_their_ids(self) -> None:
        """Else the same items would be everybody's last, and training would lack them."""
        log = log_of([(user, item, 1, 7) for user in range(40) for item in range(10)])
        split = split_log(log, "leave-last", validation=0)
        tested = {row[1] for row in rows_in(split, "test")}
        assert len(tested) > 5 and window_sizes(split)["test"]["cold_items"] == 0

    def test_what_leaks_is_counted(self) -> None:
        """a is tested at 2 and b at 9: half of the tested rows lie before one of the four that train."""
        rows = [
            ("a", "x", 1, 0),
            ("a", "y", 1, 2),
            ("b", "x", 1, 1),
            ("b", "z", 1, 4),
            ("b", "w", 1, 5),
            ("b", "y", 1, 9),
        ]
        (leak,) = split_log(log_of([*rows, ("c", "x", 1, 20)]), "leave-last", validation=0).leaks
        assert (
            "others did after the tested interactions (20.0 % of training is later than half of the test rows)" in leak
        )

    def test_times_far_apart(self) -> None:
        rows = [("a", "x", 1, -(2**62)), ("a", "y", 1, 2**62), ("b", "x", 1, 5), ("b", "y", 1, 6), ("b", "z", 1, 4)]
        split = split_log(log_of(rows), "leave-last", validation=0)
        assert [row[:2] for row in rows_in(split, "test")] == [("a", "y"), ("b", "y")]


class TestFoldsOfUsers:
    def test_each_user_is_held_out_once(self, spread: Log) -> None:
        folds = split_folds(spread, "users", folds=4, fraction=0.5)
        tested = [split.window("test").users.gather(np.unique(split.window("test").user)).to_list() for split in folds]
        assert sorted(user for users in tested for user in users) == sorted(spread.users.to_list())
        assert {len(users) for users in tested} == {6}
        assert [split.settings["fold"] for split in folds] == [1, 2, 3, 4]

    def test_last_share_of_the_fold_alone(self, spread: Log) -> None:
        split = split_log(spread, "users", folds=3, fold=2, fraction=0.5)
        for code in np.unique(split.window("test").user):
            own = split.log.user == code
            assert split.log.time is not None
            assert (
                split.log.time[own & (split.window_codes == 0)].max()
                <= split.log.time[own & (split.window_codes == 2)].min()
            )
        assert window_sizes(split)["train"]["users"] == len(spread.users)

    def test_by_seed(self, spread: Log) -> None:
        first, second, again = (split_log(spread, "users", seed=seed).window_codes for seed in (0, 1, 0))
        assert (first == again).all() and not (first == second).all()

    def test_more_folds_than_users(self) -> None:
        log = log_of([(1, 1, 1, 1), (1, 2, 1, 2), (2, 1, 1, 3), (2, 2, 1, 4)])
        with pytest.raises(DataError, match="3 folds of 2 users"):
            split_log(log, "users", folds=3, fold=3, fraction=0.5)


class TestRandom:
    def test_sizes_are_near_the_fractions(self) -> None:
        log = log_of([(place % 100, place // 100, 1, 7) for place in range(20_000)])
        sizes = window_sizes(split_log(log, "random"))
        assert [sizes[name]["share"] for name in WINDOWS] == pytest.approx([0.8, 0.1, 0.1], abs=0.01)

    def test_a_row_moves_no_other(self, spread: Log) -> None:
        fewer = spread.take(np.arange(100))
        assert (split_log(fewer, "random").window_codes == split_log(spread, "random").window_codes[:100]).all()

    def test_seed_user_item_and_time_all_count(self) -> None:
        base = log_of([(1, item, 1, 5) for item in range(500)])
        others = {
            "seed": (base, 1),
            "user": (log_of([(2, item, 1, 5) for item in range(500)]), 0),
            "time": (log_of([(1, item, 1, 6) for item in range(500)]), 0),
        }
        part = split_log(base, "random").window_codes
        assert len(set(part.tolist())) == 3
        for log, seed in others.values():
            assert 0.2 < (split_log(log, "random", seed=seed).window_codes != part).mean() < 0.5

    def test_users_and_items_of_one_name(self) -> None:
        log = log_of([(one, one, 1, 5) for one in range(500)])
        assert {*split_log(log, "random").window_codes.tolist()} == {0, 1, 2}

    def test_without_times(self) -> None:
        split = split_log(log_of([(1, item, 1, 0) for item in range(200)], timed=False), "random")
        assert split.leaks == (
            "rows are drawn independent of time: models may learn from what the same users and others did later",
        )


class TestRolling:
    def test_expanding(self) -> None:
        splits = split_folds(times(*range(10)), "rolling", windows=3, share=0.2)
        assert [split.window_codes.tolist() for split in splits] == [
            [0, 0, 0, 0, 2, 2, -1, -1, -1, -1],
            [0, 0, 0, 0, 0, 0, 2, 2, -1, -1],
            [0, 0, 0, 0, 0, 0, 0, 0, 2, 2],
        ]
        assert [split.cutoffs for split in splits] == [{"test": 4, "end": 6}, {"test": 6, "end": 8}, {"test": 8}]

    def test_sliding(self) -> None:
        splits = split_folds(times(*range(10)), "rolling", windows=3, share=0.2, train="sliding")
        assert [split.window_codes.tolist() for split in splits][1:] == [
            [-1, -1, 0, 0, 0, 0, 2, 2, -1, -1],
            [-1, -1, -1, -1, 0, 0, 0, 0, 2, 2],
        ]
        assert splits[2].cutoffs == {"train": 4, "test": 8}

    def test_by_days(self) -> None:
        day = 86_400
        log = times(0, day, 5 * day, 6 * day, 7 * day, 8 * day - 1)
        splits = split_folds(log, "rolling", windows=2, days=1.5)
        assert [split.window_codes.tolist() for split in splits] == [[0, 0, 2, 2, -1, -1], [0, 0, 0, 0, 2, 2]]
        assert splits[1].cutoffs == {"test": 8 * day - day * 3 // 2}

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"windows": 5, "share": 0.2}, UsageError, "5 windows of 0.2 of the rows leave no rows"),
            ({"windows": 2, "days": 400}, DataError, "2 windows of 400 days leave no rows"),
            ({"windows": 2, "days": 4, "share": 0.2}, UsageError, "by share and by days"),
            ({"windows": 2, "window": 3}, UsageError, "window is 3; expected 1 to 2"),
            ({"train": "slidng"}, UnknownName, "unknown value of train: 'slidng'. Did you mean sliding"),
        ],
    )
    def test_odd(self, options: dict[str, Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            split_log(times(*range(100)), "rolling", **options)


class TestAsking:
    def test_a_misspelt_kind(self) -> None:
        with pytest.raises(UnknownName, match=r"unknown kind of split 'tempral'\. Did you mean temporal"):
            split_log(times(1, 2), "tempral")

    @pytest.mark.parametrize(
        ("kind", "options", "message"),
        [
            ("temporal", {"fraction": 3}, "unknown option of the temporal split: 'fraction'. Did you mean fractions"),
            ("leave-last", {"n": 0}, "n is 0; expected 1 or more"),
            ("leave-last", {"n": 1.5}, "n is 1.5; expected a whole number"),
            ("users", {"fraction": 1}, "fraction is 1"),
            ("users", {"fraction": 0.5, "validation": 0.5}, "leave nothing to train on"),
            ("users", {"fold": 6}, "fold is 6; expected 1 to 5"),
            ("random", {"seed": "x"}, "seed is 'x'; expected a whole number"),
        ],
    )
    def test_options_are_checked(self, kind: str, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            split_log(times(*range(20)), kind, **options)

    def test_folds_of_what_has_none(self) -> None:
        with pytest.raises(UsageError, match=r"a temporal split has no folds; expected .*users"):
            split_folds(times(1, 2, 3), "temporal")
        with pytest.raises(UsageError, match="found fold, but all folds are created"):
            split_folds(times(1, 2, 3), "users", fold=1)

    def test_an_empty_log(self) -> None:
        with pytest.raises(DataError, match="the log has no rows"):
            split_log(times(1, 2).take(np.array([], dtype=np.int64)))


def test_counts() -> None:
    rows = [("a", "x", 5, 1), ("a", "y", 4, 2), ("b", "x", 3, 3), ("c", "z", 1, 4), ("a", "x", 2, 5), ("d", "w", 2, 5)]
    split = split_log(log_of(rows), "dates", validation=4, test=5)
    found = window_sizes(split)
    assert found["train"] == {
        **{"rows": 3, "share": 0.5, "users": 2, "items": 2, "cold_users": 0, "cold_items": 0, "first": 1, "last": 3},
        **{"from": "1970-01-01T00:00:01Z", "to": "1970-01-01T00:00:03Z"},
    }
    assert [found["validation"][key] for key in ("rows", "cold_users", "cold_items")] == [1, 1, 1]
    assert [found["test"][key] for key in ("rows", "users", "cold_users", "cold_items")] == [2, 2, 1, 1]
