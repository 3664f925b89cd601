"""karat demo movielens: recommenders on the bundled log, or on a folder as GroupLens ships it."""

from pathlib import Path
from typing import Any

from karat.errors import DataError

__all__ = ["DEMO_FOLDER", "bundled", "own_log"]

DEMO_FOLDER = Path("karat-movielens")
_PICTURE = "recommenders.png"
_SYNTHETIC = """\
The log is synthetic: users, movies and ratings are drawn from a seed. The
numbers show what is reported, not which recommender is better.
"""
_MODELS: dict[str, dict[str, Any]] = {
    "popularity": {},
    "recent": {"model": "popularity", "params": {"days": 90.0}},
    "item-knn": {"optional": True},
    "ease": {"optional": True},
    "als": {"optional": True},
    "stars": {"model": "svd", "optional": True, "params": {"values": "ratings"}},
    "random": {},
}
_BEYOND = ["coverage@10", "novelty@10"]
_MEASURES = ["ndcg", "precision(rel=4)", "recall(rel=4)"]
_HEADLINE = ["ndcg@10", "precision(rel=4)@10", "recall(rel=4)@10"]


def bundled(folder: Path, output: Path, *, quiet: bool) -> None:
    """Run the sample's plan, after saying that its log is synthetic; its report and its page of figures are written."""
    from karat.cli.run_plan import carry_out

    print(_SYNTHETIC, flush=True)
    again = "" if folder == output else "karat demo movielens --keep movielens, then "
    plan = f"{output if folder == output else 'movielens'}/karat.toml"
    next_step = f"Next: open {output / _PICTURE}; {again}karat tune {plan}"
    carry_out(str(folder / "karat.toml"), output, strict=False, as_json=False, quiet=quiet, next_step=next_step)


def own_log(folder: Path, output: Path | None, *, quiet: bool) -> None:
    """The same on a MovieLens release that lies in a folder; nothing is downloaded."""
    from karat.cli.run_plan import carry_out_content
    from karat.interactions.folders import find_companions

    if not folder.exists():
        raise DataError(
            "no such folder", where=str(folder), expected="a MovieLens release: ratings.dat, ratings.csv or u.data"
        )
    items, users = find_companions(folder)
    beyond = [*_BEYOND, *(["diversity@10"] if items else [])]
    content: dict[str, Any] = {
        "name": folder.resolve().name,
        "baseline": "popularity",
        "measures": [*_MEASURES, *beyond],
        "cutoffs": [5, 10, 20],
        "headline": [*_HEADLINE, *beyond],
        "gold": {
            "kind": "interactions",
            "path": str(folder),
            **({"items": str(items)} if items else {}),
            **({"users": str(users)} if users else {}),
        },
        "systems": {name: {"kind": "recommender", "model": name, **more} for name, more in _MODELS.items()},
        "outputs": ["report.html", "report.json", "report.md"],
        "output": [{"file": _PICTURE, "form": "recommenders"}],
    }
    place = output or DEMO_FOLDER
    carry_out_content(
        content, place, as_json=False, quiet=quiet, next_step=f"Next: open {place / _PICTURE}; karat audit {folder}"
    )
