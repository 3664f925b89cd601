#!/usr/bin/env python3
"""Measures rankjury keywords: how good each method of mapping texts onto keywords is, and how fast.

  quality   precision, recall and F1 of each method on a labelled set, with the names of keywords alone and with
            synonyms; by default the texts of the driving sample over its vocabulary
  held-out  F1 of each method with synonyms, its threshold chosen on four fifths of the texts and measured on the rest,
            and how far that is from exact matching's, with an interval over texts
  literal   60 texts of five names of keywords, one of each group: how many of them lose one, or get another
  speed     10,000 texts of 8 words onto 500 keywords, the whole command; KeyBERT gets a tenth of the texts

The method keybert is measured with its MMR (--diversity); without it, keybert maps as embedding does.

Exit status: 0 if all went well, whatever the figures; 1 if a tool failed; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from harness import (
    REPOSITORY,
    Command,
    Results,
    measure_process,
    measure_rounds,
    render_table,
    report_progress,
    run_parts,
    verdict,
)
from options import add_shared_options

SAMPLE = REPOSITORY / "src" / "rankjury" / "plan" / "samples" / "driving"
LABELLED = SAMPLE / "queries.jsonl"
LOOKED_AT = (
    "The default settings of embedding and keybert (threshold, how many keywords MMR chooses) were chosen on these "
    "texts, which favours them: see --part held-out. Exact matching has no settings."
)
METHODS = ("exact", "embedding", "keybert")
TEXTS, WORDS, KEYWORDS = 10_000, 8, 500
OF_KEYBERT = 10
MOST_SECONDS = {"exact": 5.0, "embedding": 30.0}
THRESHOLDS = tuple(round(0.3 + 0.05 * step, 2) for step in range(13))
FOLDS, RESAMPLES = 5, 10_000
LITERAL_TEXTS = 60
FIGURES = ("precision", "recall", "f1", "macro_f1", "exact")


def run_quality(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    found: Results = {}
    rows = []
    for title, extra in (("names", ()), ("names and synonyms", ("--synonyms", str(arguments.synonyms)))):
        report_progress(f"quality, {title}")
        checked = check(arguments, arguments.methods, *extra)
        found[title] = {name: one["all"] for name, one in checked.items()}
        rows += [(name, title, *(shown(one[figure]) for figure in FIGURES)) for name, one in found[title].items()]
    report_progress("")
    texts = next(iter(found["names"].values()))["n"]
    table = render_table(("method", "spellings", "precision", "recall", "F1", "macro F1", "all right"), rows)
    print(f"\n{texts} texts of {arguments.labelled.name}:\n\n{table}", flush=True)
    if arguments.labelled == LABELLED:
        print(f"\n{LOOKED_AT}", flush=True)
    return found, quality_verdicts(found["names and synonyms"]), True


def check(arguments: argparse.Namespace, methods: Iterable[str], *more: str, labelled: Path | None = None) -> Results:
    """Return the quality of each method as ``rankjury keywords --check`` measures it."""
    options = ["--check", str(labelled or arguments.labelled), "--vocabulary", str(arguments.vocabulary)]
    options += [*more, *model_options(arguments, methods), "--json", "--quiet"]
    found: Results = json.loads(measure_process([arguments.rankjury, "keywords", *options]).output)["quality"]
    return found


def model_options(arguments: argparse.Namespace, methods: Iterable[str]) -> list[str]:
    options = ["--model", arguments.model]
    for name in methods:
        options += ["--method", name]
        options += ["--diversity", str(arguments.diversity)] if name == "keybert" else []
    return options


def quality_verdicts(found: Results) -> list[str]:
    """Of recall alone: F1 differs by less than chance would do on so few texts."""
    if "exact" not in found:
        return []
    least = found["exact"]["recall"]
    return [
        verdict(
            one["recall"] > least,
            f"with synonyms {name} finds more than exact matching: recall {one['recall']:.3f} against {least:.3f}",
            required=False,
        )
        for name, one in found.items()
        if name != "exact"
    ]


def run_held_out(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    exact = counts_of(arguments, "exact", None)
    found: Results = {}
    rows = []
    for name in arguments.methods:
        if name == "exact":
            continue
        report_progress(f"held out, {name}")
        by_threshold = {one: counts_of(arguments, name, one) for one in THRESHOLDS}
        held = held_out(by_threshold)
        low, high = interval_of_difference(held, exact)
        found[name] = {"f1": f1_of(held), "exact_f1": f1_of(exact), "difference": [low, high]}
        rows.append((name, shown(f1_of(held)), f"{f1_of(held) - f1_of(exact):+.3f} [{low:+.3f}, {high:+.3f}]"))
    report_progress("")
    table = render_table(("method", "F1 held out", "less exact's [95 %]"), rows)
    print(
        f"\nThreshold of {THRESHOLDS[0]} to {THRESHOLDS[-1]} chosen on the other folds of {FOLDS}:\n\n{table}",
        flush=True,
    )
    return found, [], True


Counts = list[tuple[int, int, int]]
"""Of each text how many keywords are right, found and given."""


def counts_of(arguments: argparse.Namespace, method: str, threshold: float | None) -> Counts:
    level = [] if threshold is None else ["--threshold", str(threshold)]
    quality = check(arguments, [method], "--synonyms", str(arguments.synonyms), *level)[method]
    wrong = {one["text"]: (len(one["missed"]), len(one["wrong"])) for one in quality["mistakes"]}
    counts = []
    for line in arguments.labelled.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        given, (missed, extra) = len(one["keywords"]), wrong.get(one["text"], (0, 0))
        counts.append((given - missed, given - missed + extra, given))
    return counts


def held_out(by_threshold: dict[float, Counts]) -> Counts:
    """Each text by the threshold that is best on the other folds; of equal ones the lowest."""
    number = len(next(iter(by_threshold.values())))
    held: Counts = []
    for text in range(number):
        others = [place for place in range(number) if place % FOLDS != text % FOLDS]
        best = max(by_threshold, key=lambda one: (f1_of([by_threshold[one][place] for place in others]), -one))
        held.append(by_threshold[best][text])
    return held


def f1_of(counts: Counts) -> float:
    right, found, given = (sum(column) for column in zip(*counts, strict=True))
    return 2 * right / (found + given)


def interval_of_difference(ours: Counts, theirs: Counts) -> tuple[float, float]:
    """The percentile interval of the difference of F1 over texts drawn with replacement."""
    chance = random.Random(0)
    drawn = []
    for _ in range(RESAMPLES):
        places = chance.choices(range(len(ours)), k=len(ours))
        drawn.append(f1_of([ours[place] for place in places]) - f1_of([theirs[place] for place in places]))
    drawn.sort()
    return drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES) - 1]


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def run_literal(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    columns = [
        f"pv_{name}" for name in ("object_type", "actor_behavior", "spatial_relation", "ego_behavior", "scene_type")
    ]
    with arguments.vocabulary.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    groups = {column: sorted({name for row in rows for name in row[column].split("|") if name}) for column in columns}
    chance = random.Random(0)
    drawn = [[(column, chance.choice(names)) for column, names in groups.items()] for _ in range(LITERAL_TEXTS)]
    lines = [
        {"query_id": f"t{place}", "text": ", ".join(name for _, name in one), "keywords": [f"{c}={n}" for c, n in one]}
        for place, one in enumerate(drawn)
    ]
    with tempfile.TemporaryDirectory() as folder:
        labelled = Path(folder) / "literal.jsonl"
        labelled.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        grouped = [part for column in columns for part in ("--group", f"{column}={column}")]
        checked = check(arguments, arguments.methods, *grouped, labelled=labelled)
    found = {
        name: {kind: sum(bool(text[kind]) for text in one["mistakes"]) for kind in ("missed", "wrong")}
        for name, one in checked.items()
    }
    table = render_table(
        ("method", "texts that lose one", "texts that get another"),
        [(name, str(one["missed"]), str(one["wrong"])) for name, one in found.items()],
    )
    print(f"\n{LITERAL_TEXTS} texts of five literal keywords, by {arguments.model}:\n\n{table}", flush=True)
    verdicts = [verdict(not one["missed"], f"{name} loses no literal match") for name, one in found.items()]
    return found, verdicts, not any(one["missed"] for one in found.values())


def run_speed(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    many = TEXTS // (20 if arguments.quick else 1)
    sizes = {name: many // OF_KEYBERT if name == "keybert" else many for name in arguments.methods}
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = write_data(Path(folder), sorted(set(sizes.values())))
        commands: dict[str, Command] = {
            name: [
                *(arguments.rankjury, "keywords", "--file", Path(folder) / f"{size}.txt", "--vocabulary", vocabulary),
                *(*model_options(arguments, [name]), "--json", "--quiet"),
            ]
            for name, size in sizes.items()
        }
        measured = measure_rounds(commands, arguments.rounds)
    rows = []
    for name, one in measured.items():
        each = one.seconds / sizes[name] * 1e3
        rows.append((name, f"{sizes[name]:,}", f"{one.seconds:.2f}", f"{each:.2f}", f"{one.peak_megabytes:.0f}"))
    table = render_table(("method", "texts", "seconds", "ms a text", "peak MB"), rows)
    print(f"\nTexts of {WORDS} words onto {KEYWORDS} keywords, best of {arguments.rounds}:\n\n{table}", flush=True)
    verdicts = [
        verdict(
            measured[name].seconds < most,
            f"{name}, {sizes[name]:,} texts x {KEYWORDS} keywords in under {most:g} s: {measured[name].seconds:.2f}",
            required=False,
        )
        for name, most in MOST_SECONDS.items()
        if name in measured
    ]
    return {name: one.as_result() for name, one in measured.items()}, verdicts, True


def write_data(folder: Path, sizes: list[int]) -> Path:
    """Texts of the sample's own words in any order, and keywords of two such words."""
    lines = (SAMPLE / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    words = sorted({word.strip(".,?!").lower() for line in lines for word in json.loads(line)["text"].split()} - {""})
    chance = random.Random(0)
    for size in sizes:
        texts = (" ".join(chance.choice(words) for _ in range(WORDS)) for _ in range(size))
        (folder / f"{size}.txt").write_text("\n".join(texts), encoding="utf-8")
    keywords: dict[str, None] = {}
    while len(keywords) < KEYWORDS:
        keywords[" ".join(chance.sample(words, 2))] = None
    rows = [f"c{place},{name}" for place, name in enumerate(keywords)]
    vocabulary = folder / "clips.csv"
    vocabulary.write_text("\n".join(["clip,about", *rows]), encoding="utf-8")
    return vocabulary


PARTS = {"quality": run_quality, "held-out": run_held_out, "literal": run_literal, "speed": run_speed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="what to measure (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the texts")
    parser.add_argument("--labelled", type=Path, default=LABELLED, help="texts with their keywords")
    parser.add_argument("--vocabulary", type=Path, default=SAMPLE / "clips.csv", help="the annotated items")
    parser.add_argument("--synonyms", type=Path, default=SAMPLE / "synonyms.toml", help="phrases that mean keywords")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, help="which (default: all)")
    parser.add_argument("--model", default="wordllama", help="of embedding and keybert (default: %(default)s)")
    parser.add_argument("--diversity", type=float, default=0.2, help="of the method keybert (default: %(default)s)")
    add_shared_options(parser, rounds=3)
    arguments = parser.parse_args()
    return run_parts("keywords", PARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())
