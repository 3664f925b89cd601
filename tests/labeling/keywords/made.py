"""Files that several tests of golds read."""

from pathlib import Path


def written(folder: Path, text: str, name: str = "clips.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
