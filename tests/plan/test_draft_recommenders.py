"""Plans drafted where a log lies: they run as they are; what other folders get stays as it was."""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.plan.draft import draft, kind_for
from rankjury.plan.folder_scan import FolderContents, scan_folder
from rankjury.plan.outputs import write_outputs
from rankjury.plan.parse import CheckedPlan, read_plan
from rankjury.plan.run import Outcome, execute_plan
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.sections import CatalogueSize, Exposure, Interactions
from tests.plan import GOLD, QUICK, RUN, put

USERS, ITEMS = 12, 15
ROWS = [
    (
        1 + step * 5 % USERS,
        1 + (step * step + step // 3) % (3 + step % (ITEMS - 3)),
        1 + step % 5,
        1_500_000_000 + 9 * step,
    )
    for step in range(160)
]
CSV = "userId,movieId,rating,timestamp\n" + "".join(f"{u},{i},{r},{t}\n" for u, i, r, t in ROWS)
MOVIES = "movieId,title,genres\n" + "".join(
    f"{i},Film {i},{'Drama|Horror' if i % 2 else 'Comedy'}\n" for i in range(1, ITEMS + 1)
)
DAT = "".join(f"{u}::{i}::{r}::{t}\n" for u, i, r, t in ROWS)
MOVIES_DAT = "".join(f"{i}::Film {i}::Drama\n" for i in range(1, ITEMS + 1))
USERS_DAT = "".join(f"{u}::{'FM'[u % 2]}::{(1, 18, 25)[u % 3]}::{u % 5}::{10_000 + u}\n" for u in range(1, USERS + 1))
DAYS_FIRST = "".join(f"{u},{i},{r},14/12/2009 02:52\n" for u, i, r, _ in ROWS)
DATA = "".join(f"{u}\t{i}\t{r}\t{t}\n" for u, i, r, t in ROWS)


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where rankjury[recsys] is not installed."""
    for name in RECOMMENDERS.names():
        for library in RECOMMENDERS.get(name).libraries:
            monkeypatch.setitem(sys.modules, library, None)


def drafted(folder: Path) -> tuple[str, CheckedPlan]:
    found = scan_folder(folder)
    chosen = kind_for(found)
    path = folder / "rankjury.toml"
    path.write_text(QUICK + draft(chosen, found, "mine"))
    return chosen, read_plan(path)


def run(folder: Path) -> Outcome:
    chosen, checked = drafted(folder)
    assert chosen == "recommenders" and checked.plan.gold.kind == "interactions"  # type: ignore[attr-defined]
    return execute_plan(checked)


class TestFound:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("ratings.csv", CSV),
            ("ratings.dat", DAT),
            ("u.data", DATA),
            ("plays.tsv", CSV.replace(",", "\t").replace("movieId", "track_id")),
            ("events.csv", CSV.replace("userId", "customer_id").replace("movieId", "product_id")),
        ],
    )
    def test_logs(self, tmp_path: Path, name: str, text: str) -> None:
        (tmp_path / name).write_text(text)
        found = scan_folder(tmp_path)
        assert found.logs == [name] and found.anything and kind_for(found) == "recommenders"
        assert not (found.golds or found.runs or found.tables or found.item_tables)

    def test_logs_in_parquet(self, tmp_path: Path) -> None:
        pl.DataFrame(ROWS, schema=["user", "item", "value", "ts"], orient="row").write_parquet(tmp_path / "log.parquet")
        assert scan_folder(tmp_path).logs == ["log.parquet"]

    def test_a_log_that_cannot_be_read_is_not_chosen(self, tmp_path: Path) -> None:
        """The first by name has times that are not read; the reason says how to write them."""
        put(tmp_path, eu__csv=f"user,item,rating,time\n{DAYS_FIRST}", log__csv=CSV)
        found = scan_folder(tmp_path)
        assert found.logs == ["log.csv"]
        assert "14/12/2009 02:52" in found.unusable["eu.csv"] and "2009-12-14" in found.unusable["eu.csv"]
        assert 'path = "log.csv"' in draft("recommenders", found, "mine")
        assert run(tmp_path).report.systems

    def test_of_a_large_log_the_first_rows_are_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rankjury.plan.file_kinds.MAX_BYTES", 10)
        put(tmp_path, eu__csv=f"user,item,rating,time\n{DAYS_FIRST}", log__csv=CSV)
        table = pl.DataFrame(ROWS, schema=["user", "item", "value", "ts"], orient="row")
        table.write_parquet(tmp_path / "log.parquet")
        table.with_columns(pl.lit("14/12/2009").alias("ts")).write_parquet(tmp_path / "odd.parquet")
        found = scan_folder(tmp_path)
        assert sorted(found.logs) == ["log.csv", "log.parquet"]
        assert sorted(found.unusable) == ["eu.csv", "odd.parquet"]

    def test_a_table_without_times_or_users_is_no_log(self, tmp_path: Path) -> None:
        put(tmp_path, pairs__csv="user,item\n1,2\n", prices__csv="item,price,date\n1,2,3\n", odd__csv="")
        assert scan_folder(tmp_path).logs == []

    @pytest.mark.parametrize("name", ["movies.csv", "movies.dat", "u.item", "items.csv"])
    def test_catalogues(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_text(MOVIES)
        assert scan_folder(tmp_path).catalogues == [name]


@pytest.mark.usefixtures("core")
class TestRuns:
    def test_a_release_with_its_catalogue(self, tmp_path: Path) -> None:
        put(tmp_path, ratings__csv=CSV, movies__csv=MOVIES)
        report = run(tmp_path).report
        assert list(report.systems) == ["popularity", "random"] and report.baseline == "popularity"
        assert report.needed_section(Interactions).catalogue == CatalogueSize("items", ITEMS)
        assert "diversity@10" in report.labels and "ndcg@20" in report.labels
        assert [warning for warning in report.warning_lines if "rankjury[recsys]" in warning]

    @pytest.mark.parametrize("files", [{"ratings__dat": DAT, "movies__dat": MOVIES_DAT}, {"u__data": DATA}])
    def test_other_releases(self, tmp_path: Path, files: dict[str, str]) -> None:
        put(tmp_path, **files)
        report = run(tmp_path).report
        kind = "items" if len(files) > 1 else "seen"
        assert report.needed_section(Interactions).catalogue.kind == kind
        assert ("diversity@10" in report.labels) == (kind == "items")

    def test_outputs_are_written(self, tmp_path: Path) -> None:
        put(tmp_path, ratings__csv=CSV)
        outcome = run(tmp_path)
        checked = read_plan(tmp_path / "rankjury.toml")
        written = write_outputs(checked, outcome.report)
        assert sorted(path.name for path in written) == ["recommenders.png", "report.html", "report.json", "report.md"]

    def test_a_run_of_recommendations_beside_the_log_is_held_against_it(self, tmp_path: Path) -> None:
        recs = "".join(
            f"{user} Q0 {item} {item} {20 - item} mine\n" for user in range(1, USERS + 1) for item in (1, 2, 3)
        )
        put(tmp_path, ratings__csv=CSV, als__trec=recs)
        report = run(tmp_path).report
        assert list(report.systems) == ["popularity", "als-2", "random"]


def test_with_libraries_all_models_run(tmp_path: Path) -> None:
    wanted = ["popularity", "item-knn", "als", "ease", "random"]
    missing = [name for name in wanted[1:4] if not RECOMMENDERS.get(name).is_installed()]
    if missing:
        pytest.skip(f"rankjury[recsys] is not installed: {', '.join(missing)}")
    put(tmp_path, ratings__csv=CSV, movies__csv=MOVIES)
    report = run(tmp_path).report
    assert list(report.systems) == wanted and report.random_systems == ["random"]
    assert set(report.sections_of(Exposure)) == set(wanted) - {"random"}


def test_what_can_be_tuned_is_of_a_system(tmp_path: Path) -> None:
    put(tmp_path, ratings__csv=CSV)
    _, checked = drafted(tmp_path)
    assert set(checked.plan.tune) < set(checked.plan.systems)


def test_names_that_toml_would_misread(tmp_path: Path) -> None:
    (tmp_path / 'my "log" \\ 1.csv').write_text(CSV)
    _, checked = drafted(tmp_path)
    assert checked.plan.gold.path == 'my "log" \\ 1.csv'  # type: ignore[attr-defined]


class TestOthers:
    """Folders that have a gold, or nothing of a log, get what they got."""

    def test_a_gold_and_runs(self, tmp_path: Path) -> None:
        put(tmp_path, qrels__txt=GOLD, bm25__trec=RUN)
        assert drafted(tmp_path)[0] == "runs"

    def test_a_gold_wins_over_a_log(self, tmp_path: Path) -> None:
        put(tmp_path, qrels__txt=GOLD, bm25__trec=RUN, ratings__csv=CSV)
        chosen, checked = drafted(tmp_path)
        assert chosen == "runs" and list(checked.plan.systems) == ["bm25"]

    def test_vectors(self, tmp_path: Path) -> None:
        rows = np.random.default_rng(0).normal(size=(9, 3))
        put(tmp_path, reference__npy=rows, small__npy=rows[:, :2].copy())
        assert drafted(tmp_path)[0] == "reference"

    def test_a_table_of_movies_alone_calls_for_keywords(self, tmp_path: Path) -> None:
        put(tmp_path, movies__csv=MOVIES)
        found = scan_folder(tmp_path)
        assert "genres" in found.annotated["movies.csv"] and kind_for(found) == "keywords"

    def test_graded_labels_of_users_are_still_a_gold(self, tmp_path: Path) -> None:
        labels = "\n".join(json.dumps({"query_id": f"q{n % 5}", "item_id": f"d{n}", "grade": n % 4}) for n in range(20))
        put(tmp_path, labels__jsonl=labels)
        found = scan_folder(tmp_path)
        assert found.golds == ["labels.jsonl"] and not found.logs

    def test_nothing(self, tmp_path: Path) -> None:
        assert kind_for(FolderContents()) == "runs" and not scan_folder(tmp_path).anything


def test_the_draft_without_a_log_can_be_read(tmp_path: Path) -> None:
    """As of rankjury init movielens in an empty folder: its paths are examples."""
    path = tmp_path / "rankjury.toml"
    path.write_text(draft("movielens", FolderContents(), "mine"))
    checked = read_plan(path)
    assert checked.plan.gold.path == "ratings.csv" and "als" in checked.plan.systems  # type: ignore[attr-defined]


def test_a_log_without_ratings_has_none_that_is_liked(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("user,item,time\n" + "".join(f"{u},{i},{t}\n" for u, i, _, t in ROWS))
    found = scan_folder(tmp_path)
    plan = draft("recommenders", found, "mine")
    assert found.unrated == ["events.csv"] and "rel=" not in plan and '"precision"' in plan


def test_what_is_known_of_users_is_named(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(CSV)
    ages = "".join(f"{user},{20 + user}\n" for user in range(1, USERS + 1))
    (tmp_path / "users.csv").write_text("userId,age\n" + ages)
    plan = draft("recommenders", scan_folder(tmp_path), "mine")
    assert 'users = "users.csv"' in plan and "rel=4" in plan


def test_what_is_drafted_to_tune_holds_the_defaults(tmp_path: Path) -> None:
    """The grid began where the defaults were left, so that tuning could not find them again."""
    (tmp_path / "ratings.csv").write_text(CSV)
    tune = drafted(tmp_path)[1].plan.tune
    assert set(tune) == {"item-knn", "als", "ease"}
    for name, table in tune.items():
        for parameter, values in table.params.items():
            param = RECOMMENDERS.get(name).params[parameter]
            assert isinstance(values, list) and (param.auto or param.default in values), (name, parameter)


class TestReleases:
    """A MovieLens folder as it is unpacked: its movies and users are found, whatever it is given to."""

    @pytest.fixture
    def release(self, tmp_path: Path) -> Path:
        (tmp_path / "ml-1m").mkdir()
        for name, text in (("ratings.dat", DAT), ("movies.dat", MOVIES_DAT), ("users.dat", USERS_DAT)):
            (tmp_path / "ml-1m" / name).write_bytes(text.replace("Film", "Amélie").encode("latin-1"))
        return tmp_path

    def test_beside_a_drafted_plan(self, release: Path, core: None) -> None:
        """Only files of the plan's own folder were looked at, so that the draft named a file that is not there."""
        found = scan_folder(release)
        assert (found.logs, found.catalogues, found.people) == (
            ["ml-1m/ratings.dat"], ["ml-1m/movies.dat"], ["ml-1m/users.dat"],
        )  # fmt: skip
        assert run(release).report.to_json()["interactions"]["catalogue"] == {"kind": "items", "items": ITEMS}

    def test_as_the_path_of_a_gold(self, release: Path, core: None) -> None:
        """The movies were not found: candidates were the items seen, and measures by genre were refused."""
        plan = """
        measures = ["ndcg@5", "diversity@5"]
        gold = { kind = "interactions", path = "ml-1m" }
        systems.popularity = { kind = "recommender", model = "popularity" }
        """
        (release / "rankjury.toml").write_text(QUICK + plan)
        checked = read_plan(release / "rankjury.toml")
        assert (checked.plan.gold.items, checked.plan.gold.users) == ("ml-1m/movies.dat", "ml-1m/users.dat")  # type: ignore[attr-defined]
        report = execute_plan(checked).report.to_json()
        assert report["interactions"]["catalogue"] == {"kind": "items", "items": ITEMS}
        assert report["systems"]["popularity"]["measures"]["diversity@5"]["mean"] is not None
        (release / "rankjury.toml").write_text(QUICK + plan.replace('"ml-1m"', '"ml-1m", items = "other.csv"'))
        assert read_plan(release / "rankjury.toml").plan.gold.items == "other.csv"  # type: ignore[attr-defined]

    def test_held_out(self, release: Path) -> None:
        task = rankjury.held_out(release / "ml-1m")
        assert set(task.features.items) == {"genre"}
        assert {"user_gender", "user_age", "user_occupation"} <= set(task.features.users)
        assert int(task.in_catalogue.sum()) == ITEMS
