"""The list of runs: newest first, filtered and cut into pages here, so that thousands are no strain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from karat.archive import Run
from karat.archive.files import shown_time
from karat.reports.html.figures import bounds_of
from karat.view.requests import Request
from karat.view.shelf import Shelf
from karat.wording import bounds_shown, count, decimals_of, figure_shown

__all__ = ["Line", "Mean", "commit_of", "fingerprint_of", "list_context", "means_of", "running_form"]

PAGE = 50
_MOST_PAGES = 1_000_000
_MOST_MEANS = 5
_MOST_SEARCHED = 20_000
_COMMIT_SHOWN = 7


@dataclass(frozen=True)
class Mean:
    """A system under the first measure of a run."""

    system: str
    value: str
    ci: str


@dataclass(frozen=True)
class Line:
    """A run in a list."""

    name: str
    time: str
    plan: str
    verdict: str | None
    measure: str
    means: tuple[Mean, ...]
    more: int
    """How many systems are not told."""
    is_baseline: bool
    same_as: str | None
    """An earlier run of the same plan and inputs."""
    commit: str
    queries: str


def list_context(shelf: Shelf, request: Request) -> dict[str, Any]:
    """What ``/`` shows: parameters ``text``, ``plan``, ``run`` (only these) and ``page``."""
    text, plan, only = request.text("text"), request.text("plan"), request.all("run")
    page = request.number("page", 1, _MOST_PAGES)
    runs = shelf.runs()
    found = [run for run in reversed(runs) if _fits(run, text.lower().split(), plan, only)]
    pages = max(1, -(-len(found) // PAGE))
    page = min(max(page, 1), pages)
    shown = found[(page - 1) * PAGE : page * PAGE]
    baselines = shelf.baselines()
    asked = [("text", text), ("plan", plan), *(("run", name) for name in only)]
    held = [(key, value) for key, value in asked if value]
    lines = [line_of(run, baselines) for run in shown]
    return {
        "title": "Runs",
        "lines": lines,
        "commits": any(line.commit for line in lines),
        "told": count(len(found), "run", "runs") + (f" of {len(runs):,}" if len(found) < len(runs) else ""),
        "total": len(runs),
        "plans": sorted({run.plan for run in runs}),
        "text": text,
        "plan": plan,
        "only": only,
        "page": page,
        "pages": pages,
        "earlier": f"/?{urlencode([*held, ('page', page + 1)])}" if page < pages else None,
        "later": f"/?{urlencode([*held, ('page', page - 1)])}" if page > 1 else None,
        "damaged": shelf.damaged(),
        "fingerprint": fingerprint_of(runs, baselines),
        "archive": str(shelf.archive.path),
    }


def _fits(run: Run, words: Sequence[str], plan: str, only: Sequence[str]) -> bool:
    if (plan and run.plan != plan) or (only and run.name not in only):
        return False
    return not words or all(word in _searched(run) for word in words)


@lru_cache(maxsize=_MOST_SEARCHED)
def _searched(run: Run) -> str:
    """What a filter looks at; a run does not change."""
    commit = (run.manifest.get("git") or {}).get("commit") or ""
    return "\n".join((run.name, run.plan, run.verdict or "", shown_time(run.time), commit, *run.systems)).lower()


def line_of(run: Run, baselines: Mapping[str, str]) -> Line:
    means = means_of(run)
    same = run.manifest.get("same_inputs_as")
    queries = run.manifest.get("queries")
    return Line(
        run.name,
        shown_time(run.time),
        run.plan,
        run.verdict,
        next(iter(run.headline), ""),
        tuple(means[:_MOST_MEANS]),
        max(0, len(means) - _MOST_MEANS),
        baselines.get(run.plan) == run.name,
        str(same) if same else None,
        commit_of(run),
        f"{queries:,}" if isinstance(queries, int) else "",
    )


def means_of(run: Run) -> list[Mean]:
    """Under the first of its headline measures; a random order is not told, unless there is nothing else."""
    label = next(iter(run.headline), "")
    chance = set(run.manifest.get("by_chance") or ())
    systems = [name for name in run.systems if name not in chance] or run.systems
    found = []
    for name in systems:
        entry = run.manifest["summary"][name].get(label)
        if entry is not None and entry.get("mean") is not None:
            ci = bounds_of(entry)
            shown = figure_shown(entry["mean"], decimals_of(ci))
            found.append(Mean(name, shown, bounds_shown(ci) if ci else ""))
    return found


def commit_of(run: Run) -> str:
    """The beginning of the commit, with a plus where the work tree differed from it."""
    git = run.manifest.get("git") or {}
    return str(git.get("commit") or "")[:_COMMIT_SHOWN] + ("+" if git.get("dirty") else "")


def fingerprint_of(runs: Sequence[Run], baselines: Mapping[str, str]) -> str:
    """Differs where the list does: a page that shows it is told to look again."""
    last = runs[-1].name if runs else ""
    return f"{len(runs)} {last} {' '.join(f'{plan}={name}' for plan, name in sorted(baselines.items()))}"


def running_form(shelf: Shelf) -> dict[str, Any]:
    """What ``/api/running`` answers: plans at work, and what the list of runs is by now."""
    runs = shelf.runs()
    kept = ("name", "started", "updated", "what", "done", "of")
    found = [{key: one.get(key) for key in kept} for one in shelf.running()]
    return {"running": found, "runs": fingerprint_of(runs, shelf.baselines())}
