"""rankjury split: a log split into what models learn from and what they are evaluated on."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.completion import names_of
from rankjury.cli.shared.console import print_json, say, show_progress, warn
from rankjury.cli.shared.options import JsonOption, LogOptions, QuietOption, expand_options
from rankjury.cli.shared.params import ParamCommand, typed
from rankjury.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rankjury.core.params import Param


GROUP = "Gold"
ORDER = 4
EPILOG = (
    "Examples:\n\n"
    "  rankjury split ratings.csv -o split\n\n"
    "  rankjury split ratings.dat -o split --dates 2000-12-02,2000-12-29\n\n"
    "  rankjury split log.parquet -o split --kind leave-last --n 1 --user who --item what --time at\n\n"
    "  rankjury split log.parquet -o folds --kind rolling --windows 4 --days 7\n\n"
    "Kinds:\n\n"
    "  temporal       by time, with the same cut-offs for all users\n\n"
    "  dates          by time, at the given --dates\n\n"
    "  leave-last     the last n rows of each user\n\n"
    "  user-fraction  the last share of each user's rows\n\n"
    "  random         random rows, independent of time\n\n"
    "  users          folds of users\n\n"
    "  rolling        consecutive time windows\n\n"
    "users and rolling write several splits, to fold-1, fold-2 …, unless --fold or --window selects one.\n\n"
    "Rows of the same time stay in the same window of temporal, dates and rolling. Users and items that are not in "
    "train are kept and counted as cold.\n\n"
    "The folder contains train.parquet, validation.parquet and test.parquet with the columns user, item, value and "
    "time, and split.json with cut-offs and counts."
)


class Command(ParamCommand):
    """Take the options of the split kinds from their registry; those of the kind dates are the one option --dates."""

    after = "dates"

    def entries(self) -> "dict[str, Mapping[str, Param]]":
        from rankjury.recsys.splitting import SPLITS

        return {name: SPLITS.get(name).params for name in SPLITS.names() if name != "dates"}

    def without_default(self) -> "set[str]":
        from rankjury.recsys.splitting import SPLITS

        return {kind.fold_param for kind in SPLITS if kind.fold_param}  # unset, all folds are made


@expand_options
def split_command(
    context: typer.Context,
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="Interaction log: .csv, .tsv, .parquet, .jsonl, ratings.dat, u.data; - is standard input.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write.")],
    log_options: LogOptions,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Kind of split; default: temporal, or dates if --dates is given.",
            autocompletion=names_of("rankjury.recsys.splitting:SPLITS"),
        ),
    ] = None,
    dates: Annotated[
        str | None,
        typer.Option(metavar="[DATE,]DATE", help="Start of validation and test: ISO dates, or numbers as in the log."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write to the folder even if it contains other files.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Split an interaction log into train and test windows.

    Writes the windows train, validation and test, and warns about leakage.
    """
    from rankjury.recsys.data.split_folder import check_target, write_folds, write_split
    from rankjury.recsys.splitting import SPLITS, check_options, number_of_folds, split_folds, split_log

    if output.suffix.lower() in (".csv", ".tsv", ".parquet", ".json", ".jsonl"):
        raise UsageError(f"found -o {output}", expected="a folder: a split is several files", hint="Try -o split.")
    if dates is not None and kind not in (None, "dates"):
        raise UsageError(f"--dates beside --kind {kind}", expected="one of them")
    kind = kind or ("temporal" if dates is None else "dates")
    if dates is not None and "validation" in context.obj:
        raise UsageError("--dates beside --validation", expected="both dates in --dates: 2000-12-02,2000-12-29")
    options = typed(SPLITS.get(kind).params, context.obj | _read_dates(dates))
    check_options(kind, options)
    fold_param = SPLITS.get(kind).fold_param
    several = fold_param is not None and fold_param not in options
    check_target(output, folds=number_of_folds(kind, **options) if several else 0, force=force)
    with show_progress() as progress:
        progress.update(f"Reading {log}", 0, 0)
        rows = log_options.read(log)
        progress.update(f"Splitting {len(rows):,} rows", 0, 0)
        if several:
            records = write_folds(split_folds(rows, kind, **options), output, force=force)
        else:
            records = [write_split(split_log(rows, kind, **options), output, force=force)]
    if as_json:
        print_json({"schema": "rankjury.splits/1", "splits": records} if several else records[0])
    else:
        _print(records, several=several)
    others = " (fold-1; the others are alike)" if several else ""
    warn((*records[0]["notes"], *(f"{leak}{others}" for leak in records[0]["leaks"])))
    written = f"{len(records)} splits" if several else "3 Parquet files and split.json"
    train = (output / "fold-1" if several else output) / "train.parquet"
    tune = "tune on validation, " if records[0]["windows"]["validation"]["rows"] else ""
    say(f"Wrote {output}: {written}. Next: fit on {train}, {tune}and open test once")


def _read_dates(text: str | None) -> dict[str, str]:
    """Return when validation and test begin, or test alone."""
    if text is None:
        return {}
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 2 or not all(parts):
        raise UsageError(f"--dates {text!r}", expected="one date or two, like 2000-12-02,2000-12-29")
    return dict(zip(("validation", "test")[-len(parts) :], parts, strict=True))


def _print(records: "Sequence[dict[str, Any]]", *, several: bool) -> None:
    """Print what was split and how much of the test is new, a table of all windows, cut-offs and what was left out."""
    from rankjury.reporting.console import console, print_table
    from rankjury.reporting.tables import make_table

    console().print(f"{summarize_splits(records)}\n")

    cells = [
        [f"fold-{number} {name}" if several else name, *_cells(window)]
        for number, record in enumerate(records, 1)
        for name, window in record["windows"].items()
        if window["rows"] or name != "validation"
    ]
    names = ["window", "rows", "share", "users", "cold users", "items", "cold items", "from", "to"]
    narrow_names = ["window", "rows", "users", "cold", "items", "cold", "from", "to"]
    narrow = make_table(narrow_names, [[*row[:2], *row[3:]] for row in cells], text=(0, 6, 7), wraps=(0, 6, 7))
    print_table(replace(make_table(names, cells, text=(0, 7, 8), wraps=(0, 7, 8)), narrower=(narrow,)))
    for number, record in enumerate(records, 1):
        for line in _lines(record):
            console().print(f"fold-{number}: {line}" if several else line)


def summarize_splits(records: "Sequence[Mapping[str, Any]]") -> str:
    """Return how a log was split, the sizes of the windows, and how much of the test training has nothing of."""
    first = records[0]
    folds = f" into {len(records)} folds (the first:" if len(records) > 1 else " ("
    sizes = [f"{name} {window['rows']:,}" for name, window in first["windows"].items() if window["rows"]]
    test = first["windows"]["test"]
    sentence = f"{first['how']['kind']} split of {first['rows']['log']:,} rows{folds}{', '.join(sizes)})"
    if not test["rows"]:
        return f"{sentence}; the test window is empty."
    users = f"{test['cold_users']:,} of {test['users']:,} users"
    items = f"{test['cold_items']:,} of {test['items']:,} items"
    return f"{sentence}; of the test, {users} and {items} are new to training."


def _cells(window: "Mapping[str, Any]") -> list[str]:
    """Return the counts of a window, and the days or plain times of its first and last row."""
    from rankjury.stats.formatting import format_percent

    numbers = [f"{window[name]:,}" for name in ("users", "cold_users", "items", "cold_items")]
    ends = [
        str(iso).partition("T")[0] if iso is not None else "–" if plain is None else str(plain)
        for iso, plain in ((window["from"], window["first"]), (window["to"], window["last"]))
    ]
    return [f"{window['rows']:,}", format_percent(window["share"], 1), *numbers, *ends]


def _lines(record: "Mapping[str, Any]") -> "Iterator[str]":
    """Yield sentences on cut-offs, and on users and rows that were not held out."""
    cutoffs = [f"{name} {cutoff['iso'] or cutoff['time']}" for name, cutoff in record["cutoffs"].items()]
    if cutoffs:
        yield f"cut-offs: {', '.join(cutoffs)}"
    stayed = record["how"].get("users_in_train_only")
    if stayed:
        yield f"{stayed:,} of the users have too few rows for any to be held out"
    if record["rows"]["left_out"]:
        yield f"{record['rows']['left_out']:,} of {record['rows']['log']:,} rows are in no window"
