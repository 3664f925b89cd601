"""Fuzz surface of services: a search engine's HTTP interface that answers with damaged HTTP and JSON.

The ``endpoint`` engine asks a socket that answers whatever the case says, in time or not: it either has an answer or
raises a RankjuryError, and neither takes much longer than its timeout.
"""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from functools import cache
from random import Random
from threading import Thread
from time import monotonic, sleep
from typing import Any

import numpy as np
import polars as pl

from rankjury.retrieval.engines.endpoint import Endpoint
from tests.fuzz import inputs, mutators
from tests.fuzz.harness import Case, Surface, register

_TIMEOUT = 0.25
_AT_MOST = 2.0
_IDS = ("a", "b", "c")
_ANSWERS: tuple[tuple[Any, dict[str, str]], ...] = (
    ({"results": [{"id": "a", "score": 0.9}, {"id": "b", "score": 0.5}]}, {"score": "score"}),
    ({"hits": {"hits": [{"_id": "a"}, {"_id": "c"}]}}, {"results": "hits.hits", "id": "_id"}),
    ([["a", 0.9], ["b", 0.1]], {"results": ""}),
    (["c", "a"], {"results": ""}),
    ({"ids": [["b", "a"]]}, {"results": "ids.0"}),
    ({"results": [{"id": "a", "distance": 0.1}]}, {"score": "-distance", "unknown": "skip"}),
)


class SlowError(AssertionError):
    """A request that took longer than its timeout allows."""


class _Service:
    """A socket that answers every request with the same bytes."""

    def __init__(self) -> None:
        self.answer, self.drips = b"", False
        self.socket = socket.create_server(("127.0.0.1", 0))
        Thread(target=self._serve, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    def _serve(self) -> None:
        while True:
            connection, _ = self.socket.accept()
            Thread(target=self._reply, args=(connection, self.answer, self.drips), daemon=True).start()

    @staticmethod
    def _reply(connection: socket.socket, answer: bytes, drips: bool) -> None:
        with connection, suppress(OSError):
            connection.settimeout(_AT_MOST)
            connection.recv(65_536)
            if not drips:
                connection.sendall(answer)
                return
            until = monotonic() + 2 * _AT_MOST
            while monotonic() < until:
                connection.sendall(answer[:1] or b" ")
                answer = answer[1:]
                sleep(0.02)


@cache
def _service() -> _Service:
    return _Service()


def _seeds() -> list[Case]:
    _service()
    return [Case(options={"answer": _http(json.dumps(body)), "settings": settings}) for body, settings in _ANSWERS]


def _http(body: str, *lines: str, status: str = "200 OK", length: str | None = None) -> str:
    head = (f"HTTP/1.1 {status}", "Content-Type: application/json", *lines)
    size = len(body) if length is None else length
    return "\r\n".join((*head, f"Content-Length: {size}", "", body))


def _mutate(rng: Random, case: Case) -> Case:
    body, settings = rng.choice(_ANSWERS)
    text = json.dumps(body)
    kind = rng.randrange(10)
    if kind <= 4:
        text = mutators.mutate_json(rng, text.encode()).decode("latin-1")
        answer = _http(text)
    elif kind == 5:
        answer = _http(text, length=rng.choice(("0", "1", "-1", "x", "9" * 30, "99999", "", str(len(text) - 1), "1e3")))
    elif kind == 6:
        statuses = (
            "201 Created",
            "204 No Content",
            "301 Moved",
            "404 Not Found",
            "429 Slow",
            "500 Oops",
            "999 x",
            "x",
            "",
        )
        answer = _http(text, f"Location: {mutators.odd_text(rng)[:50]}".replace("\n", " "), status=rng.choice(statuses))
    elif kind == 7:
        sizes = ("5", "ffffffff", "-1", "x", "", "0", "5;ext=1", "10000000000000000000")
        chunk = f"{rng.choice(sizes)}\r\n{text}\r\n0\r\n\r\n"
        answer = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}"
    elif kind == 8:
        many = rng.choice(
            ("X: y\r\n" * 200, f"X: {'y' * 100_000}\r\n", "HTTP/1.1 100 Continue\r\n\r\n" * 300, " \r\n", "X\r\n")
        )
        answer = _http(text).replace("Content-Type", f"{many}Content-Type", 1)
        if many.startswith("HTTP"):
            answer = many + _http(text)
    else:
        answer = mutators.mutate_bytes(rng, _http(text).encode("latin-1")).decode("latin-1")
    if rng.random() < 0.2:
        settings = {
            **settings,
            rng.choice(("results", "id", "score")): rng.choice(("", "a.b", "0", "0.0", "-", "id.x", "9" * 20)),
        }
    answer = answer.encode("latin-1", "replace").decode("latin-1")
    return Case(options={"answer": answer, "settings": settings, "drips": rng.random() < 0.002})


def _call(case: Case) -> object:
    service = _service()
    service.answer, service.drips = case.options["answer"].encode("latin-1"), case.options.get("drips", False)
    url = f"http://127.0.0.1:{service.port}/search"
    began = monotonic()
    with inputs.settled():
        engine = Endpoint("cosine", {"url": url, "timeout": _TIMEOUT, **case.options["settings"]})
        try:
            engine.build(np.eye(3, dtype=np.float32), pl.Series(_IDS))
            found = engine.search(np.eye(3, dtype=np.float32)[:1], 2)
            engine.metadata()
        finally:
            engine.close()
            if monotonic() - began > _AT_MOST:
                raise SlowError(f"took {monotonic() - began:.1f} s with a timeout of {_TIMEOUT} s")
    return found


register(Surface("services", _seeds, _mutate, _call, quick=40))
