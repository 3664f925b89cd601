"""Which address shows what. A table of routes; nothing is found by a path."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from rankjury.measures.measure import METRICS
from rankjury.reporting.html import embed_json, page_script, page_style
from rankjury.reporting.html.page import page_context
from rankjury.tracking.archive.history import history_charts
from rankjury.tracking.archive.run import ArchivedRun
from rankjury.tracking.view.compare import CHANGED, RunPair, SideBySide, comparison_context
from rankjury.tracking.view.open_run import MOST_ROWS, LruCache, OpenRun, RowRequest
from rankjury.tracking.view.overview import RunCatalog, history_context, list_context, running_json
from rankjury.tracking.view.server import PageRequest, PageResponse, RequestRefused, json_response, page_response

_MOST_OFFSET = 100_000_000
_RUNS_IN_A_CHART = 100
_COMPARED_KEPT = 3
_PAGES_KEPT = 4
_LISTS_KEPT = 32
_SECONDS_BEFORE_WAITING = 1.0


class Router:
    """Answers requests for the pages over a shelf."""

    def __init__(self, shelf: RunCatalog) -> None:
        METRICS.load_own()  # now, so that no request waits for it
        import_module("numpy.ma")  # Polars imports it when it first takes an array
        self.shelf = shelf
        self._rendered: LruCache[tuple[str, tuple[str, ...]], PageResponse] = LruCache(_PAGES_KEPT)
        self._lists: LruCache[Hashable, PageResponse] = LruCache(_LISTS_KEPT)
        self._pairs: LruCache[tuple[str, str], RunPair] = LruCache(_COMPARED_KEPT)
        self._beside_each_other: LruCache[tuple[RunPair, str], SideBySide] = LruCache(_COMPARED_KEPT)

    def __call__(self, request: PageRequest) -> PageResponse:
        parts = request.parts
        match parts:
            case ("",):
                return self._over_runs(request, "view_list.html", list_context)
            case ("history",):
                return self._over_runs(request, "view_history.html", history_context)
            case ("compare",):
                return self._compare(*_two(request), request.text("systems") or CHANGED)
            case ("run", name):
                return self._run(name)
            case ("static", name) if name in STATIC:
                kind, content = STATIC[name]
                return PageResponse(200, kind, content().encode())
            case ("api", "running"):
                return json_response(running_json(self.shelf))
            case ("api", "run", name, what):
                return _of_queries(self.shelf.open(name), what, request)
            case ("api", "compare", before, after, which, what):
                return _of_queries(self._beside(before, after, which), what, request)
        raise RequestRefused(404, "there is nothing at this address")

    def _over_runs(
        self, request: PageRequest, template: str, context: Callable[[RunCatalog, PageRequest], Any]
    ) -> PageResponse:
        """A page over all runs, made once for each state of the archive: many ask for the same."""
        key = request.key, self.shelf.state
        return self._lists.get(key, lambda: page_response(template, context(self.shelf, request)))

    def _compare(self, before: str, after: str, which: str) -> PageResponse:
        """The page, or one that comes again until the comparison is done."""
        if self._pair(before, after).is_ready(_SECONDS_BEFORE_WAITING):
            return page_response("view_compare.html", comparison_context(self._beside(before, after, which)))
        page = page_response("view_wait.html", {"title": "Two runs are being compared"})
        return replace(page, headers={"Refresh": "1"})

    def _pair(self, before: str, after: str) -> RunPair:
        runs = self.shelf.open(before), self.shelf.open(after)
        return self._pairs.get((str(runs[0].run.path), str(runs[1].run.path)), lambda: RunPair(*runs))

    def _beside(self, before: str, after: str, which: str) -> SideBySide:
        pair = self._pair(before, after)
        return self._beside_each_other.get((pair, which), lambda: SideBySide(pair, which))

    def _run(self, name: str) -> PageResponse:
        """A run does not change, but its plan's history does."""
        opened = self.shelf.open(name)
        every = [one for one in self.shelf.runs() if one.plan == opened.run.plan]
        plan = every[-_RUNS_IN_A_CHART:]
        other = _other(opened.run, every, self.shelf.baselines().get(opened.run.plan))
        key = (str(opened.run.path), (*(run.name for run in plan), *other))
        return self._rendered.get(key, lambda: _run_page(opened, plan, other))


def _other(run: ArchivedRun, plan: Sequence[ArchivedRun], baseline: str | None) -> tuple[str, ...]:
    """What it can be compared with: what that is, and its name."""
    names = [one.name for one in plan]
    if baseline in names and baseline != run.name:
        return "the baseline", baseline
    before = names[: names.index(run.name)] if run.name in names else []
    return ("the run before", before[-1]) if before else ()


def _run_page(opened: OpenRun, plan: Sequence[ArchivedRun], other: tuple[str, ...]) -> PageResponse:
    """The same page as the file, but that its script asks the server."""
    run = opened.run
    history = history_charts(plan, run.headline[0]) if run.headline else []
    context = page_context(opened.report, opened.examples(), manifest=run.manifest, history=history)
    about = context["about"] | {"api": f"/api/run/{quote(run.name)}", "large": opened.lists_no_gold}
    ways = [("Runs", "/"), (run.plan, f"/?plan={quote(run.plan)}"), ("History", f"/history?plan={quote(run.plan)}")]
    if other:
        ways.append((f"Compare with {other[0]}", f"/compare?{urlencode({'a': other[1], 'b': run.name})}"))
    context |= {"about": embed_json(about), "crumbs": ways, "subtitle": f"{context['subtitle']} · {run.name}"}
    return page_response("report.html", context)


def _two(request: PageRequest) -> tuple[str, str]:
    """``a`` and ``b``, or ``run`` twice: the earlier first, as names begin with the time."""
    chosen = sorted(request.all("run"))
    found = tuple(one for one in (request.text("a"), request.text("b")) if one) or tuple(chosen)
    if len(found) != 2:
        raise RequestRefused(400, "two runs can be compared: choose two")
    return found[0], found[1]


def _of_queries(source: OpenRun | SideBySide, what: str, request: PageRequest) -> PageResponse:
    """``rows`` or ``query``: what the script of a page asks for."""
    if what == "rows":
        asked = RowRequest(
            request.text("label"),
            request.text("sort", "row"),
            request.switch("down"),
            request.text("text"),
            request.number("slice", 0, _MOST_OFFSET) if request.text("slice") else None,
            request.number("offset", 0, _MOST_OFFSET),
            request.number("limit", 20, MOST_ROWS),
            request.text("find"),
        )
        return json_response(source.table.rows(asked))
    if what == "query":
        found = source.query(request.text("id"))
        if found is None:
            raise RequestRefused(404, "nobody asked this")
        return json_response(found)
    raise RequestRefused(404, "there is nothing at this address")


def _asset(name: str) -> Callable[[], str]:
    return lambda: (files("rankjury.reporting.html") / "assets" / name).read_text(encoding="utf-8")


STATIC: dict[str, tuple[str, Callable[[], Any]]] = {
    "page.css": ("text/css; charset=utf-8", page_style),
    "view.css": ("text/css; charset=utf-8", _asset("view.css")),
    "page.js": ("text/javascript; charset=utf-8", page_script),
    "view.js": ("text/javascript; charset=utf-8", _asset("view.js")),
}
"""All files that there are."""
