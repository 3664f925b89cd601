"""Drafts of plans for ``rankjury init``: a registry of kinds, and the lines that they share."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankjury.core.registry import Registry
from rankjury.errors import UnknownName
from rankjury.labeling.normalize import singular
from rankjury.plan.folder_scan import FolderContents
from rankjury.plan.toml import toml_key, toml_string

SCHEMA_FILE = "rankjury.schema.json"
RANDOM_SYSTEM = ("", "[systems.random]          # the exact expectation of a random order", 'kind = "random"')
_SAME_ASPECT = {"anchor": "overall", "plot": "content"}
"""Words of the movies protocol: DenseAnchor is evaluated against the overall lists, and content is the plot."""


Lines = Callable[[FolderContents], list[str]]


@dataclass(frozen=True)
class Draft:
    """A kind of plan that ``rankjury init`` writes."""

    name: str
    about: str
    """What the plan is for, in one sentence."""
    rank: int
    """Of the kinds that suit a folder, the one with the lowest rank is drafted."""
    suits: Callable[[FolderContents], bool]
    """Whether the files of a folder call for this kind."""
    lines: Lines
    """Returns the lines of the plan from its baseline to its systems."""
    alias: str | None = None


DRAFTS: Registry[Draft] = Registry("kind of plan", home="rankjury.plan.gold", group="rankjury.plan.drafts")
"""The kinds of plan by name; each is registered beside its kind of gold."""


def register_draft(
    name: str, about: str, *, rank: int, suits: Callable[[FolderContents], bool], alias: str | None = None
) -> Callable[[Lines], Lines]:
    """Register a function that returns the lines of a plan from the contents of its folder (see ``Draft``)."""

    def add(lines: Lines) -> Lines:
        DRAFTS.add(name, Draft(name, about, rank, suits, lines, alias))
        return lines

    return add


def draft_names() -> list[str]:
    """Return the names of all kinds of plan, then their aliases."""
    return [*DRAFTS.names(), *(kind.alias for kind in DRAFTS if kind.alias)]


def find_draft(name: str) -> Draft:
    """Return the kind of plan with this name or alias."""
    kind = next((kind for kind in DRAFTS if name in (kind.name, kind.alias)), None)
    if kind is None:
        raise UnknownName("kind of plan", name, draft_names())
    return kind


def kind_for(found: FolderContents) -> str:
    """Return the kind of plan that the files call for; saved runs where they call for none."""
    suitable = [kind for kind in DRAFTS if kind.suits(found)]
    return min(suitable, key=lambda kind: kind.rank).name if suitable else "runs"


def draft(kind: str, found: FolderContents, name: str) -> str:
    """Return the text of a plan of a kind, filled in with the files that were found."""
    chosen = find_draft(kind)
    lines = [
        f"#:schema {SCHEMA_FILE}",
        f"# {chosen.about}",
        f"name = {toml_string(name)}",
        *chosen.lines(found),
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
    return "\n".join(lines) + "\n"


def table_lines(name: str, **texts: str) -> list[str]:
    """Return the lines of a table: a blank line, its header and its keys."""
    return ["", f"[{name}]", *(f"{key} = {toml_string(text)}" for key, text in texts.items())]


def system_lines(name: str, **texts: str) -> list[str]:
    """Return the lines of a system's table."""
    return table_lines(f"systems.{toml_key(name)}", **texts)


def top_level_lines(
    measures: list[str], cutoffs: list[int], baseline: str | None, found: FolderContents, outputs: list[str]
) -> list[str]:
    """Return the keys above all tables."""
    lines = ['# baseline = "…"']
    if baseline:
        lines = [f"baseline = {toml_string(baseline)}      # the others are compared with it"]
    lines += ["", f"measures = [{', '.join(map(toml_string, measures))}]   # rankjury list metrics lists them"]
    if cutoffs:
        lines.append(f"cutoffs = {sorted(cutoffs)}           # of measures that have none")
        main = [toml_string(f"{measure}@{cutoffs[0]}") for measure in measures[:4]]
        lines.append(f"headline = [{', '.join(main)}]   # printed and tested; the others are in the files")
    of_queries = {**found.tables, **(found.item_tables if found.queries_are_items else {})}
    slices = [f"slices = {toml_string(f'{name}:{attributes[0]}')}" for name, attributes in of_queries.items()]
    lines += slices[:1] or ['# slices = "queries.csv:type"   # attributes of queries to break down by']
    if found.item_tables and not found.queries_are_items:
        name, attributes = next(iter(found.item_tables.items()))
        lines.append(f"item_slices = {toml_string(f'{name}:{attributes[0]}')}")
    if found.names:
        lines.append(f"names = {toml_string(found.names)}   # printed instead of ids")
    lines.append(f"outputs = [{', '.join(map(toml_string, outputs))}]")
    return lines


def system_names(paths: Sequence[str], taken: set[str] | None = None) -> dict[str, str]:
    """Return a name for each system with its path: the key of its array, else the stem of its file, else its folder's.

    The first of these that all paths have, and each another, is taken.
    """
    split = [(Path(file), key) for file, _, key in (path.partition(":") for path in paths)]
    stems = [file.name.partition(".")[0] for file, _ in split]
    bases = [key or stem for (_, key), stem in zip(split, stems, strict=True)]
    for others in (stems, [file.parent.name for file, _ in split]):
        if len(set(bases)) < len(bases) and len(set(others)) == len(others):
            bases = others
    taken = set() if taken is None else taken
    names = {}
    for base, path in zip(bases, paths, strict=True):
        name = re.sub(r"[^A-Za-z0-9_-]", "-", base) or "system"
        while name in taken:
            name += "-2"
        taken.add(name)
        names[name] = path
    return names


def aspect_for(name: str, aspects: Sequence[str]) -> str | None:
    """Return the aspect of a gold that a name tells of; None where it tells of none, or of several.

    Names are compared by their words, without case and plurals: DenseVibe tells of the aspect vibes. A name that is
    written as one word, such as densevibe, tells of an aspect that it contains.
    """
    if len(aspects) == 1:
        return aspects[0]
    words = {aspect: _words(aspect) for aspect in aspects}
    shared = set.intersection(*words.values())  # such as similarity in plot_similarity and mood_similarity
    own, whole = _words(name), "".join(character for character in name.casefold() if character.isalpha())
    same = [aspect for aspect in aspects if (words[aspect] - shared) & own]
    if not same:
        for aspect in aspects:
            known = words[aspect] - shared
            known |= {other for other, word in _SAME_ASPECT.items() if word in known}
            same += [aspect] if any(len(word) > 2 and word in whole for word in known) else []
    return same[0] if len(same) == 1 else None


def _words(name: str) -> set[str]:
    """Return the words of a name in one form each: DenseAnchors is dense and overall."""
    parts = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name))
    return {_SAME_ASPECT.get(word, word) for word in (singular(part.casefold()) for part in parts)}
