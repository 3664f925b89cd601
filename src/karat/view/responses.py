"""What is answered: a page, JSON or a file, always under the same strict headers."""

import json
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from karat.reports.html.rendering import rendered

__all__ = ["HEADERS", "Response", "as_json", "as_page", "trouble"]

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Nothing but our own script and style runs, nobody frames or reads it from elsewhere, and nothing is kept."""
_TITLES = {400: "This cannot be read", 403: "Not for you", 404: "There is no such page", 500: "Something went wrong"}


@dataclass(frozen=True)
class Response:
    status: int
    kind: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def as_page(template: str, context: dict[str, Any], status: int = 200) -> Response:
    """A page by its template."""
    text = rendered(template, context, inline=False)
    return Response(status, "text/html; charset=utf-8", text.encode("utf-8", "replace"))


def as_json(form: Any, status: int = 200) -> Response:
    text = json.dumps(_plain(form), separators=(",", ":"), allow_nan=False)
    return Response(status, "application/json", text.encode("ascii"))


def trouble(status: int, message: str, *, to_script: bool = False) -> Response:
    """Why there is nothing to see; no word of how karat came to it."""
    headers = {"Allow": "GET, HEAD"} if status == 405 else {}
    if to_script:
        return Response(status, "application/json", as_json({"error": message}).body, headers)
    title = _TITLES.get(status, "This is not answered")
    page = as_page("view_trouble.html", {"title": title, "message": message}, status)
    return Response(status, page.kind, page.body, headers)


def _plain(value: Any) -> Any:
    """JSON knows no infinity, and no NaN."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
