"""rankjury demo movielens: recommenders on the bundled log, or on a folder as GroupLens ships it."""

import json
import re
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from rankjury.recsys.models import RECOMMENDERS
from tests import paths
from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, report_of

SAMPLE = Path(str(files("rankjury.plan") / "samples" / "movielens"))
DATA = ["rankjury.schema.json", "rankjury.toml", "movies.csv", "ratings.csv", "users.csv"]
RESULTS = ["recommenders.png", "report.html", "report.json", "report.md"]
REAL = paths.SHARED / "interactions" / "ml-latest-small"
USERS, ITEMS = 24, 30
TITLES = {item: f"Film, the {item}th ({1990 + item % 9})" for item in range(1, ITEMS + 1)}
KINDS = ("Drama", "Comedy|Drama", "Horror")


@pytest.fixture(autouse=True)
def same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As where rankjury[recsys] is not installed: the models that are left out."""
    for name in RECOMMENDERS.names():
        for library in RECOMMENDERS.get(name).libraries:
            monkeypatch.setitem(sys.modules, library, None)
    return [name for name in RECOMMENDERS.names() if not RECOMMENDERS.get(name).is_installed()]


def interactions() -> list[tuple[int, int, int, int]]:
    """User, item, rating, time; ids of users are ids of items as well."""
    found = {}
    for step in range(600):
        user, item = 1 + step * 5 % USERS, 1 + (step * step + step // 7) % (4 + step % (ITEMS - 4))
        found[user, item] = (user, item, 1 + (user + item) % 5, 978_300_000 + 3_600 * step)
    return list(found.values())


def lines(rows: list[list[object]], separator: str) -> str:
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def one_million(folder: Path) -> None:
    """Two colons between fields, and no header."""
    rows = [list(row) for row in interactions()]
    (folder / "ratings.dat").write_text(lines(rows, "::"), encoding="latin-1")
    movies = [[item, title.replace("Film", "Für"), KINDS[item % 3]] for item, title in TITLES.items()]
    (folder / "movies.dat").write_text(lines(movies, "::"), encoding="latin-1")
    users = [[user, "FM"[user % 2], 25, user % 5, "12345"] for user in range(1, USERS + 1)]
    (folder / "users.dat").write_text(lines([list(row) for row in users], "::"), encoding="latin-1")


def latest(folder: Path) -> None:
    rows = [list(row) for row in interactions()]
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n" + lines(rows, ","))
    movies = [[item, f'"{title}"', KINDS[item % 3]] for item, title in TITLES.items()]
    (folder / "movies.csv").write_text("movieId,title,genres\n" + lines([list(row) for row in movies], ","))


def hundred_thousand(folder: Path) -> None:
    """Tabs between ratings, bars between the fields of movies, whose genres are flags."""
    (folder / "u.data").write_text(lines([list(row) for row in interactions()], "\t"))
    items = [
        [item, title, "01-Jan-1995", "", "http://x", *(int(item % 3 == kind) for kind in range(19))]
        for item, title in TITLES.items()
    ]
    (folder / "u.item").write_text(lines(items, "|"), encoding="latin-1")
    users = [[user, 20 + user, "FM"[user % 2], "other", "00000"] for user in range(1, USERS + 1)]
    (folder / "u.user").write_text(lines([list(row) for row in users], "|"))


RELEASES = {"ml-1m": one_million, "ml-latest": latest, "ml-100k": hundred_thousand}


def names_in(folder: str | Path) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def ndcg_of_random(report: dict[str, Any]) -> Any:
    return report["systems"]["random"]["measures"]["ndcg@10"]


def test_everything_at_once(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    """All models of the sample, with cold users and items; a reader must not take its log for a real one."""
    monkeypatch.setenv("COLUMNS", "130")
    outcome = rankjury("demo", "movielens", "-o", "out", "--full")
    assert outcome.code == 0, outcome.err
    assert names_in("out") == RESULTS and "Wrote out/report.html, out/report.json" in outcome.err
    saved = json.loads(Path("out/report.json").read_text("utf-8"))
    plan = (SAMPLE / "rankjury.toml").read_text("utf-8")
    wanted = re.findall(r"^\[systems\.([\w-]+)\]", plan, re.MULTILINE)
    here = [name for name in wanted if name in saved["systems"]]
    assert list(saved["systems"]) == here and {"popularity", "random"} <= set(here)
    means = {name: of["measures"]["ndcg@10"]["mean"] for name, of in saved["systems"].items()}
    assert means["random"] == min(means.values())
    for name, mean in means.items():
        assert re.search(rf"^{name} +{mean:.3f}", outcome.out, re.MULTILINE), name
    assert "The log is synthetic" in outcome.out.splitlines()[0]
    assert all("synthetic" in Path(f"out/report.{form}").read_text("utf-8") for form in ("json", "html"))
    for part in ("temporal split", "activity=power", "user=cold", "item=cold", "(training)"):
        assert part in outcome.out
    with Image.open("out/recommenders.png") as picture:
        assert picture.width == 1080 and picture.height > 900
    assert outcome.err.splitlines()[-1].startswith("Next: open out/recommenders.png; rankjury demo movielens --keep ")


class TestWithoutLibraries:
    def test_models_are_left_out_and_kept_files_run(self, rankjury: Rankjury, core: list[str]) -> None:
        """With what to install; the files can be changed."""
        outcome = rankjury("demo", "movielens", "--keep", "mine", "--full")
        assert outcome.code == 0, outcome.err
        assert names_in("mine") == sorted([*DATA, *RESULTS, "rankjury.opened.jsonl"])
        report = json.loads(Path("mine/report.json").read_text("utf-8"))
        assert {"popularity", "random"} <= set(report["systems"])
        assert not {"item-knn", "als", "ease", "hybrid"} & set(report["systems"]) and "als" in core
        told = [line for line in outcome.warnings if "pip install 'rankjury[recsys]'" in line]
        assert told and all(any(name in line for line in told) for name in ("item-knn", "als", "ease"))
        assert f"movielens: 182 users, {len(report['systems'])} systems\n" in outcome.out
        assert max(map(len, outcome.out.splitlines())) <= 80
        assert outcome.err.splitlines()[-1] == "Next: open mine/recommenders.png; rankjury tune mine/rankjury.toml"
        for name in DATA[1:]:
            assert Path("mine", name).read_bytes() == (SAMPLE / name).read_bytes()
        plan = Path("mine/rankjury.toml")
        plan.write_text("statistics.resamples = 100\n" + plan.read_text().replace('"test"  ', '"validation"  '))
        again = rankjury("run", "mine/rankjury.toml", "--json", "--quiet")
        assert report_of(again)["interactions"]["window"] == "validation"
        check_failure(rankjury("demo", "movielens", "--keep", "mine"), 2, "mine/rankjury.toml", "--keep")

    def test_releases_in_folders_say_the_same(self, rankjury: Rankjury, core: list[str]) -> None:
        """One log in the three forms of GroupLens, which are left as they were."""
        found = {name: self.check_release(rankjury, name) for name in RELEASES}
        for report in found.values():
            assert report["interactions"] == found["ml-1m"]["interactions"]
            assert ndcg_of_random(report) == ndcg_of_random(found["ml-1m"])
        for part in ("systems", "slices"):  # genres are others in the third
            assert found["ml-1m"][part] == found["ml-latest"][part]

    def check_release(self, rankjury: Rankjury, name: str) -> dict[str, Any]:
        folder = Path(name)
        folder.mkdir()
        RELEASES[name](folder)
        before = {path: path.read_bytes() for path in folder.iterdir()}
        outcome = rankjury("demo", "movielens", "--data", name, "-o", f"{name}-out")
        assert outcome.code == 0, outcome.err
        assert outcome.out.startswith(f"{name}: ") and names_in(f"{name}-out") == RESULTS
        assert {path: path.read_bytes() for path in folder.iterdir()} == before
        report: dict[str, Any] = json.loads(Path(f"{name}-out/report.json").read_text("utf-8"))
        assert report["interactions"]["catalogue"] == {"kind": "items", "items": ITEMS}
        assert sum(one["rows"] for one in report["interactions"]["windows"].values()) == len(interactions())
        measures = report["systems"]["popularity"]["measures"]
        assert {"ndcg@5", "ndcg@20", "recall(rel=4)@10", "coverage@10", "diversity@10"} <= set(measures)
        assert measures["diversity@10"]["mean"] > 0
        assert f"rankjury audit {name}" in outcome.err.splitlines()[-1]
        assert rankjury("audit", name).code == 0
        return report

    def test_without_a_catalogue_the_items_seen_are_it(self, rankjury: Rankjury, core: list[str]) -> None:
        """Results go to the folder that the help names, where none is asked for."""
        Path("bare").mkdir()
        latest(Path("bare"))
        Path("bare/movies.csv").unlink()
        outcome = rankjury("demo", "movielens", "--data", "bare", "--quiet")
        assert (outcome.code, outcome.err) == (0, "") and names_in("rankjury-movielens") == RESULTS
        report = json.loads(Path("rankjury-movielens/report.json").read_text("utf-8"))
        assert report["interactions"]["catalogue"]["kind"] == "seen"
        assert "diversity@10" not in report["systems"]["popularity"]["measures"]


class TestRefused:
    def test_a_folder_that_is_none(self, rankjury: Rankjury) -> None:
        Path("other").mkdir()
        Path("other/notes.txt").write_text("hello\n")
        check_failure(
            rankjury("demo", "movielens", "--data", "other"), 3, "other", "ratings.dat", "ratings.csv", "u.data"
        )
        assert not Path("rankjury-movielens").exists()

    def test_no_folder(self, rankjury: Rankjury) -> None:
        check_failure(rankjury("demo", "movielens", "--data", "nowhere"), 3, "nowhere", "no such folder", "ratings.csv")

    @pytest.mark.parametrize("option", ["--keep", "--vectors", "--select"])
    def test_options_of_others(self, rankjury: Rankjury, option: str) -> None:
        check_failure(rankjury("demo", "movielens", "--data", ".", option, "x"), 2, option, "rankjury demo")

    @pytest.mark.parametrize(
        ("spoil", "fragment"),
        [
            (lambda text: text + "7::9::good::978300000\n", "good"),
            (lambda text: text + "7::9\n", "line"),
        ],
        ids=["rating", "fields"],
    )
    def test_a_row_that_is_none_is_named(self, rankjury: Rankjury, spoil: Callable[[str], str], fragment: str) -> None:
        Path("ml").mkdir()
        one_million(Path("ml"))
        log = Path("ml/ratings.dat")
        log.write_text(spoil(log.read_text("latin-1")), encoding="latin-1")
        number = len(interactions()) + 1
        check_failure(rankjury("demo", "movielens", "--data", "ml"), 3, "ml/ratings.dat", str(number), fragment)


@pytest.mark.skipif(not REAL.is_dir(), reason="the real log is not here")
def test_the_real_log(rankjury: Rankjury, core: list[str]) -> None:
    """Of the smallest release: popularity is far above a random order."""
    outcome = rankjury("demo", "movielens", "--data", str(REAL), "-o", "out")
    assert outcome.code == 0, outcome.err
    report = json.loads(Path("out/report.json").read_text("utf-8"))
    windows = report["interactions"]["windows"]
    rows = len((REAL / "ratings.csv").read_text("utf-8").splitlines()) - 1
    assert sum(one["rows"] for one in windows.values()) == rows and windows["test"]["cold_users"] > 0
    means = {name: of["measures"]["ndcg@10"]["mean"] for name, of in report["systems"].items()}
    assert means["popularity"] > 5 * means["random"]
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_init_names_the_log_that_it_found(rankjury: Rankjury, core: list[str]) -> None:
    Path("gold.qrels").unlink()
    Path("run.trec").unlink()
    latest(Path())
    outcome = rankjury("init")
    assert outcome.code == 0
    assert "ratings.csv" in outcome.err.splitlines()[0] and "movies.csv" in outcome.err
