"""Starts rankjury view over an archive, asks it over the wire, and prints milliseconds as JSON.

`first` is the first time that something is asked of a server that was just started; the later times ask for something
else each time: another order, another word, another query.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

Results = dict[str, Any]
LABEL, OTHER = "ndcg@10", "rr@10"
SORTS = (
    *("loss", "gain", "difference:1", "difference:2", "difference:3"),
    *("score:0", "score:1", "score:2", "score:3", "row"),
)
CLIENTS, OPENED = 50, 3
"""In the measurement of load: who asks at once, and how many runs they have open."""
SORTS_OF_TWO = ("loss", "gain", "difference:1", "score:0", "score:1", "row")
WORDS = ("ba", "de", "ki", "lo", "mu", "na", "po", "ra", "se", "ti", "vo", "wa")


class Asker:
    """One connection, as a browser keeps it."""

    def __init__(self, url: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc)

    def ask(self, target: str) -> tuple[float, bytes]:
        """Milliseconds until all of the answer has come, and the answer."""
        start = time.perf_counter()
        self.connection.request("GET", target)
        answer = self.connection.getresponse()
        body = answer.read()
        took = 1_000 * (time.perf_counter() - start)
        if answer.status != http.client.OK:
            raise SystemExit(f"{answer.status} {answer.reason}: {target}")
        return took, body

    def json(self, target: str) -> Any:
        return json.loads(self.ask(target)[1])


@contextmanager
def viewing(archive: Path) -> Iterator[Asker]:
    """A server of its own."""
    command = [sys.executable, "-m", "rankjury", "view", "--no-browser", "--archive", str(archive)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield Asker(process.stdout.readline().strip())
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def rows_target(api: str, number: int, sorts: Sequence[str]) -> str:
    """Another question each time; every third with a word, every fourth in a slice."""
    asked = {
        "label": OTHER if number % 5 == 4 else LABEL,
        "sort": sorts[number % len(sorts)],
        "down": "true" if number // len(sorts) % 2 else "false",
        "text": WORDS[number % len(WORDS)] if number % 3 == 2 else "",
        "slice": str(number % 8) if number % 4 == 3 else "",
        "offset": str(20 * (number % 50)),
        "limit": "20",
    }
    return f"{api}/rows?{urlencode(asked)}"


def times(asker: Asker, targets: list[str]) -> Results:
    first, *later = [asker.ask(target)[0] for target in targets]
    return {"first": first, "median": sorted(later)[len(later) // 2], "most": max(later)}


def of_queries(asker: Asker, api: str, rounds: int, sorts: Sequence[str]) -> Results:
    found = {"rows": times(asker, [rows_target(api, number, sorts) for number in range(rounds + 1)])}
    asked = {"label": LABEL, "sort": "loss", "limit": rounds + 1}
    ids = [row["id"] for row in asker.json(f"{api}/rows?{urlencode(asked)}")["rows"]]
    return found | {"query": times(asker, [f"{api}/query?id={quote(id_)}" for id_ in ids])}


def measure_run(archive: Path, name: str, rounds: int) -> Results:
    api = f"/api/run/{quote(name)}"
    with viewing(archive) as asker:
        found = of_queries(asker, api, rounds, SORTS)
        found["page"] = times(asker, [f"/run/{quote(name)}"] * 3)
    return found


def measure_compare(archive: Path, names: list[str], rounds: int) -> Results:
    page = f"/compare?{urlencode({'a': names[0], 'b': names[1]})}"
    with viewing(archive) as asker:
        start = time.perf_counter()
        while b'id="comparison-table"' not in asker.ask(page)[1]:
            pass
        waited = 1_000 * (time.perf_counter() - start)
        found = {"page": times(asker, [page] * 3) | {"first": waited}}
        return found | of_queries(
            asker, f"/api/compare/{quote(names[0])}/{quote(names[1])}/changed", rounds, SORTS_OF_TWO
        )


def measure_runs(archive: Path, rounds: int) -> Results:
    with viewing(archive) as asker:
        return {
            "list": times(asker, [f"/?page={1 + number % 9}" for number in range(rounds + 1)]),
            "filtered": times(asker, [f"/?text={number}" for number in range(rounds + 1)]),
            "at work": times(asker, ["/api/running"] * (rounds + 1)),
            "history": times(asker, ["/history"] * 4),
        }


def load_targets(names: Sequence[str], label: str, number: int) -> list[str]:
    """What one of many does: looks through the list, filters it, opens a run and its queries, and comes back."""
    name = quote(names[-1 - number % OPENED])
    api = f"/api/run/{name}"
    return [
        "/",
        f"/?page={2 + number % 9}",
        "/api/running",
        f"/?text={WORDS[number % len(WORDS)]}",
        f"/run/{name}",
        f"{api}/rows?label={quote(label)}&sort=loss",
        f"{api}/rows?label={quote(label)}&sort=score%3A0&text={number % 10}",
        "/api/running",
        "/history",
    ]


def measure_load(archive: Path, names: Sequence[str], label: str, rounds: int) -> Results:
    """So many clients at once, each with one connection and asking the next as soon as it is answered."""
    with viewing(archive) as asker:
        netloc = asker.connection.host, asker.connection.port
        asker.ask("/")
        together = threading.Barrier(CLIENTS)

        def client(number: int) -> list[float]:
            own = Asker(f"http://{netloc[0]}:{netloc[1]}/")
            targets = load_targets(names, label, number)
            places = [(number + place) % len(targets) for place in range(rounds * len(targets))]
            together.wait()
            return [own.ask(targets[place])[0] for place in places]

        with ThreadPoolExecutor(CLIENTS) as threads:
            start = time.perf_counter()
            took = sorted(one for own in threads.map(client, range(CLIENTS)) for one in own)
            seconds = time.perf_counter() - start
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    found = {name: took[min(len(took) - 1, int(share * len(took)))] for name, share in shares.items()}
    return found | {"most": took[-1], "requests": len(took), "per_second": len(took) / seconds}


def measure(archive: Path, part: str, rounds: int) -> Results:
    from rankjury.tracking.archive.archive import Archive

    runs = Archive(archive).runs()
    names = [run.name for run in runs]
    size = f"{runs[0].manifest['queries']:,} queries x {len(runs[0].systems)} systems"
    if part == "load":
        asked = measure_load(archive, names, runs[0].headline[0], rounds)
        return {"about": f"{CLIENTS} clients over {len(runs):,} runs", "asked": asked}
    if part == "runs":
        return {"about": f"{len(runs):,} runs", "asked": measure_runs(archive, rounds)}
    if part == "compare":
        return {"about": f"two runs of {size}", "asked": measure_compare(archive, names[:2], rounds)}
    return {"about": size, "asked": measure_run(archive, names[0], rounds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--part", choices=("run", "compare", "runs", "load"), required=True)
    parser.add_argument("--rounds", type=int, default=20)
    print(json.dumps(measure(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
