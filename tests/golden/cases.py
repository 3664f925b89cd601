"""Cases: the bundled samples, made small, and the commands that are run on them."""

import json
import re
from pathlib import Path

import numpy as np

import rankjury
from tests.golden.normalise import digests, normalise_file
from tests.golden.recording import Case, Session

__all__ = ["CASES"]

_STATISTICS = "\n[statistics]\nresamples = 200\n"
_FEW = ("--resamples", "200")
_PAPERS = 120
_USERS = 150


def _edit(path: str, *changes: tuple[str, str], end: str = _STATISTICS) -> None:
    """Replace texts in a plan, each of which must be there once, and append to it."""
    text = Path(path).read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} in {path}"
        text = text.replace(old, new)
    Path(path).write_text(text + end, encoding="utf-8")


def _digest_keys(path: str, *keys: str) -> None:
    """Replace what stands under the keys of a JSON file, or under all, by digests: another file shows it."""
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    changed = digests({key: value for key, value in report.items() if not keys or key in keys})
    Path(path).write_text(json.dumps(report | changed), encoding="utf-8")


def _add_snippet(session: Session, name: str, value: object) -> None:
    """Record the visible text of what a notebook shows."""
    Path("snippet.html").write_text(value._repr_html_(), encoding="utf-8")  # type: ignore[attr-defined]
    session.add(f"{name}.notebook.txt", normalise_file(Path("snippet.html"))[".txt"])


def _show_archive(session: Session, *, diff: bool = False) -> None:
    """Record what the archive's commands give for its latest run."""
    session.rankjury("show", "show", "latest")
    session.rankjury("show-pr", "show", "latest", "--pr")
    if diff:
        session.rankjury("show-json", "show", "latest", "--json")
        session.rankjury("diff", "diff", "latest")
        session.rankjury("diff-json", "diff", "latest", "--json")


def helpdesk(session: Session) -> None:
    session.copy_sample("helpdesk")
    Path("out").mkdir()
    files = ("qrels.trec", "bm25.trec", "dense.trec")
    about = ("--slices", "queries.jsonl:type", "--item-slices", "documents.jsonl:category", *_FEW)
    names = ("--names", "documents.jsonl:title", "--texts", "queries.jsonl:text")
    outputs = [f"out/evaluate.{suffix}" for suffix in ("html", "json", "csv", "md", "png", "svg")]
    session.rankjury(
        "evaluate", "evaluate", *files, *about, *names, "-m", "ndcg@10,recall(rel=2)@10,rr", "--quantiles", "5,50,95",
        "--record", "dense:latency_p95_ms=12.5", "--per-query", "out/per_query.csv",
        *(word for path in outputs for word in ("-o", path)),
    )  # fmt: skip
    session.rankjury("evaluate-json", "evaluate", *files[:2], *_FEW, "--json")
    session.rankjury("evaluate-means", "evaluate", *files, "--no-ci", "-m", "map", "--dialect", "trec_eval")
    outputs = [f"out/compare.{suffix}" for suffix in ("json", "csv", "md")]
    session.rankjury(
        "compare", "compare", *files, *about, *names, "-m", "ndcg@10,recall@10",
        *(word for path in outputs for word in ("-o", path)),
    )  # fmt: skip
    session.rankjury("compare-json", "compare", *files, *_FEW, "--json")
    Path("targets.toml").write_text(
        'targets = ["ndcg@10 >= 0.4", "ndcg@10 >= 0.95", "ndcg@10 drop <= 0.01", "recall@10 >= 0.8"]\n'
        '[[target]]\nrequire = "ndcg@10 >= 0.5"\nslice = "type=keyword"\nname = "keyword queries"\n'
    )
    outputs = [f"out/gate.{suffix}" for suffix in ("xml", "md", "json")]
    session.rankjury(
        "gate", "gate", "targets.toml", *files[:1], "dense.trec", "--baseline", "bm25.trec", *about[:2], *_FEW,
        *(word for path in outputs for word in ("-o", path)),
    )  # fmt: skip
    session.rankjury("gate-report", "gate", "targets.toml", "out/compare.json", "--strict")
    session.rankjury("gate-json", "gate", "targets.toml", "out/compare.json", "--json")
    session.rankjury("drift", "drift", "out/evaluate.json", "out/compare.json")
    session.rankjury("demo", "demo", "helpdesk")
    gold, bm25, dense = rankjury.read_gold(files[0]), rankjury.read_run(files[1]), rankjury.read_run(files[2])
    report = rankjury.compare(
        gold, {"bm25": bm25, "dense": dense}, ["ndcg@10", "recall@10"], resampling=rankjury.Resampling(200)
    )
    _add_snippet(session, "report", report)
    _add_snippet(session, "comparison", report.comparisons[0])
    _add_snippet(session, "scores", rankjury.evaluate(gold, bm25, ["ndcg@10", "recall@10"]))
    _add_snippet(session, "gate", rankjury.gate(report, "ndcg@10 >= 0.4", "ndcg@10 >= 0.95"))


_PLAN = """\
name = "questions"
gold = "qrels.trec"
measures = ["ndcg@10"]
slices = "queries.jsonl:type"
names = "documents.jsonl:title"
texts = "queries.jsonl:text"

[systems.bm25]
kind = "run"
path = "bm25.trec"

[systems.dense]
kind = "run"
path = "dense.trec"

[[output]]
file = "charts/{chart}.svg"
form = "charts"
"""


def questions(session: Session) -> None:
    """A plan of run files: charts, and what is written from an archived run."""
    session.copy_sample("helpdesk")
    Path("rankjury.toml").write_text(_PLAN + _STATISTICS)
    session.rankjury("run", "run", "-o", "out")
    session.rankjury("run-json", "run", "--no-archive", "--json")
    files = [f"out/shown.{suffix}" for suffix in ("html", "md", "json")]
    session.rankjury("show", "show", *(word for path in files for word in ("-o", path)), "--pictures", "out/pictures")
    _digest_keys("out/shown.json")


def movies(session: Session) -> None:
    session.copy_sample("movies")
    more = (
        '"scores.csv", "report.md"]\n'
        '[[output]]\nfile = "pull-request.md"\nform = "pull-request"\n'
        '[[output]]\nfile = "queries.csv"\nform = "queries"\n'
    )
    _edit(
        "rankjury.toml",
        ("cutoffs = [5, 1, 2, 3, 10]", "cutoffs = [5, 1]"),
        ('"hits@5", "rr@5"]', '"hits@5"]'),
        ('name = "movies"', 'name = "movies"\ntargets = ["ndcg(gain=exp)@5 >= 0.3", "hits@5 drop <= 0.05"]'),
        ('"scores.csv"]', more),
    )
    session.rankjury("run", "run", "-o", "out")
    session.rankjury("baseline", "baseline", "set", "latest")
    _edit("rankjury.toml", ("densecontent = 0.25", "densecontent = 0.05"), ('"vectors.npz:vibe"',
    '"vectors.npz:anchor"'),
          end="")  # fmt: skip
    session.rankjury(None, "run", "-o", "again", "-q")
    _edit("rankjury.toml", ("c = 60", "c = 10"), end="")
    session.rankjury(None, "run", "-o", "again", "-q")
    _show_archive(session, diff=True)
    files = [f"out/history.{suffix}" for suffix in ("csv", "json", "png", "svg")]
    session.rankjury("history", "history", *(word for path in files for word in ("-o", path)))
    session.rankjury("history-json", "history", "movies", "-m", "rr@5", "--system", "combined", "--json")
    Path("targets.toml").write_text('targets = ["hits@5 >= 0.5", "hits@5 drop <= 0.02"]\n')
    session.rankjury("gate", "gate", "targets.toml", "latest", "--baseline", "baseline", "-o", "out/gate.xml")
    session.rankjury("drift", "drift", "baseline", "latest")
    session.rankjury("drift-system", "drift", "baseline", "latest", "--system", "combined")


def papers(session: Session) -> None:
    session.copy_sample("papers")
    for name in ("reference.npz", "candidate.npz"):
        with np.load(name) as arrays:
            cut = {key: array[:_PAPERS] for key, array in arrays.items()}
        np.savez(name, **cut)
    lines = Path("papers.jsonl").read_text(encoding="utf-8").splitlines()[:_PAPERS]
    Path("papers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _edit(
        "rankjury.toml",
        ("cutoffs = [1, 3, 5, 10, 20, 50]", "cutoffs = [1, 10]"),
        (', "rr(gold=k)", "ap(over=found,gold=k)", "rbo"]', ', "rbo"]'),
        (', "rr(gold=k)@10", "ap(over=found,gold=k)@10"]', "]"),
        ('[systems.first-64]\nkind = "vectors"\npath = "candidate.npz"\ntruncate = 64\n', ""),
        ('[systems.int8]\nkind = "vectors"\npath = "candidate.npz"\ndtype = "int8"\n', ""),
        ("pairs = 20000", "pairs = 2000"),
        ('"report.json", ', '"report.json", "report.md", "report.csv", '),
    )
    session.rankjury("run", "run", "-o", "out")
    _show_archive(session)
    options = ("--k-values", "5", "--pairs", "1000", "--n-samples", "60", "--truncate", "64")
    session.rankjury("agree", "agree", "reference.npz", "candidate.npz", *options, "-o", "out/agree")
    Path("out/agree/report.html").unlink()  # like that of the plan
    _digest_keys("out/agree/report.json")


def fashion(session: Session) -> None:
    session.copy_sample("fashion")
    text = Path("rankjury.toml").read_text(encoding="utf-8")
    text = re.sub(r"\[systems\.pgvector\].*?(?=# How indexes)", "", text, flags=re.DOTALL)
    Path("rankjury.toml").write_text(text, encoding="utf-8")
    _edit(
        "rankjury.toml",
        ("rate = 1000\n", "rounds = 2\nwarm_up = 4\nconcurrency = [1]\n"),
        ('outputs = ["report.html"]', 'outputs = ["report.html", "report.json", "report.md"]'),
        ("ef_search = [10, 16, 32, 64]", "ef_search = [4, 10, 32]"),
        ("m = [4, 8, 16]", "m = [4, 8]"),
    )
    session.rankjury("run", "run", "-o", "out")
    exact, hnsw = sorted(Path("out/reports").iterdir())
    exact.unlink()  # like that of hnsw
    _digest_keys(str(hnsw), "systems", "slices", "queries")
    session.rankjury("sweep", "sweep", "-o", "out/sweep")
    Path("out/sweep/journal.jsonl").unlink()
    _edit("rankjury.toml", ("search = { ef_search = 32 }", "search = { ef_search = 4 }"),
          ("build = { m = 8, ef_construction = 64 }", "build = { m = 2, ef_construction = 8 }"), end="")  # fmt: skip
    with np.load("vectors.npz") as arrays:
        changed = dict(arrays)
    changed["queries"] = changed["queries"] + np.float16(0.02) * np.cos(np.arange(384)).astype(np.float16)
    np.savez("vectors.npz", **changed)
    session.rankjury(None, "run", "-o", "again")
    _show_archive(session, diff=True)
    first, second = sorted(path.name for path in Path(".rankjury/runs").iterdir())
    session.rankjury("drift", "drift", first, second)
    session.rankjury("drift-json", "drift", first, second, "--system", "hnsw", "--strict", "--json")


def variants(session: Session) -> None:
    session.copy_sample("fashion")
    _edit("variants.toml", ("concurrency = [1]", "rounds = 1\nwarm_up = 4\nconcurrency = [1]"))
    session.rankjury("run", "run", "variants.toml", "--no-archive")


def driving(session: Session) -> None:
    session.copy_sample("driving")
    _edit("rankjury.toml")
    _edit("clips.toml", ('outputs = ["clips.html", "clips.json", "clips.md"]\n', ""))
    session.rankjury("run", "run", "-o", "out")
    _show_archive(session)
    session.rankjury("run-clips", "run", "clips.toml")


def movielens(session: Session) -> None:
    session.copy_sample("movielens")
    header, *rows = Path("ratings.csv").read_text(encoding="utf-8").splitlines()
    rows = [row for row in rows if int(row.partition(",")[0]) <= _USERS]
    Path("ratings.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    text = Path("rankjury.toml").read_text(encoding="utf-8")
    text = re.sub(r"\[systems\.item-knn\].*?(?=\[systems\.random\])", "", text, flags=re.DOTALL)
    text = re.sub(r"\[tune\.als\].*?(?=\[meta\])", "", text, flags=re.DOTALL)
    Path("rankjury.toml").write_text(text, encoding="utf-8")
    _edit(
        "rankjury.toml",
        ("cutoffs = [5, 10, 20]", "cutoffs = [10]"),
        ('  "hit_rate(rel=4)@10", "rr(rel=4)@10", "ap(rel=4)@10",\n', ""),
        ('  "personalisation@10", "calibration@10",\n', ""),
        end='\n[systems.content]\nkind = "recommender"\nmodel = "content"\n' + _STATISTICS,
    )
    session.rankjury("run", "run", "-o", "out")
    _show_archive(session)
    session.rankjury("history", "history")


CASES: dict[str, Case] = {
    case.__name__: case for case in (helpdesk, questions, movies, papers, fashion, variants, driving, movielens)
}
