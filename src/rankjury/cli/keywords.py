"""rankjury keywords: which keywords of a vocabulary a text means, and how well they are found."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.console import QuietOption, check_standard_input, print_json, say, show_progress, warn
from rankjury.cli.shared.options import SEPARATOR, GroupOption, IdOption, SelectOption, SeparatorOption, parse_groups
from rankjury.errors import UsageError, install_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankjury.labeling.keywords.annotations import Keyword, Vocabulary
    from rankjury.labeling.keywords.mapping import Extraction, MappedKeyword, Mapper, MappingSettings
    from rankjury.labeling.keywords.quality import MappingMistake, MappingQuality

GROUP = "Data"
MULTIPLIES_MATRICES = True
EPILOG = (
    "Examples:\n\n"
    '  rankjury keywords "cyclist entering ego lane" --vocabulary clips.csv\n\n'
    '  rankjury keywords "a kid on the crosswalk" --vocabulary clips.csv --select object --group object=pv_object_type '
    "--group scene=pv_scene_type\n\n"
    "  rankjury keywords --file queries.txt --vocabulary clips.csv --method exact --synonyms synonyms.toml\n\n"
    "  rankjury keywords --check queries.jsonl --vocabulary clips.csv --synonyms synonyms.toml\n\n"
    "The vocabulary is a table of annotations: a row an item, columns whose cells hold keywords, several of them split "
    "by --separator. Names and synonyms that occur in the text always count. Every other n-gram of one to three words "
    "means the keyword of the whole vocabulary with the highest score, if that is above the threshold; of n-grams that "
    "overlap the one with the higher score is kept, and dropped ones are shown with the reason. Methods: exact finds "
    "names and synonyms alone; embedding also compares n-grams and keywords as vectors of a model; keybert does the "
    "same by KeyBERT's embedder, and with --diversity compares only with keywords that its MMR chooses for the text. "
    "The default method is embedding where its model is installed, else exact; --check measures both, and keybert "
    "where --diversity is given. Synonyms are TOML:\n\n"
    '  ignored = ["video", "show me"]\n\n'
    "  [synonyms]\n\n"
    '  bicyclist = ["cyclist", "someone on a bike"]\n\n'
    "Texts to check have their keywords with them, a line each:\n\n"
    '  {"query_id": "t1", "text": "cyclist at night", "keywords": ["bicyclist", "night"]}'
)
_IN_FULL = 5
_HINTED = 20
_SCHEMA = "rankjury.keywords/1"


def keywords_command(
    vocabulary: Annotated[
        str, typer.Option("--vocabulary", metavar="FILE", help="Annotated items: .csv, .tsv, .jsonl or .parquet.")
    ],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="What to map.", show_default=False)
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="More texts: .jsonl, .json, .csv, .parquet, .txt.")
    ] = None,
    check: Annotated[
        str | None,
        typer.Option("--check", metavar="FILE", help="Measure the mapping on texts with keywords given by people."),
    ] = None,
    group: GroupOption = None,
    select: SelectOption = None,
    id_column: IdOption = None,
    separator: SeparatorOption = SEPARATOR,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="METHOD", help="exact, embedding or keybert; repeat it to see several."),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="wordllama, a model's folder, or module:function.")
    ] = "wordllama",
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="The score that an n-gram must exceed (default 0.5).", show_default=False),
    ] = None,
    diversity: Annotated[
        float | None,
        typer.Option(
            "--diversity",
            help="Method keybert: let MMR choose keywords for each text, 0 by similarity to 1 by difference.",
            show_default=False,
        ),
    ] = None,
    synonyms: Annotated[
        str | None, typer.Option("--synonyms", metavar="FILE", help="Phrases that mean keywords (TOML).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON instead of tables.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Find the keywords of a vocabulary that texts mean, each with the words that say so."""
    check_standard_input([path for path in (vocabulary, file, check, synonyms) if path])
    if check is not None and (texts or file):
        raise UsageError("texts beside --check, which brings its own", expected="one of them")
    if any(not text.strip() for text in texts or ()):
        raise UsageError("a text is empty", expected="words to map")
    if check is None and not texts and file is None:
        hint = 'rankjury keywords "cyclist entering ego lane" --vocabulary clips.csv'
        raise UsageError("no text was given", expected="a text, --file or --check", hint=hint)
    from rankjury.labeling.keywords.annotations import read_annotations
    from rankjury.labeling.keywords.mapping import MappingSettings

    columns = parse_groups(group)
    annotations = read_annotations(vocabulary, columns, id_column=id_column, separator=separator)
    warn(annotations.notes, quiet=quiet)
    known = annotations.vocabulary
    methods = method or _default_methods(model, every=check is not None, mmr=diversity is not None, quiet=quiet)
    if diversity is not None and "keybert" not in methods:
        raise UsageError(f"--diversity without the method keybert: {', '.join(methods)}", expected="--method keybert")
    settings = [
        MappingSettings(one, model, threshold, synonyms, diversity=diversity if one == "keybert" else None)
        for one in dict.fromkeys(methods)
    ]
    if check is not None:
        _check(check, known, settings, select, separator, as_json=as_json, quiet=quiet)
    else:
        _map([*(texts or ()), *_texts_of(file)], known, settings, select, as_json=as_json, quiet=quiet)


def _texts_of(file: str | None) -> list[str]:
    if file is None:
        return []
    from rankjury.labeling.products.query_sets import read_queries

    return read_queries(file, repeats=True)["text"].to_list()


def _default_methods(model: str, *, every: bool, mmr: bool, quiet: bool) -> list[str]:
    """Return the methods to use where none was named; keybert is one of them only with MMR.

    Without MMR, keybert maps as embedding does.
    """
    from importlib.util import find_spec

    if model == "wordllama" and find_spec("wordllama") is None:
        say(f"Only exact matches: {install_command('text')} brings a model for others", quiet=quiet)
        return ["exact"]
    if not every:
        return ["keybert" if mmr else "embedding"]
    return ["exact", "embedding", *(["keybert"] if mmr else [])]


def _mapped(
    texts: "Sequence[str]",
    vocabulary: "Vocabulary",
    settings: "Iterable[MappingSettings]",
    select: list[str] | None,
    *,
    quiet: bool,
) -> "dict[str, tuple[Mapper, list[Extraction]]]":
    """The texts by each method."""
    from rankjury.labeling.keywords.mapping import make_mapper, map_texts

    found = {}
    with show_progress(quiet=quiet) as progress:
        for one in settings:
            mapper = make_mapper(vocabulary, one)
            step = progress.step(f"Mapping by {one.method}")
            found[one.method] = mapper, map_texts(texts, vocabulary, one, step, groups=select, mapper=mapper)
    notes = dict.fromkeys(note for mapper, _ in found.values() for note in mapper.notes)
    warn(notes, quiet=quiet)
    return found


def _map(
    texts: "Sequence[str]",
    vocabulary: "Vocabulary",
    settings: "list[MappingSettings]",
    select: list[str] | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    found = _mapped(texts, vocabulary, settings, select, quiet=quiet)
    if as_json or len(texts) <= _IN_FULL:
        found = _hinted(found, vocabulary, select)
    if as_json:
        methods = {
            name: {"threshold": mapper.threshold, "texts": [one.to_json() for one in extractions]}
            for name, (mapper, extractions) in found.items()
        }
        _print_json({"vocabulary": _facts(vocabulary), "methods": methods})
        return

    if len(texts) <= _IN_FULL:
        for place, text in enumerate(texts):
            _print_text(text, {name: (mapper, all_[place]) for name, (mapper, all_) in found.items()}, first=not place)
    else:
        _print_brief(found)
    sys.stdout.flush()
    say("Next: --synonyms teaches it your words · --check measures it on texts whose keywords you know", quiet=quiet)


def _hinted(
    found: "dict[str, tuple[Mapper, list[Extraction]]]", vocabulary: "Vocabulary", select: list[str] | None
) -> "dict[str, tuple[Mapper, list[Extraction]]]":
    """The first texts that have no keyword with what comes nearest to them."""
    from itertools import count

    from rankjury.labeling.keywords.mapping import add_nearest

    hinted = {}
    for method, (mapper, extractions) in found.items():
        bare = count()
        hinted[method] = (
            mapper,
            [
                one if one.mapped or next(bare) >= _HINTED else add_nearest(one, mapper, vocabulary, method, select)
                for one in extractions
            ],
        )
    return hinted


def _facts(vocabulary: "Vocabulary") -> dict[str, Any]:
    return {"source": vocabulary.source, "groups": vocabulary.by_group(range(len(vocabulary)))}


def _print_json(form: dict[str, Any]) -> None:
    print_json({"schema": _SCHEMA, **form})


def _check(
    path: str,
    vocabulary: "Vocabulary",
    settings: "list[MappingSettings]",
    select: list[str] | None,
    separator: str,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    from rankjury.labeling.keywords.quality import compare_mappings, read_labelled_texts

    labelled = read_labelled_texts(path, vocabulary, separator=separator)
    texts, given = [one.text for one in labelled], [one.numbers for one in labelled]
    measured = {}
    for name, (_, extractions) in _mapped(texts, vocabulary, settings, select, quiet=quiet).items():
        numbers = [frozenset(one.numbers(vocabulary)) for one in extractions]
        judged = compare_mappings(numbers, given, vocabulary, select)
        measured[name] = judged.whole, judged.by_group, judged.mistakes(texts)
    if as_json:
        found = {name: _form(*one) for name, one in measured.items()}
        _print_json({"vocabulary": _facts(vocabulary), "quality": found})
        return

    _print_quality(measured)
    sys.stdout.flush()
    say(f"Measured on the {len(texts):,} texts of {path}. Next: --synonyms teaches it your words", quiet=quiet)


def _form(
    whole: "MappingQuality", by_group: "dict[str, MappingQuality]", wrong: "list[MappingMistake]"
) -> dict[str, Any]:
    return {
        "all": whole.to_json(),
        "groups": {group: one.to_json() for group, one in by_group.items()},
        "mistakes": [
            {"text": one.text, "missed": [str(k) for k in one.missed], "wrong": [str(k) for k in one.wrong]}
            for one in wrong
        ],
    }


_DROPPED_SHOWN = 8
_MISTAKES_SHOWN = 10


def _print_text(text: str, by_method: "dict[str, tuple[Mapper, Extraction]]", *, first: bool) -> None:
    """What a text means by each method, and what was dropped that is not there otherwise."""
    from rankjury.reporting.console import console, print_rows

    screen = console()
    screen.print(text if first else f"\n{text}")
    rows = [_cells(one) for _, extraction in by_method.values() for one in extraction.mapped]
    if rows:
        print_rows(["keyword", "group", "n-gram", "score", "method"], rows, text=(0, 1, 2, 4), wraps=(0, 1, 2))
    for name, (mapper, extraction) in by_method.items():
        if not extraction.mapped:
            screen.print(f"No keyword by {name}{_nearest(mapper, extraction)}")
    lost = [
        [one.mapped.keyword.name, one.mapped.ngram, f"{one.mapped.score:.2f}", one.reason]
        for _, extraction in by_method.values()
        for one in extraction.dropped
        if one.mapped.keyword not in extraction.keywords
    ]
    if lost:
        screen.print("\nDropped")
        print_rows(["keyword", "n-gram", "score", "why"], lost[:_DROPPED_SHOWN], text=(0, 1, 3), wraps=(0, 1, 3))
        if len(lost) > _DROPPED_SHOWN:
            screen.print(f"… and {len(lost) - _DROPPED_SHOWN} more: --json has them all")


def _cells(one: "MappedKeyword") -> list[str]:
    return [one.keyword.name, one.keyword.group, one.ngram, f"{one.score:.2f}", one.method]


def _nearest(mapper: "Mapper", extraction: "Extraction") -> str:
    near = ", ".join(f"{one.keyword.name} {one.score:.2f} ({one.ngram})" for one in extraction.nearest)
    if mapper.threshold >= 1:
        told = "what stands in the text was dropped" if extraction.dropped else "none stands in the text"
        return f": {told}; nearest in spelling {near}" if near else f": {told}"
    what = "what comes nearer than {} was dropped" if extraction.dropped else "nothing comes nearer than {}"
    told = what.format(f"{mapper.threshold:g}")
    return f": {told}; nearest {near}" if near else f": {told}"


def _print_brief(found: "dict[str, tuple[Mapper, list[Extraction]]]") -> None:
    """A line a text, and how many have no keyword."""
    from rankjury.reporting.console import console, print_rows

    screen = console()
    for name, (_, extractions) in found.items():
        rows = [[one.text, ", ".join(keyword.name for keyword in one.keywords) or "–"] for one in extractions]
        print_rows(["text", f"keywords, by {name}"], rows, text=(0, 1), wraps=(0, 1))
        bare = sum(not one.mapped for one in extractions)
        screen.print(f"{bare:,} of {len(extractions):,} texts have no keyword: --json shows what came nearest\n")


def _print_quality(
    measured: "dict[str, tuple[MappingQuality, dict[str, MappingQuality], list[MappingMistake]]]",
) -> None:
    """How good each method is, whole and by group, and the first texts that it got wrong."""
    from rankjury.core.text import plural
    from rankjury.reporting.console import console, print_rows

    screen = console()
    header = ["precision", "recall", "F1", "macro F1", "all right", "n"]
    rows = [[name, *_figures(whole)] for name, (whole, _, _) in measured.items()]
    print_rows(["method", *header], rows)
    for name, (_, by_group, wrong) in measured.items():
        if len(by_group) > 1:
            screen.print(f"\nBy group, {name}")
            print_rows(["group", *header], [[group, *_figures(one)] for group, one in by_group.items()])
        if wrong:
            screen.print(f"\nNot as people did, {name}: {plural(len(wrong), 'text', 'texts')}")
            shown = [[one.text, _names(one.missed), _names(one.wrong)] for one in wrong[:_MISTAKES_SHOWN]]
            print_rows(["text", "missed", "wrong"], shown, text=(0, 1, 2), wraps=(0, 1, 2))
            if len(wrong) > _MISTAKES_SHOWN:
                screen.print(f"… and {len(wrong) - _MISTAKES_SHOWN} more: --json has them all")


def _figures(one: "MappingQuality") -> list[str]:
    values = (one.precision, one.recall, one.f1, one.macro_f1, one.exact)
    return [*("–" if value != value else f"{value:.3f}" for value in values), f"{one.n:,}"]


def _names(keywords: "Iterable[Keyword]") -> str:
    return ", ".join(one.name for one in keywords) or "–"
