"""Make the movielens sample: ``ratings.csv``, ``movies.csv`` and ``users.csv``.

Nobody gave these ratings. Movies, people and their visits are drawn by a seed, as the modules in ``scripts/movielens``
say; the same seed makes the same files, byte for byte. Run it from the root of the repository; rankjury itself does not
need it::

    python scripts/make_movielens.py
    python scripts/make_movielens.py --figures

The second form writes nothing: it prints what the README of the sample says about the log.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from movielens.chance import Chance
from movielens.movies import Movies, make_movies
from movielens.people import People, make_people
from movielens.visits import Rating, Strengths, rate_all

FOLDER = Path(__file__).resolve().parents[1] / "src" / "rankjury" / "plan" / "samples" / "movielens"
SEED = 1
USERS, MOVIES, OLD = 440, 480, 320
"""How many users and movies there are, and how many of the movies when the log begins."""
FIRST_YEAR, YEARS = 2021, 3.0
BEGINNING = int(datetime(FIRST_YEAR, 1, 1, tzinfo=UTC).timestamp())


def compose(seed: int = SEED) -> dict[str, str]:
    """The files by name."""
    movies = make_movies(Chance(seed, 0), count=MOVIES, old=OLD, first_year=FIRST_YEAR, years=YEARS, skew=4.5)
    people = make_people(Chance(seed, 1), count=USERS, years=YEARS, least=5, middle=42.0, most=340, tail=1.1)
    rows = rate_all(Chance(seed, 2), people, movies, Strengths(), YEARS)
    return to_files(movies, people, rows, Chance(seed, 3))


def to_files(movies: Movies, people: People, rows: list[Rating], chance: Chance) -> dict[str, str]:
    """With ids that say nothing about who came when."""
    user_ids = (chance.order(USERS) + 1).tolist()
    movie_ids = (chance.order(MOVIES) + 1).tolist()
    ratings = sorted((user_ids[row.user], movie_ids[row.movie], row.stars, BEGINNING + row.seconds) for row in rows)
    joined = ("|".join(own) for own in movies.genres)
    return {
        "ratings.csv": to_csv(("userId", "movieId", "rating", "timestamp"), ratings),
        "movies.csv": to_csv(
            ("movieId", "title", "genres"), sorted(zip(movie_ids, movies.titles, joined, strict=True))
        ),
        "users.csv": to_csv(
            ("userId", "ageGroup", "country"), sorted(zip(user_ids, people.ages, people.countries, strict=True))
        ),
    }


def to_csv(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return written.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the movielens sample.")
    parser.add_argument("--figures", action="store_true", help="print what the README says about the committed log")
    if parser.parse_args().figures:
        from movielens.figures import print_figures

        print_figures(FOLDER)
        return
    for name, text in compose().items():
        (FOLDER / name).write_bytes(text.encode())


if __name__ == "__main__":
    main()
