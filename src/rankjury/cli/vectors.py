"""rankjury vectors: what vectors there are."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.console import print_json, say, warn
from rankjury.cli.shared.options import JsonOption, QuietOption

if TYPE_CHECKING:
    from rankjury.io.vectors.scan import VectorFile

GROUP = "Look up"
EPILOG = (
    "Examples:\n\n"
    "  rankjury vectors\n\n"
    "  rankjury vectors data/ models/ --json\n\n"
    "Looks at .npz, .npy, .parquet and .safetensors files. Those that rankjury embed made say how; of others their "
    "headers tell. Texts such as .json and .csv are not looked into."
)


def vectors_command(
    folders: Annotated[
        list[str] | None, typer.Argument(metavar="[FOLDER]...", help="Where to look; the current folder else.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the vectors below a folder: their size, and how they were made."""
    from rankjury.io.vectors.scan import list_vectors

    files = list_vectors(folders or ["."])
    if as_json:
        print_json({"schema": "rankjury.vectors-list/1", "vectors": [_facts(file) for file in files]})
    else:
        rows = [_row(file) for file in files if file.fault is None]
        if rows:
            from rankjury.reporting.console import print_rows

            header = ["file", "size", "dtype", "model", "text", "unit", "made", "hash"]
            print_rows(header, rows, text=(0, 2, 3, 4, 5, 6, 7), wraps=(0, 3, 4))
        else:
            say(f"No vectors in {', '.join(folders or ['this folder'])}. rankjury embed makes some")
    warn([file.fault for file in files if file.fault is not None])


def _facts(file: "VectorFile") -> dict[str, Any]:
    """The whole metadata, or what the header tells."""
    if file.fault is not None:
        return {"file": file.file, "fault": file.fault}
    if file.metadata is not None:
        return {"file": file.file, **file.metadata}
    header = file.header
    sizes = {"count": header.count, "dimensions": header.dimensions, "dtype": header.dtype} if header else {}
    return {"file": file.file, "schema": None, **sizes}


def _row(file: "VectorFile") -> list[str]:
    facts = _facts(file)
    dimensions = facts.get("dimensions")
    unit = facts.get("normalised")
    return [
        file.file,
        f"{facts.get('count', 0):,} × {'?' if dimensions is None else format(dimensions, ',')}",
        str(facts.get("dtype", "")),
        str(facts.get("model") or ""),
        ", ".join(facts.get("text") or []),
        "" if unit is None else "yes" if unit else "no",
        str(facts.get("made") or "")[:10],
        str(facts.get("vectors_sha256") or "")[:8],
    ]
