"""rankjury keywords: mapping of texts to keywords of a vocabulary, and the quality of the mapping."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.completion import one_of
from rankjury.cli.shared.console import check_standard_input, print_json, say, show_progress, warn
from rankjury.cli.shared.options import AnnotationOptions, JsonOption, QuietOption, expand_options
from rankjury.core.text import plural
from rankjury.errors import UsageError, install_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankjury.labeling.keywords.annotations import Keyword, Vocabulary
    from rankjury.labeling.keywords.mapping import Extraction, Mapper, MappingSettings
    from rankjury.labeling.keywords.quality import MappingMistake, MappingQuality

GROUP = "Gold"
ORDER = 2
MULTIPLIES_MATRICES = True
EPILOG = (
    "Examples:\n\n"
    '  rankjury keywords "cyclist entering ego lane" --vocabulary clips.csv\n\n'
    '  rankjury keywords "a kid on the crosswalk" --vocabulary clips.csv --select object --group '
    "object=pv_object_type --group scene=pv_scene_type\n\n"
    "  rankjury keywords --file queries.txt --vocabulary clips.csv --method exact --synonyms synonyms.toml\n\n"
    "  rankjury keywords --check queries.jsonl --vocabulary clips.csv --synonyms synonyms.toml\n\n"
    "The vocabulary is a table of annotations: one row per item, and columns of keywords, which are separated by "
    "--separator.\n\n"
    "Names and synonyms of keywords that occur in the text always match. Another n-gram of one to three words "
    "matches the most similar keyword, if the score is above --threshold. Of overlapping n-grams, the one with the "
    "best score is kept; the others are shown with the reason.\n\n"
    "Methods:\n\n"
    "  exact      names and synonyms only\n\n"
    "  embedding  also n-grams, by cosine similarity of a model's vectors\n\n"
    "  keybert    the same with KeyBERT; --diversity selects keywords by MMR\n\n"
    "Default: embedding, or keybert with --diversity; exact if the model is not installed. --check evaluates exact "
    "and embedding, and keybert with --diversity.\n\n"
    "Synonyms (TOML):\n\n"
    '  ignored = ["video", "show me"]\n\n'
    "  [synonyms]\n\n"
    '  bicyclist = ["cyclist", "someone on a bike"]\n\n'
    "Texts for --check, one JSON object per line:\n\n"
    '  {"query_id": "t1", "text": "cyclist", "keywords": ["bicyclist"]}'
)
_MAX_FULL_TEXTS = 5
_MAX_HINTED = 20
_MAX_DROPPED = 8
_MAX_MISTAKES = 10


@expand_options
def keywords_command(
    options: AnnotationOptions,
    vocabulary: Annotated[
        str, typer.Option(metavar="FILE", help="Table of annotated items: .csv, .tsv, .jsonl or .parquet.")
    ],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts to map to keywords.", show_default=False)
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="File of more texts: .jsonl, .json, .csv, .parquet, .txt.")
    ] = None,
    check: Annotated[
        str | None, typer.Option(metavar="FILE", help="Evaluate the mapping on texts whose keywords are known.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(**one_of("exact|embedding|keybert"), help="Mapping method; repeatable, to compare several."),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="Embedding model: wordllama, a model folder, or module:function.")
    ] = "wordllama",
    threshold: Annotated[
        float | None, typer.Option(help="Score that an n-gram must exceed; default: 0.5.", show_default=False)
    ] = None,
    diversity: Annotated[
        float | None,
        typer.Option(
            help="For keybert: diversity of MMR, from 0 (similarity only) to 1 (diversity only).",
            show_default=False,
        ),
    ] = None,
    synonyms: Annotated[str | None, typer.Option(metavar="FILE", help="Synonyms of keywords (TOML).")] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Map texts to keywords of an annotated vocabulary.

    Shows the words that matched each keyword.
    """
    check_standard_input([path for path in (vocabulary, file, check, synonyms) if path])
    if check is not None and (texts or file):
        raise UsageError("found texts and --check, which has its own", expected="one of them")
    if any(not text.strip() for text in texts or ()):
        raise UsageError("a text is empty", expected="words to map")
    if check is None and not texts and file is None:
        hint = 'rankjury keywords "cyclist entering ego lane" --vocabulary clips.csv'
        raise UsageError("no text was given", expected="a text, --file or --check", hint=hint)
    from rankjury.labeling.keywords.mapping import MappingSettings

    annotations = options.read(vocabulary)
    warn(annotations.notes)
    known = annotations.vocabulary
    methods = method or _default_methods(model, every=check is not None, mmr=diversity is not None)
    if diversity is not None and "keybert" not in methods:
        raise UsageError(f"--diversity without the method keybert: {', '.join(methods)}", expected="--method keybert")
    settings = [
        MappingSettings(name, model, threshold, synonyms, diversity=diversity if name == "keybert" else None)
        for name in dict.fromkeys(methods)
    ]
    if check is not None:
        _check(check, known, settings, options, as_json=as_json)
    else:
        texts = list(texts or ())
        if file is not None:
            from rankjury.labeling.products.query_sets import read_queries

            texts += read_queries(file, repeats=True)["text"].to_list()
        _map(texts, known, settings, options.select, as_json=as_json)


def _default_methods(model: str, *, every: bool, mmr: bool) -> list[str]:
    """Return the methods to use where none was named: keybert only with MMR, else it maps as embedding does."""
    from importlib.util import find_spec

    if model == "wordllama" and find_spec("wordllama") is None:
        say(f"Only exact matches: {install_command('text')} brings a model for others")
        return ["exact"]
    if not every:
        return ["keybert" if mmr else "embedding"]
    return ["exact", "embedding", *(["keybert"] if mmr else [])]


def _map_by_method(
    texts: "Sequence[str]", vocabulary: "Vocabulary", settings: "Iterable[MappingSettings]", select: list[str] | None
) -> "dict[str, tuple[Mapper, list[Extraction]]]":
    """Map the texts by each method."""
    from rankjury.labeling.keywords.mapping import make_mapper, map_texts

    mapped = {}
    with show_progress() as progress:
        for setting in settings:
            mapper = make_mapper(vocabulary, setting)
            step = progress.step(f"Mapping by {setting.method}")
            extractions = map_texts(texts, vocabulary, setting, step, groups=select, mapper=mapper)
            mapped[setting.method] = mapper, extractions
    warn(dict.fromkeys(note for mapper, _ in mapped.values() for note in mapper.notes))
    return mapped


def _map(
    texts: "Sequence[str]",
    vocabulary: "Vocabulary",
    settings: "list[MappingSettings]",
    select: list[str] | None,
    *,
    as_json: bool,
) -> None:
    from rankjury.labeling.keywords.mapping import add_nearest

    mapped = _map_by_method(texts, vocabulary, settings, select)
    if as_json or len(texts) <= _MAX_FULL_TEXTS:
        for method, (mapper, extractions) in mapped.items():
            bare = [place for place, extraction in enumerate(extractions) if not extraction.mapped]
            for place in bare[:_MAX_HINTED]:
                extractions[place] = add_nearest(extractions[place], mapper, vocabulary, method, select)
    if as_json:
        methods = {
            name: {"threshold": mapper.threshold, "texts": [extraction.to_json() for extraction in extractions]}
            for name, (mapper, extractions) in mapped.items()
        }
        _print_json(vocabulary, {"methods": methods})
        return
    from rankjury.labeling.keywords.mapping import summarize_mapping
    from rankjury.reporting.console import console

    for method, (_, extractions) in mapped.items():
        console().print(summarize_mapping(method, extractions))
    print()
    if len(texts) <= _MAX_FULL_TEXTS:
        for place, text in enumerate(texts):
            _print_text(text, {name: (mapper, all_[place]) for name, (mapper, all_) in mapped.items()}, first=not place)
    else:
        _print_brief(mapped)
    sys.stdout.flush()
    lacking = "" if any(setting.synonyms for setting in settings) else "--synonyms adds your words · "
    say(f"Next: {lacking}--check measures it on texts whose keywords you know")


def _check(
    path: str, vocabulary: "Vocabulary", settings: "list[MappingSettings]", options: AnnotationOptions, *, as_json: bool
) -> None:
    from rankjury.labeling.keywords.quality import compare_mappings, read_labelled_texts

    labelled = read_labelled_texts(path, vocabulary, separator=options.separator)
    texts = [text.text for text in labelled]
    wanted = [text.numbers for text in labelled]
    measured = {}
    for name, (_, extractions) in _map_by_method(texts, vocabulary, settings, options.select).items():
        numbers = [frozenset(extraction.numbers(vocabulary)) for extraction in extractions]
        judged = compare_mappings(numbers, wanted, vocabulary, options.select)
        measured[name] = judged.whole, judged.by_group, judged.mistakes(texts)
    if as_json:
        quality = {
            name: {
                "all": whole.to_json(),
                "groups": {group: of_group.to_json() for group, of_group in by_group.items()},
                "mistakes": [
                    {"text": case.text, "missed": [*map(str, case.missed)], "wrong": [*map(str, case.wrong)]}
                    for case in mistakes
                ],
            }
            for name, (whole, by_group, mistakes) in measured.items()
        }
        _print_json(vocabulary, {"quality": quality})
        return
    _print_quality(measured)
    sys.stdout.flush()
    next_step = "" if any(setting.synonyms for setting in settings) else " Next: --synonyms adds your words"
    say(f"Measured on the {len(texts):,} texts of {path}.{next_step}")


def _print_json(vocabulary: "Vocabulary", content: dict[str, Any]) -> None:
    facts = {"source": vocabulary.source, "groups": vocabulary.by_group(range(len(vocabulary)))}
    print_json({"schema": "rankjury.keywords/1", "vocabulary": facts, **content})


def _print_text(text: str, by_method: "dict[str, tuple[Mapper, Extraction]]", *, first: bool) -> None:
    """Print the keywords of a text by each method, and those that were dropped and are not found otherwise."""
    from rankjury.reporting.console import console, print_rows

    screen = console()
    screen.print(text if first else f"\n{text}")
    rows = [
        [match.keyword.name, match.keyword.group, match.ngram, f"{match.score:.2f}", match.method]
        for _, extraction in by_method.values()
        for match in extraction.mapped
    ]
    if rows:
        print_rows(["keyword", "group", "n-gram", "score", "method"], rows, text=(0, 1, 2, 4), wraps=(0, 1, 2))
    for name, (mapper, extraction) in by_method.items():
        if not extraction.mapped:
            screen.print(f"No keyword by {name}{_nearest(mapper, extraction)}")
    lost = [
        [dropped.mapped.keyword.name, dropped.mapped.ngram, f"{dropped.mapped.score:.2f}", dropped.reason]
        for _, extraction in by_method.values()
        for dropped in extraction.dropped
        if dropped.mapped.keyword not in extraction.keywords
    ]
    if lost:
        screen.print("\nDropped")
        print_rows(["keyword", "n-gram", "score", "why"], lost[:_MAX_DROPPED], text=(0, 1, 3), wraps=(0, 1, 3))
        if len(lost) > _MAX_DROPPED:
            screen.print(f"… and {len(lost) - _MAX_DROPPED} more: --json has them all")


def _nearest(mapper: "Mapper", extraction: "Extraction") -> str:
    near = ", ".join(f"{match.keyword.name} {match.score:.2f} ({match.ngram})" for match in extraction.nearest)
    if mapper.threshold >= 1:
        nothing, means, closest = "none", "occurs in the text", "nearest in spelling"
    else:
        nothing, means, closest = "nothing", f"comes nearer than {mapper.threshold:g}", "nearest"
    reason = f"what {means} was dropped" if extraction.dropped else f"{nothing} {means}"
    return f": {reason}; {closest} {near}" if near else f": {reason}"


def _print_brief(found: "dict[str, tuple[Mapper, list[Extraction]]]") -> None:
    """Print one line per text, and the number of texts without keywords."""
    from rankjury.reporting.console import console, print_rows

    screen = console()
    for name, (_, extractions) in found.items():
        rows = [[extraction.text, _names(extraction.keywords)] for extraction in extractions]
        print_rows(["text", f"keywords, by {name}"], rows, text=(0, 1), wraps=(0, 1))
        if not all(extraction.mapped for extraction in extractions):
            screen.print("Of texts without a keyword --json shows what came nearest.\n")


def _print_quality(
    measured: "dict[str, tuple[MappingQuality, dict[str, MappingQuality], list[MappingMistake]]]",
) -> None:
    """Print the quality of each method, whole and by group, and the first texts that it got wrong."""
    from rankjury.labeling.keywords.quality import summarize_quality
    from rankjury.reporting.console import console, print_rows

    screen = console()
    screen.print(f"{summarize_quality({name: whole for name, (whole, _, _) in measured.items()})}\n")
    header = ["precision", "recall", "F1", "macro F1", "all right", "n"]
    rows = [[name, *_figures(whole)] for name, (whole, _, _) in measured.items()]
    print_rows(["method", *header], rows)
    for name, (_, by_group, wrong) in measured.items():
        if len(by_group) > 1:
            screen.print(f"\nBy group, {name}")
            print_rows(["group", *header], [[group, *_figures(quality)] for group, quality in by_group.items()])
        if wrong:
            screen.print(f"\nNot as people did, {name}: {plural(len(wrong), 'text', 'texts')}")
            shown = [[case.text, _names(case.missed), _names(case.wrong)] for case in wrong[:_MAX_MISTAKES]]
            print_rows(["text", "missed", "wrong"], shown, text=(0, 1, 2), wraps=(0, 1, 2))
            if len(wrong) > _MAX_MISTAKES:
                screen.print(f"… and {len(wrong) - _MAX_MISTAKES} more: --json has them all")


def _figures(quality: "MappingQuality") -> list[str]:
    values = (quality.precision, quality.recall, quality.f1, quality.macro_f1, quality.exact)
    return [*("–" if value != value else f"{value:.3f}" for value in values), f"{quality.n:,}"]


def _names(keywords: "Iterable[Keyword]") -> str:
    return ", ".join(keyword.name for keyword in keywords) or "–"
