"""Extension points: one file per new thing, dropped into a copy of the package, is found and used without any list.

Each entry of ``FILES`` is a complete minimal example (docs/contributing/extending.md refers to them).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rankjury

PACKAGE = Path(rankjury.__file__).parent

FILES = {
    "measures/metrics/last_hit.py": '''
import numpy as np
from rankjury.measures.judged import Judged, is_relevant, within
from rankjury.measures.measure import metric

@metric("last_hit", zero_when_empty=True)
def last_hit(judged: Judged, k: int | None) -> np.ndarray:
    """Rank of the last relevant item; 0 where none was retrieved."""
    hits = is_relevant(judged.grade, None, judged) & within(judged, k)
    last = np.zeros(len(judged))
    np.maximum.at(last, judged.row[hits], judged.rank[hits])
    return last
''',
    "retrieval/engines/dot.py": """
import numpy as np
from rankjury.retrieval.engines.base import ENGINES, Engine

@ENGINES.register("dot")
class Dot(Engine):
    description = "inner products by NumPy"
    metrics = ("ip",)
    approximate = False

    def _build(self, vectors, ids, progress):
        self._index = vectors

    def _search(self, queries, k, params, filter, exact):
        scores = queries @ self._index.T
        rows = np.argsort(-scores, axis=1)[:, :k]
        return rows, np.take_along_axis(scores, rows, axis=1)
""",
    "retrieval/fusion/votes.py": '''
from rankjury.retrieval.fusion.fusion import method

@method("votes")
def votes(aligned, fusion):
    """Number of rankings that hold the item."""
    return (aligned.ranks > 0).sum(axis=0).astype(float)
''',
    "recsys/models/by_id.py": """
import numpy as np
from rankjury.recsys.models import RECOMMENDERS, Recommender

@RECOMMENDERS.register("by-id")
class ById(Recommender):
    description = "items in the order of their ids"

    def fit(self, train, features, progress=None):
        pass

    def score(self, users, items):
        return np.broadcast_to(-items.astype(float), (users.size, items.size))
""",
    "recsys/splitting/last_row.py": """
import numpy as np
from rankjury.recsys.splitting import SplitResult, split_kind

@split_kind("last-row", "the latest row of the log is the test window", {})
def last_row(log, settings):
    codes = np.zeros(len(log), dtype=np.int8)
    codes[np.argmax(log.time)] = 2
    return SplitResult(codes, has_validation=False)
""",
    "retrieval/embedding/models/lengths.py": """
import numpy as np
from rankjury.retrieval.embedding.models import MODELS

@MODELS.register("lengths")
class Lengths:
    name = "lengths"
    version = "1"
    dimensions = 2

    def embed(self, texts):
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)
""",
    "labeling/keywords/mappers/everything.py": """
from rankjury.labeling.keywords.mapping import MAPPERS, Candidate

@MAPPERS.register("everything")
class Everything:
    description = "the first keyword for every text"
    threshold = 1.0
    notes = ()

    def __init__(self, vocabulary, settings):
        pass

    def candidates(self, texts, progress):
        return [[Candidate(0, 1, 0, 1.0, text.split()[0], text.split()[0])] for text in texts]

    def nearest(self, text, count):
        return []
""",
    "reporting/writers/count.py": """
from rankjury.reporting.writers import writer

@writer("count", ".count")
def count(report, request):
    return f"{len(report.systems)} systems\\n"
""",
    "evaluation/weather.py": '''
from dataclasses import dataclass
from rankjury.evaluation.sections import Section

@dataclass(frozen=True, eq=False)
class Weather(Section):
    """The weather while a system ran."""

    name = "weather"
    degrees: float
''',
    "reporting/sections/weather.py": """
from rankjury.evaluation.weather import Weather
from rankjury.reporting.sections import SectionBlock, renderer

@renderer("weather")
def render(report, brief):
    found = report.sections_of(Weather)
    return SectionBlock("Weather", lines=[f"{system}: {section.degrees:g} °C" for system, section in found.items()])
""",
    "plan/gold/first_item.py": '''
from typing import Literal
from rankjury.core.convert import as_gold
from rankjury.plan import GOLD_KINDS
from rankjury.plan.context import GoldTable, LoadedGold

@GOLD_KINDS.register("first-item")
class FirstItem(GoldTable):
    """Item 0 is relevant for every query."""

    kind: Literal["first-item"]
    queries: list[str]

    def load(self, context):
        return LoadedGold({"": as_gold({query: {"0": 1} for query in self.queries})})
''',
    "plan/systems/countdown.py": '''
from typing import Literal
from rankjury.core.convert import as_ranking
from rankjury.evaluation.weather import Weather
from rankjury.plan import SYSTEM_KINDS
from rankjury.plan.context import Loaded, SystemTable

@SYSTEM_KINDS.register("countdown")
class Countdown(SystemTable):
    """Items n … 0 for every query."""

    kind: Literal["countdown"]
    start: int

    def load(self, context):
        items = [str(number) for number in range(self.start, -1, -1)]
        ranking = as_ranking({query: items for query in context.gold.queries})
        return Loaded(ranking, sections=(Weather(21.5),))
''',
    "cli/hello_jury.py": '''
import typer

EPILOG = "Example: rankjury hello-jury"
GROUP = "Evaluate"
ORDER = 9

def hello_jury_command() -> None:
    """Say hello to the jury."""
    typer.echo("hello, jury")
''',
}


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder to import from, with a copy of the package made of links, and ``FILES`` in it."""
    root = tmp_path_factory.mktemp("extended")
    (root / "rankjury").mkdir()
    folders = {Path(name).parent for name in FILES}
    folders |= {parent for folder in folders for parent in folder.parents}
    for folder in sorted(folders, key=lambda path: len(path.parts)):
        (root / "rankjury" / folder).mkdir(exist_ok=True)
        for entry in (PACKAGE / folder).iterdir():
            if entry.relative_to(PACKAGE) not in folders:
                (root / "rankjury" / folder / entry.name).symlink_to(entry)
    for name, text in FILES.items():
        (root / "rankjury" / name).write_text(text.lstrip(), encoding="utf-8")
    return root


class Extended:
    """Runs commands and Python code with the extended package, in a folder."""

    def __init__(self, package: Path, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}

    def __call__(self, *arguments: str) -> str:
        command = [sys.executable, *arguments]
        ended = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


@pytest.fixture
def run(extended: Path, tmp_path: Path) -> Extended:
    return Extended(extended, tmp_path)


def test_metric_writer_gold_system_and_section_in_a_plan(run: Extended) -> None:
    (run.folder / "rankjury.toml").write_text(
        'measures = ["last_hit@5"]\noutputs = ["systems.count"]\nstatistics.resamples = 100\n'
        '[gold]\nkind = "first-item"\nqueries = ["a", "b"]\n'
        '[systems.down]\nkind = "countdown"\nstart = 3\n'
    )
    shown = run("-m", "rankjury", "run", "--no-archive")
    assert "last_hit@5" in shown and "4.0" in shown
    assert "down: 21.5 °C" in shown
    assert (run.folder / "systems.count").read_text() == "1 systems\n"


def test_command(run: Extended) -> None:
    assert run("-m", "rankjury", "hello-jury") == "hello, jury\n"
    assert "Say hello to the jury." in run("-m", "rankjury", "--help")


USED = """
import json
import numpy as np
import polars as pl
import rankjury
from rankjury.recsys.models import RECOMMENDERS
from rankjury.retrieval.engines.base import ENGINES
from rankjury.labeling.keywords.annotations import Vocabulary
from rankjury.labeling.keywords.mapping import MappingSettings

from rankjury.retrieval.embedding.embed import find_model

used = {}
engine = ENGINES.get("dot")("ip")
engine.build(np.eye(3), pl.Series(["a", "b", "c"]))
used["engine"] = engine.search(np.eye(3)[1:2], 1).items.tolist()
fused = rankjury.fuse([rankjury.as_ranking({"q": ["a", "b"]})] * 2, rankjury.Fusion("votes"))
used["fusion"] = fused.frame()["score"].to_list()
log = pl.DataFrame({"user_id": ["u", "u", "v"], "item_id": ["a", "b", "a"], "timestamp": [1, 9, 2]})
split = rankjury.split_log(log, "last-row")
used["split"] = [split.size("train"), split.size("test")]
model = RECOMMENDERS.get("by-id")()
used["recommender"] = model.score(np.arange(1), np.arange(3)).tolist()
used["embedder"] = find_model("lengths").embed(["abc"]).tolist()
vocabulary = Vocabulary.of({"vehicle": ["bus"]})
(extraction,) = rankjury.map_texts(["a red car"], vocabulary, MappingSettings("everything"))
used["mapper"] = [mapped.keyword.name for mapped in extraction.mapped]
print(json.dumps(used))
"""


def test_engine_fusion_split_recommender_embedder_and_keyword_mapper(run: Extended) -> None:
    assert json.loads(run("-c", USED)) == {
        "engine": [[1]],
        "fusion": [2.0, 2.0],
        "split": [2, 1],
        "recommender": [[0.0, -1.0, -2.0]],
        "embedder": [[3.0, 1.0]],
        "mapper": ["bus"],
    }
