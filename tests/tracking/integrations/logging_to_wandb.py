"""A process that logs reports to Weights & Biases offline, reads back what was written, and prints it as JSON.

It is one of its own because the library leaves threads, a service and temporary folders to the end of its process.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import wandb
from wandb.proto import wandb_internal_pb2

from rankjury.errors import RankjuryError
from rankjury.evaluation.report import Report
from rankjury.tracking.integrations.wandb import log_report
from tests.reporting.small import HOSTILE, gated, small

_FULL, _LAST = 1, 4


def main(folder: Path) -> None:
    report = small()
    gate, form = gated(report)
    hostile = gated(small(tuple(HOSTILE[6:10]), tuple(HOSTILE), HOSTILE[7]))[1]
    hostile["provenance"] = {"name": HOSTILE[0], "meta": dict(zip(HOSTILE, HOSTILE, strict=True))}
    told: dict[str, Any] = {}
    ids = {
        "report": log_report(report, gate=gate, project="search", run_name="nightly"),
        "form": log_report(SimpleNamespace(report=Report.from_json(form)), artifacts=False),
        "hostile": log_report(hostile),
    }
    with wandb.init(project="search") as active:
        ids["active"] = active.id
        told["into the active run"] = log_report(form, artifacts=False, step=3) == active.id and wandb.run is active
        log_report(form, prefix="dev/", measures=["ndcg@5"], run=active)
    told["another is started where a project is named"] = (
        log_report(form, project="other", artifacts=False) != active.id
    )
    told["a run that is finished"] = refusal(form, run=active)
    wandb.teardown()
    os.environ["WANDB_MODE"] = "online"
    told["nobody is logged in"] = refusal(form, project="search")
    print(json.dumps({"told": told, "runs": {name: read_back(folder, id_) for name, id_ in ids.items()}}))


def refusal(form: Any, **options: Any) -> str:
    try:
        log_report(form, **options)
    except RankjuryError as error:
        return str(error)
    return "nothing was refused"


def read_back(folder: Path, id_: str) -> dict[str, Any]:
    """What a run holds on disk: the same file that ``wandb sync`` would send."""
    (place,) = folder.glob(f"wandb/offline-run-*-{id_}")
    found: dict[str, Any] = {"config": {}, "summary": {}, "history": [], "artifacts": {}, "tables": {}}
    for record in records(place / f"run-{id_}.wandb"):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            found["name"], found["project"] = record.run.display_name, record.run.project
        if kind in ("run", "config"):
            updates = record.run.config.update if kind == "run" else record.config.update
            found["config"] |= {one.key: json.loads(one.value_json) for one in updates if one.key}
        elif kind == "summary":
            found["summary"] |= {key_of(one): json.loads(one.value_json) for one in record.summary.update}
        elif kind == "history":
            found["history"].append({key_of(one): json.loads(one.value_json) for one in record.history.item})
        elif kind == "artifact":
            found["artifacts"] |= {record.artifact.name: contents(record.artifact)}
    for row in found["history"]:
        for key in [key for key in row if row[key] == "table-file"]:
            name = key.removesuffix("/_type")
            text = (place / "files" / row[f"{name}/path"]).read_text(encoding="utf-8")
            found["tables"][name] = json.loads(text)
    return found


def key_of(item: Any) -> str:
    return item.key or "/".join(item.nested_key)


def contents(artifact: Any) -> dict[str, str]:
    entries = artifact.manifest.contents
    return {one.path: Path(one.local_path).read_text(encoding="utf-8") for one in entries if one.path[:7] == "report."}


def records(path: Path) -> Iterator[Any]:
    """The file is a log as LevelDB writes it: blocks of 32 KiB of pieces, each with its checksum, size and kind."""
    data, at, whole = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32_768 - at % 32_768 < 7:
            at += 32_768 - at % 32_768
            continue
        size, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (_FULL, _LAST):
            yield wandb_internal_pb2.Record.FromString(whole)
            whole = b""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
