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
    "queries.jsonl: an id, a text, perhaps a type, and the version of the set in every row; or a .txt with a query on "
    "each line, and a line such as # version: 3 (rankjury label --help). The pins stand beside it, "
    "in queries.pins.json, to be kept under version control. A pinned version never changes: changed queries need a "
    "new one. Order of rows and form of the file do not count.\n\n"
    "Exit code: 0 pinned, 3 the queries are not those that were pinned, or under --check were not pinned."
)


def pin_command(
    queries: Annotated[str, typer.Argument(metavar="QUERIES", help="A table of queries.", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail unless this version is pinned.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Record a version of a query set, or check it.

    A check fails if the queries are not those that were recorded.
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
