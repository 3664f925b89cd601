"""What was asked for, taken apart and checked: who asks, by which name, for which page, with which parameters."""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

__all__ = ["Refused", "Request", "allowed_hosts", "check_origin", "check_request_line", "request_of"]

_LINE = re.compile(rb"^([A-Z]{1,20}) (/[\x21-\x7e]*) HTTP/1\.[01]\r?\n$")
_MOST_PARAMETERS = 32
_LONGEST_PARAMETER = 20_000
_OWN = ("same-origin", "none")
_NEEDLESS = re.compile("%(?:2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])", re.IGNORECASE)
"""A letter, digit, ``-``, ``.``, ``_`` or ``~`` that is percent-encoded: no browser and no page of ours does so."""


class Refused(Exception):  # noqa: N818 - reads as what it says
    """A request that is not answered: the status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Request:
    """A path in its parts, decoded one by one, and parameters."""

    parts: tuple[str, ...]
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def key(self) -> Hashable:
        """Equal for requests of the same."""
        return self.parts, tuple(sorted(self.parameters.items()))

    @property
    def is_of_script(self) -> bool:
        """Whether only a script of our own pages asks for it."""
        return self.parts[0] == "api"

    def text(self, name: str, otherwise: str = "") -> str:
        """A parameter that stands once."""
        found = self.parameters.get(name, (otherwise,))
        if len(found) > 1:
            raise Refused(400, f"{name} was given {len(found)} times")
        return found[0]

    def all(self, name: str) -> tuple[str, ...]:
        """A parameter that may repeat; empty ones do not count."""
        return tuple(one for one in self.parameters.get(name, ()) if one)

    def number(self, name: str, otherwise: int, most: int) -> int:
        """A whole number from 0 to ``most``."""
        text = self.text(name)
        if not text:
            return otherwise
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) <= most):
            raise Refused(400, f"{name} must be a whole number from 0 to {most:,}")
        return int(text)

    def switch(self, name: str) -> bool:
        text = self.text(name, "false")
        if text not in ("true", "false"):
            raise Refused(400, f"{name} must be true or false")
        return text == "true"


def check_request_line(line: bytes) -> str:
    """The address of a request in the usual form; anything else is refused before its headers are read."""
    found = _LINE.match(line)
    if found is None:
        raise Refused(400, "this is no request that a browser makes")
    if found[1] not in (b"GET", b"HEAD"):
        raise Refused(405, "here one can only look: GET and HEAD")
    return found[2].decode("ascii")


def request_of(target: str) -> Request:
    """``/run/a%20b?x=1`` → its parts and parameters. A slash that is encoded stays within its part."""
    path, _, query = target.partition("?")
    if _NEEDLESS.search(path):  # two spellings of an address: one of them would pass a check by the other
        raise Refused(404, "there is nothing at this address")
    try:
        parts = tuple(unquote(part, errors="strict") for part in path[1:].split("/"))
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        raise Refused(400, "the address cannot be read") from error
    parameters: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        if len(name) > _LONGEST_PARAMETER or len(value) > _LONGEST_PARAMETER:
            raise Refused(400, "a parameter is too long")
        parameters[name] = (*parameters.get(name, ()), value)
    return Request(parts, parameters)


def allowed_hosts(port: int) -> frozenset[str]:
    """How this machine calls itself. By another name a page from elsewhere would pass for ours (DNS rebinding)."""
    names = ("127.0.0.1", "localhost", "[::1]")
    return frozenset((*(f"{name}:{port}" for name in names), *(names if port == 80 else ())))


def check_origin(hosts: frozenset[str], origins: Sequence[str], sites: Sequence[str]) -> None:
    """Refuse what a page from elsewhere asks for; browsers tell by ``Origin`` and ``Sec-Fetch-Site``."""
    if any(origin.lower() not in {f"http://{host}" for host in hosts} for origin in origins):
        raise Refused(403, "this is for pages of its own only")
    if any(site.lower() not in _OWN for site in sites):
        raise Refused(403, "this is for pages of its own only")
