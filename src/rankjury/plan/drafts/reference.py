"""Draft of the papers protocol: models against a reference model's neighbours."""

from dataclasses import replace

from rankjury.core.text import plural
from rankjury.plan.draft import (
    VECTORS,
    DraftNotes,
    choose_baseline,
    output_lines,
    register_draft,
    system_names,
    top_level_lines,
    with_comment,
)
from rankjury.plan.folder_match import SpaceFiles, file_of_ids, match_gold, match_models
from rankjury.plan.folder_scan import FolderContents
from rankjury.plan.toml import toml_key, toml_string
from rankjury.retrieval.agreement.reference import reference_measures


@register_draft(
    "reference",
    "Candidate models against a reference model's neighbours.",
    rank=60,
    suits=lambda found: bool(match_models(found)[1].spaces),
    alias="papers",
)
def _draft_reference(found: FolderContents, notes: DraftNotes) -> list[str]:
    reference, match = match_models(found)
    notes.left_out |= match.left_out
    usable = bool(found.golds and match_gold(found).systems)
    reason = f"the gold is {reference.path if reference else 'a model'}" if usable else "no vectors have its ids"
    notes.left_out |= dict.fromkeys(found.golds, reason)
    spaces = {space.path: space for space in match.spaces}
    candidates = system_names(list(spaces) or ["candidate.npy"])
    facts = found.facts_of(reference.path if reference else None)
    rows = None if facts.items is None else len(facts.items)
    if reference is not None and spaces:
        items = "" if rows is None else f", {plural(rows, 'item', 'items')}"
        notes.summary = f"{plural(len(spaces), 'model', 'models')} against {reference.path}{items}"
        if found.reference is None:
            notes.assumed.append(f"{reference.path} is the reference: no name says which one is")
        if reference.ids:
            notes.assumed.append(f"row i of each matrix is row i of {file_of_ids(reference.ids)}")
    choose_baseline(list(candidates), notes)
    cuts = [k for k in (10, 1, 3, 5, 20, 50) if rows is None or k < rows] or [1]
    ids = facts.items if not facts.numbered else None
    described = replace(found, names=None, tables={}, item_tables={}) if facts.numbered and not (
        reference and reference.ids) else found  # fmt: skip
    lines = top_level_lines(
        reference_measures(), cuts, described, notes, ["report.html", "report.json", "metrics_vs_k.png"], queries=ids
    )
    lines += output_lines("{system}_results.csv", "cutoffs", "mean, deviation and interval at every k")
    lines += output_lines("queries.parquet", "queries", "every query's scores")
    vectors = f"vectors of the same items: {VECTORS}"
    path = notes.file_line(
        "path", reference.path if reference else None, "reference.npy", f"the reference model's {vectors}"
    )
    lines += ["", "[gold]", 'kind = "reference"', path, *_ids_line(reference)]
    lines += [
        with_comment("# sample = 500", "ask only so many of the items, drawn by seed and id"),
        "# seed = 0",
        '# ties = "any"             # all that tie with the k-th count, with measures of gold=tied',
    ]
    for name, file in candidates.items():
        space = spaces.get(file)
        line = notes.file_line("path", space.path if space else None, file, f"a candidate model's {vectors}")
        lines += ["", f"[systems.{toml_key(name)}]", 'kind = "vectors"', line, *_ids_line(space)]
    name, file = next(iter(candidates.items()))
    lines += [
        "",
        f"# [systems.{toml_key(f'{name}-int8')}]   # a smaller form of the same matrix",
        '# kind = "vectors"',
        f"# path = {toml_string(file)}",
        '# dtype = "int8"           # or float16, binary; truncate = 128 keeps the first dimensions',
        "",
        "[agreement]                # similarities of pairs: Spearman and Kendall correlation, mean absolute error",
        "pairs = 20000",
        "seed = 0",
    ]
    return lines


def _ids_line(space: SpaceFiles | None) -> list[str]:
    return [f"ids = {toml_string(space.ids)}"] if space is not None and space.ids else []
