"""rankjury pin: the queries of this version, and no others."""

from typing import Annotated

import typer

from rankjury.cli.shared.console import print_json, say
from rankjury.cli.shared.options import JsonOption, QuietOption
from rankjury.errors import DataError, UsageError

GROUP = "Gold"
ORDER = 5
EPILOG = (
    "Examples:\n\n"
    "  rankjury pin queries.jsonl\n\n"
    "  rankjury pin queries.jsonl --check\n\n"
    "QUERIES has an id, a text, optionally a type, and the same version in every row. A .txt file (see rankjury "
    "label --help) has one query per line and a line such as # version: 3.\n\n"
    "The pin is stored next to QUERIES, in queries.pins.json. Keep this file under version control. A pinned "
    "version never changes: changed queries need a new version. The order of rows and the file format do not "
    "matter.\n\n"
    "Exit code: 0 if the queries are pinned, 3 if they differ from the pinned ones, or with --check if their "
    "version is not pinned."
)


def pin_command(
    queries: Annotated[
        str,
        typer.Argument(
            metavar="QUERIES", help="Table of queries, or .txt with one query per line.", show_default=False
        ),
    ],
    check: Annotated[bool, typer.Option("--check", help="Check only: fail unless this version is pinned.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Record a version of a query set, or check it.

    Fails if the queries differ from those recorded for their version.
    """
    from rankjury.labeling.products.query_sets import check_pins, pin_queries, pins_path, read_query_set

    if queries == "-":
        raise UsageError("standard input cannot be pinned", expected="a file, beside which the pins stand")
    found = read_query_set(queries)
    state = check_pins(found) if check else pin_queries(found)
    pins = pins_path(queries)
    if check and state != "pinned":
        what = "the queries have no version" if found.version is None else f"version {found.version} is not pinned"
        hint = "Give every row a version." if found.version is None else f"Pin it: rankjury pin {queries}"
        raise DataError(what, where=queries, expected=f"a version that is in {pins}", hint=hint)
    if as_json:
        print_json(found.to_json() | {"state": state, "pins": str(pins)})
    else:
        how = "is new, and pinned now" if state == "new" else "is as it was pinned"
        print(f"version {found.version} {how}: {len(found):,} queries, sha256 {found.sha256}")
    if state == "new":
        say(f"Wrote {pins}")
