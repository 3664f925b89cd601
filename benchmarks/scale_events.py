"""What the tasks of a Spark job took, from the events that Spark logs. Uses the standard library only."""

from __future__ import annotations

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import Results

SETTINGS = """
spark.eventLog.enabled          true
spark.eventLog.dir              {folder}
spark.eventLog.compress         false
spark.eventLog.rolling.enabled  false
"""


@contextmanager
def logged() -> Iterator[Path]:
    """A folder in which every Spark that is started meanwhile leaves its events."""
    before = os.environ.get("SPARK_CONF_DIR")
    with tempfile.TemporaryDirectory(prefix="rankjury-events-") as name:
        folder = Path(name) / "events"
        folder.mkdir()
        (Path(name) / "spark-defaults.conf").write_text(SETTINGS.format(folder=folder.as_uri()))
        os.environ["SPARK_CONF_DIR"] = name
        try:
            yield folder
        finally:
            del os.environ["SPARK_CONF_DIR"]
            if before is not None:
                os.environ["SPARK_CONF_DIR"] = before


def steps_of(folder: Path) -> dict[str, Results]:
    """Seconds of tasks, and bytes that were shuffled and sent back, added up by step."""
    found: dict[str, Results] = defaultdict(lambda: {"seconds": 0.0, "shuffled": 0, "returned": 0})
    for metrics in ended_tasks(folder):
        step = found[step_of(metrics)]
        step["seconds"] += metrics["Executor Run Time"] / 1000
        step["shuffled"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
        step["returned"] += metrics["Result Size"]
    return dict(found)


def step_of(metrics: dict[str, Any]) -> str:
    if metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]:
        return "Spark: read and pack"
    read = metrics["Shuffle Read Metrics"]
    return "Spark: judge and measure" if read["Total Records Read"] else "Spark: rounds over the scores"


def ended_tasks(folder: Path) -> Iterator[dict[str, Any]]:
    """The metrics of each."""
    for log in folder.iterdir():
        with log.open(encoding="utf-8") as lines:
            for line in lines:
                event = json.loads(line)
                if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                    yield event["Task Metrics"]
