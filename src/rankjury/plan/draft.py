"""A commented plan to start from, filled in with what lies in the folder."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from rankjury.core.registry import Registry
from rankjury.errors import UnknownName
from rankjury.labeling.normalize import singular
from rankjury.plan.folder_scan import FolderContents
from rankjury.plan.toml import toml_string

Draft = Callable[[FolderContents], list[str]]
KINDS: Registry[tuple[str, Draft]] = Registry(
    "kind of plan", home="rankjury.plan.draft_kinds", group="rankjury.plan.drafts"
)
"""By name: what it is for, and the lines of its gold and systems."""
ALIASES = {
    "movies": "spaces",
    "papers": "reference",
    "fashion": "search",
    "driving": "keywords",
    "movielens": "recommenders",
}
_SAME_ASPECT = {"anchor": "overall", "plot": "content"}
"""Words of the movies protocol: DenseAnchor is evaluated against the overall lists, and content is the plot."""
SCHEMA_FILE = "rankjury.schema.json"


def kind_for(found: FolderContents) -> str:
    """The kind of plan that the files call for."""
    if found.logs and not found.golds:
        return "recommenders"
    if found.ordered:
        return "spaces"
    if found.runs and found.golds:
        return "runs"
    if (found.golds and found.vectors) or (found.has_texts and not found.vectors):
        return "search"
    if found.annotated and not found.golds and found.reference is None:
        return "keywords"
    if len(found.vectors) > 1:
        return "reference"
    return "runs"


def draft(kind: str, found: FolderContents, name: str) -> str:
    """The text of a plan."""
    chosen = ALIASES.get(kind, kind)
    if KINDS.find(chosen) is None:
        raise UnknownName("kind of plan", kind, [*KINDS.names(), *ALIASES])
    about, lines_of = KINDS.get(chosen)
    return (
        "\n".join([f"#:schema {SCHEMA_FILE}", f"# {about}", f"name = {toml_string(name)}", *lines_of(found), *_REST])
        + "\n"
    )


_REST = [
    "",
    "# [statistics]             # how intervals and tests are made",
    "# resamples = 10000",
    "# level = 0.95",
    "# seed = 0",
    "",
    "# [[target]]               # something that must hold; rankjury run then exits with 4 where it does not",
    '# require = "ndcg@10 >= 0.6"',
    '# slice = "type=question"',
    "",
    "[meta]                     # what to record with the results",
    '# model = "all-MiniLM-L6-v2"',
    '# dataset_version = "2026-11"',
]


def register(name: str, about: str) -> Callable[[Draft], Draft]:
    """A kind of plan by its name, and what it is for."""

    def add(function: Draft) -> Draft:
        KINDS.add(name, (about, function))
        return function

    return add


def top_level_lines(
    measures: list[str], cutoffs: list[int], baseline: str | None, found: FolderContents, outputs: list[str]
) -> list[str]:
    """The keys above all tables."""
    lines = ['# baseline = "…"']
    if baseline:
        lines = [f"baseline = {toml_string(baseline)}      # the others are compared with it"]
    lines += ["", f"measures = [{', '.join(toml_string(one) for one in measures)}]   # rankjury metrics lists them"]
    if cutoffs:
        lines.append(f"cutoffs = {sorted(cutoffs)}           # of measures that have none")
        main = [toml_string(f"{measure}@{cutoffs[0]}") for measure in measures[:4]]
        lines.append(f"headline = [{', '.join(main)}]   # printed and tested; the others are in the files")
    of_queries = {**found.tables, **(found.item_tables if found.queries_are_items else {})}
    slices = next((toml_string(f"{name}:{attributes[0]}") for name, attributes in of_queries.items()), None)
    lines.append(
        f"slices = {slices}" if slices else '# slices = "queries.csv:type"   # attributes of queries to break down by'
    )
    if found.item_tables and not found.queries_are_items:
        name, attributes = next(iter(found.item_tables.items()))
        lines.append(f"item_slices = {toml_string(f'{name}:{attributes[0]}')}")
    if found.names:
        lines.append(f"names = {toml_string(found.names)}   # printed instead of ids")
    lines.append(f"outputs = [{', '.join(toml_string(one) for one in outputs)}]")
    return lines


def system_names(paths: Sequence[str], taken: set[str]) -> dict[str, str]:
    """Return a name for each system with its path: the key of its array, else the stem of its file, else its folder's.

    The first of these that all paths have, and each another, is taken.
    """
    split = [(Path(file), key) for file, _, key in (path.partition(":") for path in paths)]
    stems = [file.name.partition(".")[0] for file, _ in split]
    bases = [key or stem for (_, key), stem in zip(split, stems, strict=True)]
    for others in (stems, [file.parent.name for file, _ in split]):
        if len(set(bases)) < len(bases) and len(set(others)) == len(others):
            bases = others
    return {_free_name(base, taken): path for base, path in zip(bases, paths, strict=True)}


def _free_name(base: str, taken: set[str]) -> str:
    bare = (character.isascii() and (character.isalnum() or character in "-_") for character in base)
    name = "".join(character if fits else "-" for character, fits in zip(base, bare, strict=True)) or "system"
    while name in taken:
        name += "-2"
    taken.add(name)
    return name


def aspect_for(name: str, aspects: Sequence[str]) -> str | None:
    """Return the aspect of a gold that a name tells of; None where it tells of none, or of several.

    Names are compared by their words, without case and plurals: DenseVibe tells of the aspect vibes. A name that is
    written as one word, such as densevibe, tells of an aspect that it contains.
    """
    if len(aspects) == 1:
        return aspects[0]
    words = {one: _words(one) for one in aspects}
    shared = set.intersection(*words.values())  # such as similarity in plot_similarity and mood_similarity
    own, whole = _words(name), "".join(character for character in name.casefold() if character.isalpha())
    same = [one for one in aspects if (words[one] - shared) & own]
    if not same:
        spellings = {one: {word for word in _spellings(words[one] - shared) if len(word) > 2} for one in aspects}
        same = [one for one in aspects if any(word in whole for word in spellings[one])]
    return same[0] if len(same) == 1 else None


def _words(name: str) -> set[str]:
    """The words of a name in one form each: DenseAnchors is dense and overall."""
    parts = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name))
    return {_SAME_ASPECT.get(word, word) for word in (singular(part.casefold()) for part in parts)}


def _spellings(words: set[str]) -> set[str]:
    return words | {other for other, word in _SAME_ASPECT.items() if word in words}
