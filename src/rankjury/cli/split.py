"""rankjury split: a log split into what models learn from and what they are evaluated on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.console import QuietOption, print_json, say, show_progress, warn
from rankjury.cli.shared.logs import (
    FormatOption,
    ItemColumn,
    ScaleOption,
    TimeColumn,
    UserColumn,
    ValueColumn,
    read_scale,
)
from rankjury.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


EPILOG = (
    "Examples:\n\n"
    "  rankjury split ratings.csv -o split\n\n"
    "  rankjury split ratings.dat -o split --dates 2000-12-02,2000-12-29\n\n"
    "  rankjury split log.parquet -o split --kind leave-last --n 1 --user who --item what --time at\n\n"
    "  rankjury split log.parquet -o folds --kind rolling --windows 4 --days 7\n\n"
    "Kinds: temporal (by time, the same for everybody; rows of one time are never parted), dates (by given dates), "
    "leave-last (each user's last n), user-fraction (each user's last share), random (by seed), users (folds of "
    "users), rolling (windows of time one after the other). What a kind leaks is warned of. The last two make several "
    "splits, in fold-1, fold-2 …, unless --fold or --window names one. Users and items that training does not have are "
    "kept, and counted as cold. The folder gets train.parquet, validation.parquet and test.parquet with the columns "
    "user, item, value and time, and split.json with cut-offs and counts."
)
_NOTHING = "–"


def split_command(
    log: Annotated[
        str,
        typer.Argument(metavar="LOG", help="Interactions: .csv, .tsv, .parquet, .jsonl, ratings.dat or u.data, or -."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to write.")],
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="How to split; temporal unless --dates is given.")
    ] = None,
    fractions: Annotated[
        str | None, typer.Option(metavar="A/B/C", help="Shares of train, validation, test; usually 80/10/10.")
    ] = None,
    dates: Annotated[
        str | None,
        typer.Option(metavar="[DATE,]DATE", help="When validation and test begin: ISO, or numbers as in the log."),
    ] = None,
    n: Annotated[int | None, typer.Option("--n", help="leave-last: rows of each user that test; usually 1.")] = None,
    validation: Annotated[
        float | None, typer.Option(help="leave-last: rows that validate, usually n; users: their share, usually 0.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="random, users: another seed draws others; usually 0.")] = None,
    folds: Annotated[int | None, typer.Option(help="users: how many folds; usually 5.")] = None,
    fold: Annotated[int | None, typer.Option(help="users: only this fold, from 1 on.")] = None,
    fraction: Annotated[float | None, typer.Option(help="users: the share that tests; usually 0.2.")] = None,
    windows: Annotated[int | None, typer.Option(help="rolling: how many windows; usually 3.")] = None,
    window: Annotated[int | None, typer.Option(help="rolling: only this window, from 1 on.")] = None,
    share: Annotated[float | None, typer.Option(help="rolling: each window's share of rows; usually 0.1.")] = None,
    days: Annotated[float | None, typer.Option(help="rolling: how long each window lasts, instead of a share.")] = None,
    train: Annotated[
        str | None, typer.Option(metavar="HOW", help="rolling: expanding (as usual) or sliding training.")
    ] = None,
    user: UserColumn = None,
    item: ItemColumn = None,
    value: ValueColumn = None,
    time: TimeColumn = None,
    form: FormatOption = None,
    scale: ScaleOption = None,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that holds something else.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what split.json holds instead of a table.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Split a log of interactions into train, validation and test, and say what the split leaks."""
    chosen, bounds = _kind(kind, dates), read_scale(scale)
    if dates is not None and validation is not None:
        raise UsageError("--dates beside --validation", expected="both dates in --dates: 2000-12-02,2000-12-29")
    given = {
        **{"fractions": fractions, "n": n, "seed": seed, "folds": folds, "fold": fold, "fraction": fraction},
        **{"windows": windows, "window": window, "share": share, "days": days, "train": train},
        **{"validation": validation, **_dates(dates)},
    }
    options = _typed(chosen, {name: one for name, one in given.items() if one is not None})
    reading = {"user": user, "item": item, "value": value, "time": time, "format": form, "scale": bounds}
    records = _make(log, reading, output, chosen, options, force=force, quiet=quiet)
    if as_json:
        whole = records[0] if _only(chosen, options) else {"schema": "rankjury.splits/1", "splits": records}
        print_json(whole)
    else:
        _print(records, several=not _only(chosen, options))
    others = "" if _only(chosen, options) else " (fold-1; the others are alike)"
    warn((*records[0]["notes"], *(f"{leak}{others}" for leak in records[0]["leaks"])), quiet=quiet)
    _say_next(output, records, several=not _only(chosen, options), quiet=quiet)


def _say_next(output: Path, records: "Sequence[dict[str, Any]]", *, several: bool, quiet: bool) -> None:
    what = f"{len(records)} splits" if several else "3 Parquet files and split.json"
    train = (output / "fold-1" if several else output) / "train.parquet"
    tune = "tune on validation, " if records[0]["windows"]["validation"]["rows"] else ""
    say(f"Wrote {output}: {what}. Next: fit on {train}, {tune}and open test once", quiet=quiet)


def _kind(kind: str | None, dates: str | None) -> str:
    if dates is not None and kind not in (None, "dates"):
        raise UsageError(f"--dates beside --kind {kind}", expected="one of them")
    return kind or ("temporal" if dates is None else "dates")


def _dates(text: str | None) -> dict[str, str]:
    """When validation and test begin, or test alone."""
    if text is None:
        return {}
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 2 or not all(parts):
        raise UsageError(f"--dates {text!r}", expected="one date or two, like 2000-12-02,2000-12-29")
    return dict(zip(("validation", "test")[-len(parts) :], parts, strict=True))


def _typed(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Whole numbers where the kind counts; refuses what it does not know before anything is read."""
    from rankjury.recsys.splitting import SPLITS, check_options

    params = SPLITS.get(kind).params
    for name, value in options.items():
        known = params.get(name)
        if isinstance(value, float) and value.is_integer() and known is not None and type(known.default) is int:
            options[name] = int(value)
    check_options(kind, options)
    return options


def _only(kind: str, options: "Mapping[str, Any]") -> bool:
    """Whether one split is made, not several."""
    from rankjury.recsys.splitting import fold_option

    which = fold_option(kind)
    return which is None or which in options


def _make(
    path: str,
    reading: "Mapping[str, Any]",
    output: Path,
    kind: str,
    options: dict[str, Any],
    *,
    force: bool,
    quiet: bool,
) -> list[dict[str, Any]]:
    """Read, split, write; the records of what was written."""
    from rankjury.recsys.data.read import read_log
    from rankjury.recsys.data.split_folder import check_target, write_folds, write_split
    from rankjury.recsys.splitting import number_of_folds, split_folds, split_log

    alone = _only(kind, options)
    check_target(output, folds=0 if alone else number_of_folds(kind, **options), force=force)
    with show_progress(quiet=quiet) as progress:
        progress.update(f"Reading {path}", 0, 0)
        log = read_log(path, **reading)
        progress.update(f"Splitting {len(log):,} rows", 0, 0)
        if alone:
            return [write_split(split_log(log, kind, **options), output, force=force)]
        return write_folds(split_folds(log, kind, **options), output, force=force)


def _print(records: "Sequence[dict[str, Any]]", *, several: bool) -> None:
    from dataclasses import replace

    from rankjury.reporting.console import console, print_table
    from rankjury.reporting.tables import make_table

    rows = [
        (f"fold-{number} {name}" if several else name, window)
        for number, record in enumerate(records, 1)
        for name, window in record["windows"].items()
        if window["rows"] or name != "validation"
    ]
    figures = ["rows", "share", "users", "cold users", "items", "cold items", "from", "to"]
    narrow = ["rows", "users", "cold", "items", "cold", "from", "to"]
    cells = [[name, *_cells(window)] for name, window in rows]
    slim = [[*row[:2], *row[3:]] for row in cells]
    wide = make_table(["window", *figures], cells, text=(0, 7, 8), wraps=(0, 7, 8))
    print_table(replace(wide, narrower=(make_table(["window", *narrow], slim, text=(0, 6, 7), wraps=(0, 6, 7)),)))
    for number, record in enumerate(records, 1):
        for line in _lines(record):
            console().print(f"fold-{number}: {line}" if several else line)


def _cells(window: "Mapping[str, Any]") -> list[str]:
    from rankjury.stats.formatting import format_percent

    numbers = [f"{window[name]:,}" for name in ("users", "cold_users", "items", "cold_items")]
    return [f"{window['rows']:,}", format_percent(window["share"], 1), *numbers, *(_day(window, end) for end in _ENDS)]


_ENDS = (("from", "first"), ("to", "last"))


def _day(window: "Mapping[str, Any]", end: tuple[str, str]) -> str:
    iso, plain = window[end[0]], window[end[1]]
    if iso is not None:
        return str(iso).partition("T")[0]
    return _NOTHING if plain is None else str(plain)


def _lines(record: "Mapping[str, Any]") -> "Iterator[str]":
    """Cut-offs, and who or what was not held out."""
    cutoffs = [f"{name} {one['iso'] or one['time']}" for name, one in record["cutoffs"].items()]
    if cutoffs:
        yield f"cut-offs: {', '.join(cutoffs)}"
    stayed = record["how"].get("users_in_train_only")
    if stayed:
        yield f"{stayed:,} of the users have too few rows for any to be held out"
    if record["rows"]["left_out"]:
        yield f"{record['rows']['left_out']:,} of {record['rows']['log']:,} rows are in no window"
