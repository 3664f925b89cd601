"""What in a log would leak or mislead, as sentences with their counts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from karat.interactions.audit.times import Future, Ties
from karat.interactions.splitting.moments import written_moment
from karat.wording import count, percent

if TYPE_CHECKING:
    from karat.interactions.audit import Audit, Ratings

__all__ = ["warnings_of"]

_MANY_DUPLICATES = 0.01
_MOSTLY = 0.75
_HALF = 0.5
_SOME_USERS = 0.1
_FEW_USERS = 30


def warnings_of(found: "Audit") -> Iterator[str]:
    """Each says what was found and what comes of it."""
    yield from _of_rows(found)
    if found.catalogue is not None and found.catalogue.unlisted == found.items.n:
        yield "not one item of the log is in the file of items: are the ids of another kind?"
    elif found.catalogue is not None and found.catalogue.unlisted:
        items = count(found.catalogue.unlisted, "item of the log is", "items of the log are")
        yield f"{items} not in the file of items: with that as catalogue they are candidates of their takers alone"
    if found.ratings is not None:
        yield from _of_ratings(found.ratings)
    if found.times is None:
        yield "no column of times: it can only be split at random, and models then learn from what came later"
    elif found.times.first == found.times.last:
        yield f"all rows have one time ({_when(found.times.first, found.times.unit)}): nothing can be split by time"
    elif found.ties is not None and found.future is not None:
        times = found.times
        if not times.unit:
            yield "times are plain numbers: they order rows, but are no dates"
        if times.future:
            yield f"{count(times.future, 'row is', 'rows are')} from the future (until {_when(times.last, times.unit)})"
        if times.early:
            since = _when(times.first, times.unit)
            yield f"{count(times.early, 'row is', 'rows are')} from before 1990 (from {since} on)"
        yield from _of_ties(found.ties, found.times.unit, found.rows, found.future)
        yield from _of_future(found.future)


def _share(part: int, whole: int) -> str:
    return percent(part / whole, 1) if whole else "none"


def _when(time: int, unit: str) -> str:
    return written_moment(time, unit) or f"{time:,}"


def _of_rows(found: "Audit") -> Iterator[str]:
    if found.duplicate_pairs > _MANY_DUPLICATES * found.rows:
        exact = f", {found.exact_duplicates:,} of them in full" if found.exact_duplicates else ""
        yield (
            f"{count(found.duplicate_pairs, 'row repeats', 'rows repeat')} a user and an item of another row "
            f"({_share(found.duplicate_pairs, found.rows)}{exact}): a random split would test what it trains on, and "
            "of each pair only the latest row counts"
        )
    elif found.exact_duplicates:
        yield f"{count(found.exact_duplicates, 'row repeats another', 'rows repeat others')} in full"
    if found.users.n < _FEW_USERS:
        yield f"{count(found.users.n, 'user', 'users')} only: intervals over users will be wide, if there are any"


def _of_ratings(ratings: "Ratings") -> Iterator[str]:
    if ratings.lowest == ratings.highest:
        yield f"all ratings are {ratings.lowest:g}: they say no more than that an item was taken"
        return
    if ratings.lowest < 0:
        yield (
            f"ratings go down to {ratings.lowest:g}: those below 0 are taken as such, which gain nothing; if they mean "
            "that something was not rated, take them out"
        )
    if ratings.lowest >= 0 and ratings.highest <= 1:
        yield (
            f"ratings lie between {ratings.lowest:g} and {ratings.highest:g}: a threshold for scales of stars, such as "
            "rel=4, finds nothing relevant"
        )
    if ratings.high_share >= _MOSTLY:
        yield (
            f"{percent(ratings.high_share, 1)} of ratings are {ratings.high_from:g} or more: people rate what they "
            "like, and such a threshold hardly tells good from bad"
        )


def _of_ties(ties: Ties, unit: str, rows: int, future: Future) -> Iterator[str]:
    least = min(share for share in future.fractions if share)
    if ties.largest > least * rows:
        yield (
            f"{ties.largest:,} rows ({_share(ties.largest, rows)}) have one time, {_when(ties.largest_at, unit)}: more "
            f"than a window of {percent(least)} can hold, and equal times are never parted"
        )
    if ties.bulk_users:
        users = count(ties.bulk_users, "user has", "users have")
        yield (
            f"{users} more than {ties.bulk} rows within one second: entered in bulk, so that the order of a user's "
            "rows is arbitrary and leave-last splits draw by chance"
        )
    if ties.users_of_one_time > _SOME_USERS * ties.users_of_several_rows:
        share = _share(ties.users_of_one_time, ties.users_of_several_rows)
        yield (
            f"all rows of {count(ties.users_of_one_time, 'user', 'users')} ({share} of those with several) have one "
            "time: there is no last one of them to hold out"
        )


def _of_future(future: Future) -> Iterator[str]:
    windows = {"train": future.train_rows, "validation": future.validation_rows, "test": future.test_rows}
    asked = dict(zip(windows, future.fractions, strict=True))
    empty = [name for name, rows in windows.items() if not rows and asked[name]]
    shown = "/".join(f"{100 * share:g}" for share in future.fractions)
    if empty:
        yield f"a temporal split of {shown} leaves {' and '.join(empty)} empty: too many rows have equal times"
        return
    under = f"have no row in training under a temporal split of {shown}"
    if future.unseen_users > _HALF * future.test_users:
        users = _of(future.unseen_users, future.test_users, "test users")
        yield f"{users} {under}: for them no model knows more than popularity"
    if future.unseen_items > _HALF * future.test_items:
        items = _of(future.unseen_items, future.test_items, "test items")
        yield f"{items} {under}: only models that know their content find them"


def _of(part: int, whole: int, what: str) -> str:
    return f"{part:,} of {whole:,} {what} ({_share(part, whole)})"
