"""What runs are called, and their order."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from hypothesis import given, strategies as st

from rankjury.tracking.archive.files import default_plan_name, format_time, run_name, slug, sort_key

MOMENT = datetime(2026, 11, 17, 5, 9, 35, 123_000, tzinfo=UTC)


def test_time_plan_and_hash() -> None:
    assert run_name(MOMENT, "movies", "1a2b3c4d" + "0" * 56) == "20261117T050935Z-movies-1a2b3c4d"
    assert run_name(MOMENT, "movies", "1a2b3c4d" + "0" * 56, 2) == "20261117T050935Z-movies-1a2b3c4d-2"


def test_time_is_in_utc_whatever_the_clock_says() -> None:
    here = MOMENT.astimezone(timezone(timedelta(hours=7)))
    assert run_name(here, "x", "0" * 64) == run_name(MOMENT, "x", "0" * 64)
    assert format_time(here) == "2026-11-17T05:09:35.123Z" and datetime.fromisoformat(format_time(here)) == MOMENT


@given(st.text(max_size=300))
def test_any_name_of_a_plan_makes_a_folder(name: str) -> None:
    found = slug(name)
    assert 1 <= len(found.encode()) <= 60
    assert Path(found).name == found and not found.startswith(".") and found.isprintable()


def test_names_of_people_are_kept() -> None:
    assert slug("фильмы 2026/β") == "фильмы-2026-β"
    assert slug("../../etc") == "etc" and slug("") == slug("…") == "plan"


def test_names_that_only_a_number_tells_apart_come_in_its_order() -> None:
    base = run_name(MOMENT, "x", "0" * 64)
    names = [base, *(f"{base}-{number}" for number in range(2, 13))]
    shuffled = [names[place] for place in (7, 2, 11, 0, 9, 4, 1, 10, 3, 8, 5, 6)]
    assert sorted(shuffled, key=lambda name: sort_key("t", name)) == names


def test_a_plan_is_called_by_itself_its_file_or_its_folder() -> None:
    assert default_plan_name("movies", Path("a/b.toml")) == "movies"
    assert default_plan_name(None, Path("a/b.toml")) == "b"
    assert default_plan_name(None, Path("/data/shop/rankjury.toml")) == "shop"
    assert default_plan_name("", Path("/rankjury.toml")) == "rankjury"
    assert default_plan_name(None, Path(b"a\xff.toml".decode("utf-8", "surrogateescape"))) == "a?"
