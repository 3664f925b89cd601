"""Router of the pages: addresses and what they show; no address is a path of a file."""

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
from rankjury.tracking.view.open_run import MAX_ROWS, LruCache, OpenRun, RowRequest
from rankjury.tracking.view.overview import RunCatalog, history_context, list_context, running_json
from rankjury.tracking.view.server import PageRequest, PageResponse, RequestRefused, json_response, page_response

_MAX_OFFSET = 100_000_000
_SECONDS_BEFORE_WAITING = 1.0


class Router:
    """Router that answers requests for the pages over a catalog of runs."""

    def __init__(self, catalog: RunCatalog) -> None:
        METRICS.load_own()  # now, so that no request waits for it
        import_module("numpy.ma")  # Polars imports it when it first takes an array
        self.catalog = catalog
        self._rendered: LruCache[tuple[str, tuple[str, ...]], PageResponse] = LruCache(4)
        self._lists: LruCache[Hashable, PageResponse] = LruCache(32)
        self._pairs: LruCache[tuple[str, str], RunPair] = LruCache(3)
        self._side_by_side: LruCache[tuple[RunPair, str], SideBySide] = LruCache(3)

    def __call__(self, request: PageRequest) -> PageResponse:
        match request.parts:
            case ("",):
                return self._overview(request, "view_list.html", list_context)
            case ("history",):
                return self._overview(request, "view_history.html", history_context)
            case ("compare",):
                return self._compare(*_two_runs(request), request.text("systems") or CHANGED)
            case ("run", name):
                return self._run(name)
            case ("static", name) if name in STATIC:
                kind, content = STATIC[name]
                return PageResponse(200, kind, content().encode())
            case ("api", "running"):
                return json_response(running_json(self.catalog))
            case ("api", "run", name, what):
                return _query_data(self.catalog.open(name), what, request)
            case ("api", "compare", before, after, which, what):
                return _query_data(self._compared(before, after, which), what, request)
        raise RequestRefused(404, "there is nothing at this address")

    def _overview(
        self, request: PageRequest, template: str, context: Callable[[RunCatalog, PageRequest], Any]
    ) -> PageResponse:
        """Return a page over all runs, rendered once for each state of the archive."""
        key = request.key, self.catalog.state
        return self._lists.get(key, lambda: page_response(template, context(self.catalog, request)))

    def _compare(self, before: str, after: str, which: str) -> PageResponse:
        """Return the page of a comparison, or one that reloads until the comparison is done."""
        if self._pair(before, after).is_ready(_SECONDS_BEFORE_WAITING):
            return page_response("view_compare.html", comparison_context(self._compared(before, after, which)))
        page = page_response("view_wait.html", {"title": "Two runs are being compared"})
        return replace(page, headers={"Refresh": "1"})

    def _pair(self, before: str, after: str) -> RunPair:
        runs = self.catalog.open(before), self.catalog.open(after)
        return self._pairs.get((str(runs[0].run.path), str(runs[1].run.path)), lambda: RunPair(*runs))

    def _compared(self, before: str, after: str, which: str) -> SideBySide:
        pair = self._pair(before, after)
        return self._side_by_side.get((pair, which), lambda: SideBySide(pair, which))

    def _run(self, name: str) -> PageResponse:
        """Return the page of a run, rendered again when the history of its plan changes."""
        opened = self.catalog.open(name)
        of_plan = [run for run in self.catalog.runs() if run.plan == opened.run.plan]
        charted = of_plan[-100:]
        names, baseline = [run.name for run in of_plan], self.catalog.baselines().get(opened.run.plan)
        before = names[: names.index(name)] if name in names else []
        other: tuple[str, ...] = ("the run before", before[-1]) if before else ()
        if baseline in names and baseline != name:
            other = "the baseline", baseline
        key = (str(opened.run.path), (*(run.name for run in charted), *other))
        return self._rendered.get(key, lambda: _run_page(opened, charted, other))


def _run_page(opened: OpenRun, charted: Sequence[ArchivedRun], other: tuple[str, ...]) -> PageResponse:
    """Return the page of the stored file, but with a script that asks the server.

    ``other`` is a description and the name of the run that this one is best compared with, if any.
    """
    run = opened.run
    history = history_charts(charted, run.headline[0]) if run.headline else []
    context = page_context(opened.report, opened.examples(), manifest=run.manifest, history=history)
    about = context["about"] | {"api": f"/api/run/{quote(run.name)}", "large": opened.lists_no_gold}
    crumbs = [("Runs", "/"), (run.plan, f"/?plan={quote(run.plan)}"), ("History", f"/history?plan={quote(run.plan)}")]
    if other:
        crumbs.append((f"Compare with {other[0]}", f"/compare?{urlencode({'a': other[1], 'b': run.name})}"))
    context |= {"about": embed_json(about), "crumbs": crumbs, "subtitle": f"{context['subtitle']} · {run.name}"}
    return page_response("report.html", context)


def _two_runs(request: PageRequest) -> tuple[str, str]:
    """Return ``a`` and ``b``, or ``run`` twice: the earlier first, as names begin with the time."""
    names = [name for name in (request.text("a"), request.text("b")) if name] or sorted(request.all("run"))
    if len(names) != 2:
        raise RequestRefused(400, "two runs can be compared: choose two")
    return names[0], names[1]


def _query_data(source: OpenRun | SideBySide, what: str, request: PageRequest) -> PageResponse:
    """Return ``rows`` or a ``query`` for the script of a page."""
    if what == "rows":
        rows = RowRequest(
            request.text("label"),
            request.text("sort", "row"),
            request.switch("down"),
            request.text("text"),
            request.number("slice", 0, _MAX_OFFSET) if request.text("slice") else None,
            request.number("offset", 0, _MAX_OFFSET),
            request.number("limit", 20, MAX_ROWS),
            request.text("find"),
        )
        return json_response(source.table.rows(rows))
    if what == "query":
        query = source.query(request.text("id"))
        if query is None:
            raise RequestRefused(404, "there is no such query")
        return json_response(query)
    raise RequestRefused(404, "there is nothing at this address")


def _asset(name: str) -> Callable[[], str]:
    return lambda: (files("rankjury.reporting.html") / "assets" / name).read_text(encoding="utf-8")


STATIC: dict[str, tuple[str, Callable[[], Any]]] = {
    "page.css": ("text/css; charset=utf-8", page_style),
    "view.css": ("text/css; charset=utf-8", _asset("view.css")),
    "page.js": ("text/javascript; charset=utf-8", page_script),
    "view.js": ("text/javascript; charset=utf-8", _asset("view.js")),
}
"""Files by name: media type, and a function that returns the content."""
