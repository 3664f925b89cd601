"""Kills karat run again and again: python -m tests.archive.killing FOLDER KILLS SEED

Everything is imported once; each run is a fork that carries out the plan, and is killed (SIGKILL) at a random moment:
two thirds of them while the archive is being written. Nothing is computed before the fork, since threads do not live on
in it. Prints how many were killed, and how many of them left something half written behind, as JSON.
"""

import json
import os
import random
import signal
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["POLARS_MAX_THREADS"] = "1"
warnings.simplefilter("ignore")

from karat.archive import Archive, storing  # noqa: E402
from karat.cli import run_plan  # noqa: E402

USED = (
    *(
        "karat.archive.contents",
        "karat.archive.manifest",
        "karat.archive.reading",
        "karat.assessment",
        "karat.view.trends",
    ),
    *("karat.plan.archiving", "karat.plan.execution", "karat.plan.kinds", "karat.plan.outputs", "karat.reports.gate"),
    *("karat.reports.console", "karat.reports.html.rendering", "rich.console", "rich.table", "rich.box", "rich.text"),
    "karat.view.trends",
)


def preload() -> None:
    """What a run imports, and the templates of its page."""
    for module in USED:
        import_module(module)
    from karat.plan.model import plan_model
    from karat.reports.html.rendering import _environment

    plan_model()
    for template in ("base.html", "macros.html", "report.html"):
        _environment().get_template(template)


def carry_out(folder: Path, begins: Callable[[], None]) -> None:
    """In the child: the command, which says when it begins to write the archive."""
    os.chdir(folder)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    real = storing.make_archive

    def told(archive: Path) -> Path:
        begins()
        return real(archive)

    storing.make_archive = told
    run_plan.carry_out(
        "plan.toml", None, strict=False, as_json=False, quiet=True, next_step=None, archive=Archive(Path(".karat"))
    )


def fork(folder: Path) -> tuple[int, int]:
    """A child that carries out the plan, and a pipe that tells when it writes, and that it is done."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    os.close(reader)
    code = 1
    try:
        carry_out(folder, lambda: (os.write(writer, b"w"), None)[1])
        code = 0
    finally:
        os._exit(code)


def whole(folder: Path) -> tuple[float, float]:
    """How long a run takes until it writes, and how long it then takes to write."""
    started = time.monotonic()
    child, reader = fork(folder)
    assert os.read(reader, 1) == b"w", "the run failed before it wrote anything"
    began = time.monotonic()
    _, status = os.waitpid(child, 0)
    os.close(reader)
    assert status == 0, f"the run ended with {status}"
    return began - started, time.monotonic() - began


def main(folder: Path, kills: int, seed: int) -> None:
    preload()
    chance = random.Random(seed)
    times = [whole(folder) for _ in range(3)]
    before, writing = (sorted(column)[1] for column in zip(*times, strict=True))
    half = 0
    for number in range(kills):
        child, reader = fork(folder)
        if number % 3:
            os.read(reader, 1)
            time.sleep(chance.uniform(0, 1.1 * writing))
        else:
            time.sleep(chance.uniform(0, 1.1 * (before + writing)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)
        half += bool(list((folder / ".karat" / "runs").glob(".*.part")))
    print(json.dumps({"kills": kills, "half": half, "writing": writing, "before": before}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
