"""Drafts of plans for ``rankjury init``: a registry of kinds, and the lines that they share."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from rankjury.core.registry import Registry
from rankjury.core.text import plural
from rankjury.errors import UnknownName
from rankjury.labeling.normalize import singular
from rankjury.plan.folder_scan import FolderContents, shared
from rankjury.plan.toml import toml_key, toml_string

SCHEMA_FILE = "rankjury.schema.json"
RANDOM_SYSTEM = ("", "[systems.random]          # the exact expectation of a random order", 'kind = "random"')
LABELS = "graded labels: TREC qrels, or a table with query_id, item_id, grade"
RUN = "a ranking: a TREC run, or a table with query_id, item_id, score"
VECTORS = ".npz with an array ids and a matrix, or .npy with its ids in NAME.ids.txt"
_SAME_ASPECT = {"anchor": "overall", "plot": "content"}
"""Words of the movies protocol: DenseAnchor is evaluated against the overall lists, and content is the plot."""
_BASELINES = {"old", "before", "previous", "current", "prod", "production", "reference", "control", "v1"}
"""Words in the name of a system that others are compared with."""
_COMMENT_AT, _WIDTH = 27, 100
"""Where a comment begins behind a short line, and how long both may be."""


@dataclass
class DraftNotes:
    """What a kind of plan records while it is drafted, for the terminal and for the end of the plan."""

    protocol: bool = False
    """Whether the kind was called by the name of its protocol, such as movies."""
    summary: str = ""
    """What the plan evaluates: ``2 runs against qrels.txt, 93 queries``."""
    assumed: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """Files that the plan names and that are not there, with what they hold and how to make them."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Files that were found and are not used, with the reason."""
    headline: str = "ndcg@10"
    """The measure of the suggested target."""
    baseline: str | None = None
    attribute: str | None = None
    """The attribute of the slices."""
    companions: dict[str, list[str]] = field(default_factory=dict)
    """Lines of further plans by what is added to the name of the file: items for rankjury-items.toml."""

    def file_line(self, key: str, path: str | None, example: str, what: str, make: str = "", comment: str = "") -> str:
        """Return the line of a key that names a file; one that was not found is marked, and recorded as missing."""
        if path is not None:
            return with_comment(f"{key} = {toml_string(path)}", comment)
        description = f"{what}{f'; made by {make}' if make else ''}"
        above = "" if description in self.missing.values() else f"# {description}\n"
        self.missing[example] = description
        return above + with_comment(f"{key} = {toml_string(example)}", "MISSING")


Lines = Callable[[FolderContents, DraftNotes], list[str]]


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


@dataclass(frozen=True)
class DraftedPlan:
    """The text of a plan, what is to be said of it, and the texts of further plans (see ``DraftNotes``)."""

    text: str
    notes: DraftNotes
    companions: Mapping[str, str]


DRAFTS: Registry[Draft] = Registry("kind of plan", home="rankjury.plan.drafts", group="rankjury.plan.drafts")
"""The kinds of plan by name; each is registered by a module of ``plan/drafts``."""


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
    """Return the kind of plan that the files call for; where they call for none, that of the rankings there are."""
    suitable = [kind for kind in DRAFTS if kind.suits(found)]
    if not suitable:
        return "search" if found.vectors and not found.runs else "runs"
    return min(suitable, key=lambda kind: kind.rank).name


def draft(kind: str, found: FolderContents, name: str) -> str:
    """Return the text of a plan of a kind, filled in with the files that were found."""
    return draft_plan(kind, found, name).text


def draft_plan(kind: str, found: FolderContents, name: str) -> DraftedPlan:
    """Return a plan of a kind, filled in with the files that were found, and what was assumed and is missing."""
    chosen = find_draft(kind)
    notes = DraftNotes(protocol=kind == chosen.alias)
    lines = chosen.lines(found, notes)
    text = _whole(chosen.about, name, lines, notes)
    companions = {
        key: _whole(chosen.about, f"{name}, {key}", others, notes) for key, others in notes.companions.items()
    }
    return DraftedPlan(text, notes, companions)


def _whole(about: str, name: str, lines: list[str], notes: DraftNotes) -> str:
    head = [f"#:schema {SCHEMA_FILE}", f"# {about}", f"name = {toml_string(name)}"]
    return "\n".join([*head, *lines, *_last_lines(lines, notes)]) + "\n"


def _last_lines(lines: list[str], notes: DraftNotes) -> list[str]:
    """Return what every plan may set: statistics, a target that is left to the user, and what to record."""
    target = []
    if not any(line.startswith("targets =") for line in lines):
        change = f'"{notes.headline} drop <= 0.01"' if notes.baseline else f'"{notes.headline} >= 0.6"'
        target = [
            "",
            "# [[target]]               # what must hold: rankjury run exits with 4 where it does not",
            with_comment(f"# require = {change}", "the number is an example: set yours"),
            *([f'# slice = "{notes.attribute}=…"'] if notes.attribute else []),
        ]
    meta = []
    if "[meta]" not in "\n".join(lines):
        meta = [
            "",
            "[meta]                     # recorded with the results",
            '# model = "all-MiniLM-L6-v2"',
            '# dataset_version = "2026-11"',
        ]
    return [
        "",
        "# [statistics]             # of confidence intervals and tests",
        "# resamples = 10000",
        "# level = 0.95",
        "# seed = 0",
        *target,
        *meta,
    ]


def with_comment(line: str, comment: str) -> str:
    """Return a line of TOML with a comment behind it, or above it where the line is long."""
    if len(line) + len(comment) > _WIDTH:
        return f"# {comment}\n{line}"
    return f"{line:<{_COMMENT_AT - 1}} # {comment}" if comment else line


def table_lines(name: str, **texts: str) -> list[str]:
    """Return the lines of a table: a blank line, its header and its keys."""
    return ["", f"[{name}]", *(f"{key} = {toml_string(text)}" for key, text in texts.items())]


def system_lines(name: str, **texts: str) -> list[str]:
    """Return the lines of a system's table."""
    return table_lines(f"systems.{toml_key(name)}", **texts)


def output_lines(file: str, form: str, comment: str = "", **more: int) -> list[str]:
    """Return the lines of an output whose form the suffix does not tell."""
    keys = [f"{key} = {value}" for key, value in more.items()]
    return [
        "",
        "[[output]]",
        f"file = {toml_string(file)}",
        with_comment(f"form = {toml_string(form)}", comment),
        *keys,
    ]


def choose_baseline(systems: Sequence[str], notes: DraftNotes) -> str | None:
    """Return the system that the others are compared with: one that is called like a baseline, or the first."""
    if len(systems) < 2:
        return None
    named = [name for word in ("baseline", "bm25", "base") for name in systems if word in name.lower()]
    named += [name for name in systems if _BASELINES & set(re.findall(r"[a-z]+|v?\d+", name.lower()))]
    notes.baseline = (named or list(systems))[0]
    notes.assumed.append(f"{notes.baseline} is the baseline that the others are compared with")
    return notes.baseline


def top_level_lines(
    measures: list[str],
    cutoffs: list[int],
    found: FolderContents,
    notes: DraftNotes,
    outputs: list[str],
    *,
    headline: Sequence[str] = (),
    queries: pl.Series | None = None,
    items: pl.Series | None = None,
    texts: str | None = None,
) -> list[str]:
    """Return the keys above all tables. ``queries`` and ``items`` are the gold's ids, where these are known."""
    lines = ['# baseline = "…"           # the system that the others are compared with']
    if notes.baseline:
        lines = [with_comment(f"baseline = {toml_string(notes.baseline)}", "the others are compared with it")]
    listed = with_comment(f"measures = [{', '.join(map(toml_string, measures))}]", "rankjury list metrics shows all")
    lines += ["", listed]
    main = list(headline)
    if cutoffs:
        lines.append(with_comment(f"cutoffs = {sorted(cutoffs)}", "of measures that have none"))
        main = main or [f"{measure}@{cutoffs[0]}" for measure in measures[:4]]
    if main:
        shown = f"headline = [{', '.join(map(toml_string, main))}]"
        lines.append(with_comment(shown, "printed and tested; the others are in the files"))
    notes.headline = next(iter(main or measures))
    of_queries = {**found.tables, **(found.item_tables if found.queries_are_items else {})}
    slices = _tables_with(found, of_queries, queries)
    if slices:
        table, notes.attribute = slices[0]
        lines.append(with_comment(f"slices = {toml_string(f'{table}:{notes.attribute}')}", "queries by this attribute"))
    else:
        lines.append('# slices = "queries.csv:type"   # attributes of queries to break results down by')
    of_items = [] if found.queries_are_items else _tables_with(found, found.item_tables, items)
    lines += [f"item_slices = {toml_string(f'{table}:{attribute}')}" for table, attribute in of_items[:1]]
    if found.names:
        lines.append(with_comment(f"names = {toml_string(found.names)}", "printed instead of ids"))
    if texts is not None:
        lines.append(f"texts = {toml_string(f'{texts}:{found.facts_of(texts).text}')}")
    lines.append(f"outputs = [{', '.join(map(toml_string, outputs))}]")
    return lines


def _tables_with(
    found: FolderContents, tables: Mapping[str, Sequence[str]], wanted: pl.Series | None
) -> list[tuple[str, str]]:
    """Return the tables that hold some of the wanted ids, each with its first attribute."""
    chosen = []
    for name, attributes in tables.items():
        ids = found.facts_of(name).items
        if wanted is None or ids is None or shared(wanted, ids):
            chosen.append((name, attributes[0]))
    return chosen


def count_queries(queries: pl.Series | None) -> str:
    """Return ``, 93 queries`` for the end of a summary; nothing where their number is not known."""
    return "" if queries is None else f", {plural(len(queries), 'query', 'queries')}"


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
