"""Small plans, and archives of their runs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from rankjury.plan.archive import RunRecorder
from rankjury.plan.parse import read_plan
from rankjury.plan.run import Outcome, execute_plan
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import Origin
from rankjury.tracking.archive.run import ArchivedRun

QUERIES = 12
START = datetime(2026, 1, 1, 6, 30, tzinfo=UTC)
PLAN = """
name = "small"
gold = "gold.qrels"
measures = ["rr", "ndcg@3", "precision@3"]
headline = ["rr", "ndcg@3"]
baseline = "old"
slices = "queries.csv:type"
names = "items.csv:title"
targets = ["rr >= 0.3"]

[systems]
old = "old.trec"
new = "new.trec"

[statistics]
resamples = 100
"""


def ranked(shift: int) -> str:
    """A run that puts the one relevant item of query q at rank 1 + (q + shift) mod 3."""
    lines = []
    for query in range(QUERIES):
        items = ["b", "c"]
        items.insert((query + shift) % 3, "a")
        lines += [f"q{query:02} Q0 {item} {rank} {9.5 - rank} t" for rank, item in enumerate(items, 1)]
    return "\n".join(lines) + "\n"


def put_small(folder: Path, plan: str = PLAN) -> Path:
    """The plan and all that it reads."""
    folder.mkdir(parents=True, exist_ok=True)
    gold = "".join(f"q{query:02} 0 {item} {int(item == 'a')}\n" for query in range(QUERIES) for item in "abc")
    kinds = "".join(f"q{query:02},{'even' if query % 2 == 0 else 'odd'}\n" for query in range(QUERIES))
    (folder / "gold.qrels").write_text(gold)
    (folder / "old.trec").write_text(ranked(0))
    (folder / "new.trec").write_text(ranked(1))
    (folder / "queries.csv").write_text("query_id,type\n" + kinds)
    (folder / "items.csv").write_text("item_id,title\na,Anchor\nb,Buoy\nz,Never ranked\n")
    (folder / "plan.toml").write_text(plan)
    return folder / "plan.toml"


def carried_out(plan: Path) -> tuple[Outcome, Origin]:
    """What came of a plan, and where that comes from."""
    checked = read_plan(plan)
    begun = RunRecorder(checked)
    return execute_plan(checked), begun.origin()


def kept(archive: Archive, plan: Path, number: int = 0) -> ArchivedRun:
    """Carry out the plan, and keep it as if so many days had passed."""
    outcome, origin = carried_out(plan)
    return archive.store(outcome.report, origin, gate=outcome.gate, time=START + timedelta(days=number))
