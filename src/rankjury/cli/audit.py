"""rankjury audit: what a log of interactions holds, and what in it would leak or mislead."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared.console import check_standard_input, print_json, say, show_progress, warn
from rankjury.cli.shared.options import JsonOption, LogOptions, QuietOption, expand_options

if TYPE_CHECKING:
    from rankjury.recsys.audit import Audit

GROUP = "Gold"
ORDER = 3
EPILOG = (
    "Examples:\n\n"
    "  rankjury audit ml-1m\n\n"
    "  rankjury audit ratings.csv --items movies.csv --scale 0.5,5\n\n"
    "  rankjury audit clicks.parquet --user visitor --item article --time seen_at\n\n"
    "LOG is a MovieLens file (ratings.dat, u.data, ratings.csv) or folder, or a CSV, TSV, JSONL or Parquet table "
    "of users and items, optionally with ratings and times. Columns are found by their common names.\n\n"
    "Times are ISO dates, or seconds, milliseconds, microseconds or nanoseconds since 1970."
)
_BAR = 40
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@expand_options
def audit_command(
    path: Annotated[
        str, typer.Argument(metavar="LOG", help="Interaction log or MovieLens folder; - is standard input.")
    ],
    options: LogOptions,
    items: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Item catalogue, such as movies.csv; default: that of the MovieLens folder."),
    ] = None,
    cold: Annotated[int, typer.Option(help="Users and items with fewer rows count as cold.")] = 10,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Check an interaction log before it is split.

    Reports counts, times, ties, skew and cold starts, and warns about leakage and misleading data.
    """
    check_standard_input([file for file in (path, items) if file])
    with show_progress(f"Reading {path}"):
        from rankjury.recsys.audit import audit
        from rankjury.recsys.data.movielens import find_companions

        found = audit(options.read(path), items=items or find_companions(path)[0], cold=cold)
    warn(found.warnings)
    if as_json:
        print_json(found.to_json())
        return
    _print_audit(found)
    sys.stdout.flush()
    way = "" if found.times is not None and found.times.first < found.times.last else " --kind random"
    say(f"Next: rankjury split {path}{way} -o split splits it into train, validation and test")


def _print_audit(found: "Audit") -> None:
    """Print everything of an audit but its warnings."""
    from rankjury.recsys.data.times import format_time
    from rankjury.reporting.console import console, print_rows

    screen = console()
    screen.print(f"{found.sentence}\n\n{found.source}")
    for line in _lines(found):
        screen.print(line)
    screen.print()
    print_rows(["", "users", "items"], list(_sides(found)))
    if found.ratings is not None:
        screen.print(f"\nRatings: mean {found.ratings.mean:.3f}, standard deviation {found.ratings.std:.3f}")
        print_rows(["rating", "rows", "share", ""], list(_bars(found)), text=(3,))
    preview, times = found.future, found.times
    if preview is None or times is None or not preview.train_rows or not preview.test_rows:
        return
    shown = "/".join(f"{100 * share:g}" for share in preview.fractions)
    when = format_time(preview.test_from, times.unit) or f"{preview.test_from:,}"
    screen.print(f"\nA temporal split of {shown} would test from {when} on")
    rows = [
        [name, f"{tested:,}", f"{unseen:,}", _share(unseen, tested)]
        for name, tested, unseen in (
            ("users", preview.test_users, preview.unseen_users),
            ("items", preview.test_items, preview.unseen_items),
            ("rows of either", preview.test_rows, preview.unseen_rows),
        )
    ]
    print_rows(["in test", "n", "new to training", "share"], rows)


def _lines(found: "Audit") -> Iterator[str]:
    """Yield sentences on rows, times, the catalogue, duplicates and ties."""
    from rankjury.core.text import plural
    from rankjury.stats.formatting import format_percent

    times, ties, catalogue = found.times, found.ties, found.catalogue
    yield f"{found.rows:,} rows; sparsity {format_percent(found.sparsity, 2)} (share of user-item pairs without a row)"
    if times is not None:
        first, last = times.first_date or f"{times.first:,}", times.last_date or f"{times.last:,}"
        length = f" ({times.days:,.0f} days)" if times.days is not None and times.days >= 2 else ""
        yield f"from {first} to {last}{length}"
    if catalogue is not None:
        never = f"{catalogue.never_taken:,} never taken"
        yield f"catalogue: {catalogue.n:,} items, {never}; Gini over all {catalogue.gini:.3f}"
    pairs = plural(found.duplicate_pairs, "row", "rows")
    yield f"repeated: {pairs} of a pair, {found.exact_duplicates:,} in full"
    if ties is not None:
        shares = [_share(rows, found.rows) for rows in (ties.rows, ties.rows_within_users)]
        yield f"equal times: {shares[0]} of rows, {shares[1]} within a user; at most {ties.largest:,} at once"


def _sides(found: "Audit") -> Iterator[list[str]]:
    """Yield the rows of the table of users and items."""
    both = found.users, found.items
    yield ["number", *(f"{side.n:,}" for side in both)]
    yield ["rows of each: fewest", *(f"{side.rows.min:,}" for side in both)]
    yield ["  median", *(f"{side.rows.median:,.1f}".removesuffix(".0") for side in both)]
    yield ["  mean", *(f"{side.rows.mean:,.1f}" for side in both)]
    yield ["  most", *(f"{side.rows.max:,}" for side in both)]
    yield ["Gini", *(f"{side.gini:.3f}" for side in both)]
    yield ["share of rows of the top 20 %", *(_share(side.top_share, 1) for side in both)]
    yield [f"cold: fewer than {found.cold:,} rows", *(f"{side.cold:,}" for side in both)]
    yield ["  share", *(_share(side.cold, side.n) for side in both)]


def _bars(found: "Audit") -> Iterator[list[str]]:
    """Yield a row per rating, with a bar whose length is its share of the most frequent."""
    bins = found.ratings.histogram if found.ratings is not None else ()
    most = max((bin_.count for bin_ in bins), default=1)
    for bin_ in bins:
        name = f"{bin_.low:g}" if bin_.low == bin_.high else f"{bin_.low:.4g} to {bin_.high:.4g}"
        whole, eighths = divmod(round(bin_.count / most * _BAR * 8), 8)
        bar = ("█" * whole + _EIGHTHS[eighths]).rstrip()
        yield [name, f"{bin_.count:,}", _share(bin_.count, found.rows), bar]


def _share(part: float, whole: float) -> str:
    from rankjury.stats.formatting import format_percent

    return format_percent(part / whole, 1) if whole else "–"
