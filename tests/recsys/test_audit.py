"""The audit of a log, against plain loops and by hand."""

import json
import math
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from statistics import mean, median, pstdev
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from rankjury.errors import DataError, UsageError
from rankjury.recsys.audit import Audit, audit, describe_times, gini, histogram, share_of_largest
from rankjury.recsys.data.attributes import Attributes, read_items
from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.data.read import read_log
from rankjury.recsys.splitting import split_log
from tests import paths
from tests.stats.support import thorough

REAL = paths.SHARED / "interactions" / "ml-latest-small"
Row = tuple[str, str, float, int]
BASE = 1_000_000_000


def log_of(rows: list[Row], unit: str = "s") -> Log:
    return log_from_frame(pl.DataFrame(rows, schema=["user", "item", "value", "time"], orient="row"), unit=unit)


def plain_gini(counts: list[int]) -> float:
    """Mean absolute difference of all pairs over twice the mean: another formula of the same figure."""
    n = len(counts)
    return sum(abs(a - b) for a in counts for b in counts) / (2 * n * n * mean(counts))


def plain_top(counts: list[int]) -> float:
    many = math.ceil(Fraction(1, 5) * len(counts))
    return sum(sorted(counts, reverse=True)[:many]) / sum(counts)


def plain_cut(times: list[int], share: Fraction) -> int:
    """The time before which the share of rows is nearest to what was asked for; of two the earlier."""
    return min(
        sorted(set(times)),
        key=lambda cut: (abs(sum(t < cut for t in times) - share * len(times)), cut),
    )


def check(found: Audit, rows: list[Row], cold: int) -> None:
    """Everything once more, in loops."""
    users, items = Counter(row[0] for row in rows), Counter(row[1] for row in rows)
    for side, counts in ((found.users, users), (found.items, items)):
        numbers = list(counts.values())
        assert side.n == len(numbers)
        assert (side.rows.min, side.rows.max) == (min(numbers), max(numbers))
        assert (side.rows.median, side.rows.mean) == (median(numbers), pytest.approx(mean(numbers), abs=1e-12))
        assert side.gini == pytest.approx(plain_gini(numbers), abs=1e-12)
        assert side.top_share == pytest.approx(plain_top(numbers), abs=1e-12)
        assert side.cold == sum(number < cold for number in numbers)
    pairs = {row[:2] for row in rows}
    assert found.sparsity == pytest.approx(1 - len(pairs) / (len(users) * len(items)), abs=1e-12)
    assert found.duplicate_pairs == len(rows) - len(pairs)
    assert found.exact_duplicates == len(rows) - len(set(rows))
    assert found.ratings is not None
    values = [row[2] for row in rows]
    assert found.ratings.mean == pytest.approx(mean(values), abs=1e-12)
    assert found.ratings.std == pytest.approx(pstdev(values), abs=1e-9)
    assert {one.low: one.count for one in found.ratings.histogram} == Counter(values)
    check_times(found, rows)


def check_times(found: Audit, rows: list[Row]) -> None:
    times = Counter(row[3] for row in rows)
    own = Counter((row[0], row[3]) for row in rows)
    ties = found.ties
    assert ties is not None
    assert ties.rows == sum(n for n in times.values() if n > 1)
    assert ties.rows_within_users == sum(n for n in own.values() if n > 1)
    assert ties.largest == max(times.values()) == times[ties.largest_at]
    assert ties.largest_of_user == max(own.values())
    of_user = {user: [row[3] for row in rows if row[0] == user] for user in {row[0] for row in rows}}
    several = [given for given in of_user.values() if len(given) > 1]
    assert ties.users_of_several_rows == len(several)
    assert ties.users_of_one_time == sum(len(set(given)) == 1 for given in several)
    assert ties.bulk_users == sum(max(Counter(given).values()) > 10 for given in of_user.values())
    future = found.future
    assert future is not None
    every = [row[3] for row in rows]
    first, second = plain_cut(every, Fraction(8, 10)), plain_cut(every, Fraction(9, 10))
    train, test = [row for row in rows if row[3] < first], [row for row in rows if row[3] >= second]
    assert (future.validation_from, future.test_from) == (first, second)
    assert (future.train_rows, future.test_rows) == (len(train), len(test))
    assert future.validation_rows == len(rows) - len(train) - len(test)
    for place, n, unseen in (
        (0, future.test_users, future.unseen_users),
        (1, future.test_items, future.unseen_items),
    ):
        tested, seen = {row[place] for row in test}, {row[place] for row in train}
        assert (n, unseen) == (len(tested), len(tested - seen))
    known = [{row[place] for row in train} for place in (0, 1)]
    assert future.unseen_rows == sum(row[0] not in known[0] or row[1] not in known[1] for row in test)


@thorough(60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"),
            st.sampled_from("uvwxyz"),
            st.sampled_from([1.0, 2.5, 4.0, 5.0]),
            st.integers(BASE, BASE + 12),
        ),
        min_size=1,
        max_size=60,
    ),
    st.integers(0, 12),
)
def test_every_figure_is_that_of_a_plain_loop(rows: list[Row], cold: int) -> None:
    check(audit(log_of(rows), cold=cold), rows, cold)


def test_a_larger_log_with_skew_is_that_of_a_plain_loop() -> None:
    rng = np.random.default_rng(3)
    n = 3000
    users, items = rng.zipf(1.6, n) % 90, rng.zipf(1.4, n) % 150
    times = BASE + rng.integers(0, 400, n) // 3
    rows = [
        (str(u), str(i), float(v), int(t))
        for u, i, v, t in zip(users, items, rng.integers(1, 6, n), times, strict=True)
    ]
    check(audit(log_of(rows)), rows, 10)


def test_times_so_far_apart_that_keys_would_overflow() -> None:
    rows = [("a", "x", 1.0, 0), ("b", "x", 1.0, 2**62), ("b", "y", 1.0, 2**62), ("c", "x", 1.0, 5)]
    ties = audit(log_of(rows, unit="ns")).ties
    assert ties is not None
    assert (ties.rows, ties.rows_within_users, ties.users_of_one_time, ties.largest_at) == (2, 2, 1, 2**62)


def test_gini_by_hand() -> None:
    assert gini(np.array([3, 3, 3])) == 0
    assert gini(np.array([0, 0, 0, 8])) == pytest.approx(3 / 4)
    assert gini(np.array([1, 3])) == pytest.approx(1 / 4)
    assert gini(np.array([1, 2, 3])) == pytest.approx(2 / 9)
    assert math.isnan(gini(np.array([0, 0])))


def test_the_top_fifth_is_rounded_up() -> None:
    assert share_of_largest(np.array([1, 1, 1, 1, 6]), 0.2) == pytest.approx(0.6)
    assert share_of_largest(np.array([1, 2, 1, 1, 1, 4]), 0.2) == pytest.approx(0.6)
    assert share_of_largest(np.array([7]), 0.2) == 1


def test_many_values_are_put_into_bins() -> None:
    values, counts = np.arange(0, 101, dtype=np.float64), np.ones(101, dtype=np.int64)
    bins = histogram(values, counts)
    assert [(one.low, one.high) for one in bins] == [(10.0 * n, 10.0 * n + 10) for n in range(10)]
    assert [one.count for one in bins] == [10] * 9 + [11]


def test_the_catalogue_counts_what_nobody_took() -> None:
    rows: list[Row] = [("a", "x", 1.0, BASE), ("a", "y", 2.0, BASE + 1), ("b", "x", 3.0, BASE + 2)]
    assert audit(log_of(rows)).catalogue is None
    listed = Attributes(pl.Series(["x", "p", "q"]), pl.DataFrame())
    found = audit(log_of(rows), items=listed)
    assert found.catalogue is not None
    assert (found.catalogue.n, found.catalogue.never_taken, found.catalogue.unlisted) == (3, 2, 1)
    assert found.catalogue.gini == pytest.approx(plain_gini([2, 1, 0, 0]))
    assert any(one.startswith("1 item of the log is not in the file") for one in found.warnings)
    assert found.items.n == 2
    wider = audit(log_of(rows).with_items(pl.Series(["p", "q", "r"])))
    assert wider.catalogue is not None
    assert (wider.catalogue.n, wider.catalogue.never_taken, wider.items.n) == (5, 3, 2)
    assert wider.items.gini == pytest.approx(plain_gini([2, 1]))
    other = audit(log_of(rows), items=Attributes(pl.Series(["1", "2"]), pl.DataFrame()))
    assert any("not one item of the log is in the file of items" in one for one in other.warnings)


def test_dates_of_every_unit() -> None:
    for unit, factor in {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}.items():
        times = describe_times(log_of([("a", "x", 1.0, 978300760 * factor), ("a", "y", 1.0, 978387160 * factor)], unit))
        assert times is not None and times.first_date is not None and times.last_date is not None
        assert times.first_date.startswith("2000-12-31T22:12:40") and times.last_date.startswith("2001-01-01T22:12:40")
        assert (times.days, times.early, times.future) == (1, 0, 0)
    plain = describe_times(log_of([("a", "x", 1.0, 3), ("a", "y", 1.0, 9)], ""))
    assert plain is not None
    assert (plain.first, plain.last, plain.first_date, plain.days, plain.early) == (3, 9, None, None, 0)


def test_rows_before_1990_and_from_the_future_are_counted() -> None:
    edge = int(datetime(1990, 1, 1, tzinfo=UTC).timestamp())
    rows: list[Row] = [("a", str(n), 1.0, time) for n, time in enumerate((0, edge - 1, edge, 2 * BASE, 2 * BASE + 1))]
    now = datetime.fromtimestamp(2 * BASE, tz=UTC)
    times = describe_times(log_of(rows), now)
    assert times is not None and (times.early, times.future) == (2, 1)
    found = audit(log_of([*rows, ("b", "z", 2.0, 90 * BASE)]))
    told = [one for one in found.warnings if "before 1990" in one or "future" in one]
    assert told[0].endswith("future (until 4821-12-26T16:00:00Z)") and told[1].startswith("2 rows are from before 1990")


# --- warnings -----------------------------------------------------------------------------------------------------


def quiet_rows() -> list[Row]:
    """A log that nothing is to be said against."""
    rng = np.random.default_rng(0)
    users = np.tile(np.arange(40), 25)
    items = np.concatenate([rng.permutation(40) for _ in range(25)])
    rows = {(str(u), str(i)) for u, i in zip(users, items, strict=True)}
    return [
        (u, i, float(1 + n % 5), BASE + 60 * n) for n, (u, i) in enumerate(sorted(rows, key=lambda one: hash_of(*one)))
    ]


def hash_of(user: str, item: str) -> int:
    return (int(user) * 7919 + int(item) * 104729) % 10007


def told_of(rows: list[Row], **options: Any) -> str:
    return "\n".join(audit(log_of(rows), **options).warnings)


def test_nothing_is_said_against_a_log_in_order() -> None:
    assert told_of(quiet_rows()) == ""


def test_each_warning_by_the_log_that_deserves_it() -> None:
    rows = quiet_rows()
    assert "20 rows repeat a user and an item of another row (" in told_of(rows + rows[:20])
    assert ", 20 of them in full)" in told_of(rows + rows[:20])
    assert told_of(rows + rows[:1]) == "1 row repeats another in full"
    assert "all ratings are 3: they say no more" in told_of([(u, i, 3.0, t) for u, i, _, t in rows])
    assert "ratings lie between 0.2 and 1: " in told_of([(u, i, v / 5, t) for u, i, v, t in rows])
    high = told_of([(u, i, 4.0 if v > 1 else 1.0, t) for u, i, v, t in rows])
    assert "80.0 % of ratings are 4 or more" in high
    assert "all rows have one time (2001-09-09T01:46:40Z)" in told_of([(u, i, v, BASE) for u, i, v, _ in rows])
    half = [(u, i, v, t if n % 2 else BASE) for n, (u, i, v, t) in enumerate(rows)]
    assert "(50.0 %) have one time, 2001-09-09T01:46:40Z: more than a window of 10 % can hold" in told_of(half)
    assert "29 users only" in told_of([row for row in rows if int(row[0]) < 29])
    assert "leaves validation empty" in told_of([("a", "x", 1.0, BASE), ("b", "y", 2.0, BASE + 1)])


def test_bulk_entries_and_users_of_one_time() -> None:
    rows = quiet_rows()
    bulk = [("new", f"i{n}", 3.0, BASE + 60 * 30) for n in range(11)]
    assert "1 user has more than 10 rows within one second" in told_of(rows + bulk)
    assert "within one second" not in told_of(rows + bulk[:10])
    at = [(u, i, v, BASE + 60 * int(u)) for u, i, v, _ in rows]
    assert "all rows of 40 users (100.0 % of those with several) have one time" in told_of(at)
    by_millisecond = log_of([(u, i, v, 1000 * t + n) for n, (u, i, v, t) in enumerate(bulk)], "ms")
    assert any("within one second" in one for one in audit(by_millisecond).warnings)


def test_users_and_items_that_only_the_future_has() -> None:
    rows = quiet_rows()
    later: list[Row] = [(f"n{n}", f"m{n}", 1.0 + n % 5, BASE * 2 - n) for n in range(150)]
    told = audit(log_of(rows + later)).warnings
    assert any("test users (100.0 %) have no row in training under a temporal split of 80/10/10" in one for one in told)
    assert any("test items (100.0 %) have no row in training" in one for one in told)


def test_a_log_without_times_and_without_ratings() -> None:
    frame = pl.DataFrame({"user": ["a", "b"] * 20, "item": [str(n) for n in range(40)]})
    found = audit(log_from_frame(frame, notes=("something of reading",)))
    assert (found.ratings, found.times, found.ties, found.future) == (None, None, None, None)
    assert found.warnings[0] == "something of reading"
    assert any(one.startswith("no column of times (--time COLUMN") for one in found.warnings)


def test_other_fractions() -> None:
    rows = quiet_rows()
    future = audit(log_of(rows), fractions=(0.5, 0.0, 0.5)).future
    assert future is not None
    assert (future.train_rows, future.validation_rows) == (len(rows) // 2, 0)
    assert future.test_rows == len(rows) - len(rows) // 2


def test_json_holds_everything_and_no_nan() -> None:
    form = audit(log_of(quiet_rows())).to_json()
    assert json.loads(json.dumps(form, allow_nan=False)) == form
    assert form["schema"] == "rankjury.audit/1"
    assert form["users"]["rows"]["max"] >= form["users"]["rows"]["min"]
    assert form["items"]["cold_share"] == form["items"]["cold"] / form["items"]["n"]


@pytest.mark.parametrize("options", [{"cold": -1}, {"fractions": (0.8, 0.1)}, {"fractions": (0.8, 0.3, 0.1)}])
def test_what_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        audit(log_of([("a", "x", 1.0, BASE)]), **options)


def test_a_log_without_rows() -> None:
    log = log_of([("a", "x", 1.0, BASE)])
    with pytest.raises(DataError, match="found no rows"):
        audit(log.take(np.zeros(1, dtype=bool)))


def test_paths_folders_and_frames_are_read(tmp_path: Path) -> None:
    """A path used to end in an AttributeError; a folder is taken with the movies that lie in it."""
    (tmp_path / "ml-1m").mkdir()
    rows = [("1", "7", 4.0, BASE), ("2", "7", 3.0, BASE + 5), ("2", "8", 5.0, BASE + 9)]
    file = tmp_path / "ml-1m" / "ratings.dat"
    file.write_text("".join(f"{user}::{item}::{value:g}::{time}\n" for user, item, value, time in rows))
    (tmp_path / "ml-1m" / "movies.dat").write_bytes(
        "7::Amélie (2001)::Drama\n8::B (1999)::War\n9::C::War\n".encode("latin-1")
    )
    frame = pl.DataFrame(rows, schema=["user", "item", "value", "time"], orient="row")
    expected = audit(log_of(rows))
    for log in (file, str(file), frame):
        assert replace(audit(log), source="") == replace(expected, source="")
    found = audit(tmp_path / "ml-1m")
    assert found.catalogue is not None and (found.catalogue.n, found.catalogue.never_taken) == (3, 1)
    assert audit(str(file), items=tmp_path / "ml-1m").catalogue == found.catalogue
    thirds: dict[str, Any] = {"kind": "temporal", "fractions": (0.34, 0.33, 0.33)}
    assert len(split_log(frame, **thirds).log) == len(split_log(str(file), **thirds).log) == 3
    for wrong in ({"log": 3}, {"log": frame, "items": 3}):
        with pytest.raises(UsageError, match="of type int"):
            audit(**wrong)  # type: ignore[arg-type]


@pytest.mark.skipif(not REAL.is_dir(), reason="the log of MovieLens (shared/data/interactions) is not here")
def test_the_real_log() -> None:
    """ml-latest-small as its README and plain loops have it."""
    log = read_log(REAL, scale=(0.5, 5))
    found = audit(log, items=read_items(REAL))
    assert (found.rows, found.users.n, found.items.n) == (100_004, 671, 9_066)
    assert found.catalogue is not None and found.times is not None
    assert (found.catalogue.n, found.catalogue.never_taken, found.catalogue.unlisted) == (9_125, 59, 0)
    assert found.users.rows.min == 20
    assert (found.times.first_date, found.times.last_date) == ("1995-01-09T11:46:49Z", "2016-10-16T17:57:24Z")
    rows = [(u, i, v, t) for u, i, v, t in log.frame().iter_rows()]
    assert (len(log), log.unit, log.rated) == (100_004, "s", True)
    for side, place in ((found.users, 0), (found.items, 1)):
        numbers = sorted(Counter(row[place] for row in rows).values())
        n = len(numbers)
        weighted = sum((n - at) * number for at, number in enumerate(numbers))
        assert side.gini == pytest.approx((n + 1 - 2 * weighted / sum(numbers)) / n, abs=1e-12)
        assert side.top_share == pytest.approx(plain_top(numbers), abs=1e-12)
    assert found.ties is not None and found.future is not None
    times = Counter(row[3] for row in rows)
    assert found.ties.rows == sum(n for n in times.values() if n > 1)
    assert (found.future.train_rows, found.future.test_rows) == (80_003, 10_000)
    assert (found.future.test_users, found.future.unseen_users) == (82, 72)


def test_the_answer_counts_the_risks() -> None:
    users = [(f"u{n}", f"i{k}", 3.0, BASE + 1000 * (40 * k + n)) for n in range(40) for k in range(10)]
    clean = audit(log_of(users))
    assert clean.sentence.startswith("Usable; ") and len(clean.risks) == len(clean.warnings)
    assert all(risk in clean.sentence for risk in clean.risks)
    one_time = audit(log_of([(user, item, value, BASE) for user, item, value, _ in users]))
    assert one_time.sentence.startswith("Usable for random splits only; ") and "one time" in one_time.sentence
    repeated = audit(log_of([*users, *users[:40]]))
    assert "repeated pairs" in repeated.sentence and "(9.1 % of rows)" in repeated.sentence
    no_risk = replace(clean, risks=())
    assert no_risk.sentence == "Usable; no risk found."
    assert no_risk.sentence in repr(no_risk) and len(repr(no_risk)) < 120
