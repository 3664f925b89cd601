"""Make the clips and the vectors of the driving sample: ``clips.csv`` and ``vectors.npz``.

No video is read: there is none. Each clip's annotations are drawn from the scenarios in ``driving_scenarios.py`` by a
seed, so that the same tables always make the same file. Its vector is WordLlama's of a text about its annotations,
with noise added on purpose: keywords mistaken for look-alikes, how the clip might look, and chance. Queries and
synonyms are written by hand and only read. Run it from the root of the repository; rankjury itself needs neither step::

    python scripts/make_driving.py
    pip install wordllama
    python scripts/make_driving.py --vectors

The weights come with the package wordllama, so nothing is downloaded at run time.
"""

from __future__ import annotations

import argparse
import bisect
import csv
import io
import itertools
import json
import random
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from driving_scenarios import SCENARIOS, STAGED, Scenario
from driving_vocabulary import GROUPS, LOOK_ALIKES

FOLDER = Path(__file__).resolve().parents[1] / "src" / "rankjury" / "plan" / "samples" / "driving"
SEED = 2687
"""Picked among 4,000, so that the protocol's examples come out as it says (see the README of the sample)."""
LOOK = 0.35
"""Length of the part that says how a clip looks; the part that says what happens has length 1."""
CHANCE = 0.3
"""Length, in expectation, of the Gaussian part."""
MISTAKEN = 0.1
"""How often a keyword that has look-alikes is told as one of them."""
Clip = dict[str, tuple[str, ...]]

PLACES = ("tunnel", "parking lot", "highway", "rural", "residential", "urban")
LIGHTS = ("night", "dusk")
WEATHERS = ("rain", "snow", "fog")
SIZES = {
    "large": ("large vehicle", "bus"),
    "middle": ("small vehicle", "emergency vehicle"),
    "small": ("pedestrian", "child", "bicyclist", "motorcyclist", "scooter rider", "animal"),
}


def deal(slot: str, count: int, chance: random.Random) -> list[str]:
    """The keyword of a slot for each of so many clips: shares as near to the weights as can be, in random order."""
    weighed = [choice.strip().rpartition(" ") for choice in slot.split("/")]
    if len(weighed) == 1:
        return [slot.strip()] * count
    ends = list(itertools.accumulate(int(weight) for _, _, weight in weighed))
    start = chance.random()
    points = [(start + number) * ends[-1] / count for number in range(count)]
    dealt = [weighed[bisect.bisect_right(ends, point)][0] for point in points]
    chance.shuffle(dealt)
    return dealt


def draw(scenario: Scenario, chance: random.Random) -> list[Clip]:
    """The clips of a scenario."""
    clips: list[Clip] = [{} for _ in range(scenario.count)]
    for group, slots in zip(GROUPS, scenario[2:], strict=True):
        dealt = zip(*(deal(slot, scenario.count, chance) for slot in slots.split(";")), strict=True)
        for clip, keywords in zip(clips, dealt, strict=True):
            clip[group] = tuple(keyword for keyword in dict.fromkeys(keywords) if keyword != "-")
    return clips


def compose(seed: int = SEED) -> dict[str, Clip]:
    """All clips by name."""
    chance = random.Random(seed)
    clips = {
        f"{scenario.name}_{number:03}": clip
        for scenario in SCENARIOS
        for number, clip in enumerate(draw(scenario, chance), start=1)
    }
    for name, row in STAGED.items():
        clips[name] = dict(zip(GROUPS, map(cell_keys, row), strict=True))
    return clips


def keywords_of(clip: Clip) -> frozenset[str]:
    """All keywords of a clip."""
    return frozenset(keyword for keywords in clip.values() for keyword in keywords)


def cell_keys(cell: str) -> tuple[str, ...]:
    """The keywords of a cell."""
    return tuple(cell.split("|")) if cell else ()


def to_csv(clips: dict[str, Clip]) -> str:
    """A line a clip; several keywords of a group are parted by ``|``."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(("clip", *GROUPS))
    writer.writerows((name, *("|".join(clip[group]) for group in GROUPS)) for name, clip in clips.items())
    return written.getvalue()


def read_clips(path: Path) -> dict[str, Clip]:
    """The clips of a file that :func:`to_csv` wrote."""
    with path.open(encoding="utf-8", newline="") as opened:
        return {row["clip"]: {group: cell_keys(row[group]) for group in GROUPS} for row in csv.DictReader(opened)}


def read_queries(folder: Path) -> list[dict[str, Any]]:
    """The labelled texts, which are written by hand."""
    return [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]


def text_of(clip: Clip, synonyms: dict[str, list[str]]) -> str:
    """What is embedded of a clip: each group's keywords with their everyday words; who does what is told twice."""
    told = [", ".join(word for keyword in clip[group] for word in (keyword, *synonyms[keyword])) for group in GROUPS]
    return ". ".join((*told[:2], *told)) + "."


def mistake(clip: Clip, chance: random.Random) -> Clip:
    """The clip as its vector has it: now and then a look-alike stands for a keyword."""
    return {
        group: tuple(
            chance.choice(LOOK_ALIKES[keyword]) if chance.random() < MISTAKEN and keyword in LOOK_ALIKES else keyword
            for keyword in keywords
        )
        for group, keywords in clip.items()
    }


def look_of(clip: Clip) -> tuple[str, str, str, str]:
    """What makes clips look alike: place, light, weather, and the size of the largest thing in view."""
    held = keywords_of(clip)
    size = next(size for size, objects in SIZES.items() if held & set(objects))
    return first(PLACES, held, "elsewhere"), first(LIGHTS, held, "day"), first(WEATHERS, held, "dry"), size


def first(listed: Iterable[str], held: frozenset[str], otherwise: str) -> str:
    """The first of a list that is held."""
    return next((one for one in listed if one in held), otherwise)


def looks(clips: list[Clip], width: int) -> np.ndarray:
    """A row of unit length for each clip: the sum of a random direction for its place, light, weather and size."""
    traits = [look_of(clip) for clip in clips]
    named = sorted({trait for found in traits for trait in found})
    drawn = np.random.default_rng([SEED, 1]).standard_normal((len(named), width))
    direction = dict(zip(named, unit(drawn), strict=True))
    return unit(np.array([sum(direction[trait] for trait in found) for found in traits]))


def unit(rows: np.ndarray) -> np.ndarray:
    """The same rows, of unit length."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def embed(texts: list[str]) -> np.ndarray:
    """Embed the texts as rows of unit length."""
    from rankjury.retrieval.embedding.models.wordllama import WordLlamaModel

    return unit(WordLlamaModel().embed(texts).astype(np.float64))


def embed_clips(clips: list[Clip], synonyms: dict[str, list[str]]) -> np.ndarray:
    """What seems to happen + how it looks + chance, as rows of unit length."""
    slips = random.Random(SEED)
    meant = embed([text_of(mistake(clip, slips), synonyms) for clip in clips])
    width = meant.shape[1]
    chance = np.random.default_rng([SEED, 2]).standard_normal(meant.shape) / np.sqrt(width)
    return unit(meant + LOOK * looks(clips, width) + CHANCE * chance)


def vectors_of(folder: Path) -> dict[str, np.ndarray]:
    """The arrays of ``vectors.npz``."""
    clips = read_clips(folder / "clips.csv")
    queries = read_queries(folder)
    synonyms = tomllib.loads((folder / "synonyms.toml").read_text("utf-8"))["synonyms"]
    return {
        "clips": embed_clips(list(clips.values()), synonyms).astype(np.float16),
        "queries": embed([query["text"] for query in queries]).astype(np.float16),
        "clips_ids": np.array(list(clips)),
        "queries_ids": np.array([query["query_id"] for query in queries]),
    }


def main() -> None:
    """Write the clips, or with --vectors the vectors of what is there."""
    parser = argparse.ArgumentParser(description="Make the driving sample.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the sample")
    parser.add_argument("--vectors", action="store_true", help="make the vectors instead of the clips")
    given = parser.parse_args()
    if given.vectors:
        np.savez_compressed(given.folder / "vectors.npz", **vectors_of(given.folder))
    else:
        (given.folder / "clips.csv").write_text(to_csv(compose()), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
