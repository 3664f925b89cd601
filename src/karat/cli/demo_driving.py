"""karat demo driving: texts and clips against annotated clips, the bundled ones or somebody's own."""

from pathlib import Path
from typing import Any

from karat.cli.common import show_progress, warn
from karat.cli.grouping import Table
from karat.errors import MissingExtra

__all__ = ["DEMO_FOLDER", "both_ways", "own_clips"]

DEMO_FOLDER = Path("karat-driving")
_PLANS = ("karat.toml", "clips.toml")
_MEASURES = ["Recall", "Precision", "NDCG", "MAP"]
_CUTS = [1, 3, 5]


def both_ways(folder: Path, output: Path, *, quiet: bool) -> None:
    """Text → clip, then clip → clip; each writes its report."""
    from karat.cli.run_plan import carry_out

    again = "" if folder == output else "karat demo driving --keep driving, then "
    vocabulary = f"{output if folder == output else 'driving'}/clips.csv"
    told = f'karat keywords "guy on a bike" --vocabulary {vocabulary}'
    next_steps = (None, f"Next: {again}{told} --synonyms {vocabulary.replace('clips.csv', 'synonyms.toml')}")
    for name, next_step in zip(_PLANS, next_steps, strict=True):
        carry_out(str(folder / name), output, strict=False, as_json=False, quiet=quiet, next_step=next_step)


def own_clips(table: Table, vectors: str | None, output: Path | None, *, quiet: bool) -> None:
    """Clip → clip on a table of annotations; without vectors, clips are embedded by what is said of them."""
    from karat.cli.run_plan import carry_out_content
    from karat.temporary import TemporaryFolder

    with TemporaryFolder("demo") as scratch:
        if vectors is None:
            try:
                vectors = _embedded(table, Path(scratch) / "vectors.npz", quiet=quiet)
            except MissingExtra as error:
                error.hint = f"{error.hint}, or give the clips' vectors with --vectors FILE."
                raise
            warn(
                [
                    "no vectors were given: clips are embedded by a text rendering of their own annotations, so that "
                    "the figures show the protocol at work, and not how good any video model is"
                ],
                quiet=quiet,
            )
        content = _plan(table, vectors, write=output is not None)
        next_step = "" if output else "Next: keep the report with -o results; your own vectors with --vectors FILE"
        carry_out_content(content, output, as_json=False, quiet=quiet, next_step=next_step)


def _plan(table: Table, vectors: str, *, write: bool) -> dict[str, Any]:
    gold = {
        "kind": "keywords",
        "path": str(table.path),
        "id": table.id_column,
        "groups": table.groups,
        "select": list(table.select),
        "separator": table.separator,
    }
    return {
        "name": table.path.stem,
        "gold": gold,
        "systems": {"embedding": {"kind": "vectors", "path": vectors}, "random": {"kind": "random"}},
        "measures": _MEASURES,
        "cutoffs": _CUTS,
        "headline": [*(f"Recall@{k}" for k in _CUTS), "Precision@5", "NDCG@5", "MAP@5"],
        "conventions": {"dialect": "alfa"},
        "outputs": ["report.html", "report.json", "report.md"] if write else [],
    }


def _embedded(table: Table, path: Path, *, quiet: bool) -> str:
    from karat.formats.vectors.writing import write_vectors
    from karat.gold.annotations import read_annotations
    from karat.text.embed import embed
    from karat.text.models import find_model
    from karat.text.rendering import rendered

    model = find_model("wordllama")
    annotations = read_annotations(table.path, table.groups, id_column=table.id_column, separator=table.separator)
    with show_progress(quiet=quiet) as progress:
        vectors = embed(rendered(annotations), model, progress=progress.step("Embedding the annotations"))
    write_vectors(path, vectors, {"model": model.name}, dtype="float32")
    return str(path)
