"""A reference as gold in plans: the [agreement] table, variants, ties, samples, tables by cut-off and pictures."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankjury.errors import DataError, RankjuryError, UsageError
from rankjury.plan.draft import draft
from rankjury.plan.folder_scan import scan_folder
from rankjury.plan.outputs import check_outputs, write_outputs
from rankjury.plan.run import Outcome, execute_plan
from rankjury.retrieval.agreement.stats import Agreement
from tests.plan import QUICK, carried_out, checked, means, put, with_runs

COUNT = 30
IDS = [f"i{number:02}" for number in range(COUNT)]
DRAW = np.random.default_rng(11)
REF = DRAW.normal(size=(COUNT, 6))
BASE = REF[:, :4] + 0.8 * DRAW.normal(size=(COUNT, 4))
TUNED = REF + 0.2 * DRAW.normal(size=(COUNT, 6))
MEASURES = "measures = ['recall(over=k,gold=k)', 'ndcg(gain=binary,gold=k)', 'rbo']\ncutoffs = [1, 4]\n"
HEAD = QUICK + MEASURES
GOLD = "[gold]\nkind = 'reference'\npath = 'ref.npz'\n"
SYSTEMS = "[systems.base]\nkind = 'vectors'\npath = 'base.npz'\n"
OTHER = "[systems.tuned]\nkind = 'vectors'\npath = 'tuned.npz'\n"
Matrix = np.ndarray[Any, np.dtype[Any]]


def held(vectors: Matrix) -> dict[str, Any]:
    return {"ids": np.array(IDS), "vectors": vectors}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    put(tmp_path, ref__npz=held(REF), base__npz=held(BASE), tuned__npz=held(TUNED))
    return tmp_path


def cosines(vectors: Matrix) -> Matrix:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(units @ units.T)


def nearest(vectors: Matrix, row: int, k: int) -> list[int]:
    return [int(place) for place in np.argsort(-cosines(vectors)[row]) if place != row][:k]


def overlap(ours: Matrix, theirs: Matrix, k: int) -> float:
    """Recall at k, by plain loops."""
    shared = [len({*nearest(ours, row, k)} & {*nearest(theirs, row, k)}) / k for row in range(COUNT)]
    return sum(shared) / COUNT


def put_run(folder: Path, name: str, vectors: Matrix, k: int = COUNT - 1) -> None:
    alike = cosines(vectors)
    lines = (f"{IDS[row]} Q0 {IDS[item]} 1 {float(alike[row, item])!r} t\n"
             for row in range(COUNT) for item in nearest(vectors, row, k))  # fmt: skip
    (folder / name).write_text("".join(lines))


def agreement(outcome: Outcome, system: str = "base") -> Agreement:
    return outcome.report.sections_of(Agreement)[system]


def refused(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        checked(folder, text)
    return str(caught.value)


def test_the_scores_of_candidates_are_similarities(place: Path) -> None:
    """Minus the place stood on the page as the score."""
    put(place, twice__npz=held(np.repeat(BASE[: COUNT // 2], 2, axis=0)))  # equal vectors, whose levels are equal
    text = HEAD + GOLD + SYSTEMS + "[systems.twice]\nkind = 'vectors'\npath = 'twice.npz'\n"
    report = carried_out(place, text).report
    assert report.answers is not None
    first = report.answers.systems["base"].of(0)[0]
    vectors = BASE / np.linalg.norm(BASE, axis=1, keepdims=True)
    others = np.delete(vectors @ vectors[0], 0)
    assert first.score == pytest.approx(others.max(), abs=1e-6)
    assert all(listed.scores is not None for listed in report.answers.systems.values())


class TestAgreementTable:
    def test_by_hand(self, place: Path) -> None:
        found = carried_out(place, HEAD + GOLD + SYSTEMS + "[agreement]\n")
        assert means(found, "base")["recall(over=k,gold=k)@4"] == pytest.approx(overlap(REF, BASE, 4), abs=1e-12)
        others = ~np.eye(COUNT, dtype=bool)
        errors = np.abs(cosines(REF)[others] - cosines(BASE)[others])
        assert agreement(found).pairs == COUNT * (COUNT - 1), "fewer than the usual 20,000"
        assert agreement(found).figures["mae"].value == pytest.approx(errors.mean(), abs=1e-12)

    def test_without_it_there_is_none(self, place: Path) -> None:
        assert carried_out(place, HEAD + GOLD + SYSTEMS).report.sections_of(Agreement) == {}

    def test_pairs_and_seed(self, place: Path) -> None:
        text = HEAD + GOLD + SYSTEMS + OTHER + "[agreement]\npairs = 60\n"
        usual, same, other = (carried_out(place, text + more) for more in ("", "seed = 0\n", "seed = 1\n"))
        assert agreement(usual).pairs == 60 and "seed 0" in agreement(usual).about
        assert agreement(usual) == agreement(same)
        assert agreement(other).figures["mae"] != agreement(usual).figures["mae"]
        assert agreement(usual, "tuned").figures["mae"].value < agreement(usual).figures["mae"].value

    @pytest.mark.parametrize(("more", "k"), [("", 4), ("k = 2\n", 2)])
    def test_over_the_top(self, place: Path, more: str, k: int) -> None:
        """Of either: the largest cut-off, unless k says otherwise."""
        found = agreement(carried_out(place, HEAD + GOLD + SYSTEMS + "[agreement]\nover = 'top'\n" + more))
        pairs = [(row, item) for row in range(COUNT) for item in {*nearest(REF, row, k), *nearest(BASE, row, k)}]
        errors = [abs(cosines(REF)[pair] - cosines(BASE)[pair]) for pair in pairs]
        assert (found.pairs, found.about) == (len(pairs), f"among the first {k} of either")
        assert found.figures["mae"].value == pytest.approx(np.mean(errors), abs=1e-12)

    def test_deeper_than_the_cut_offs(self, place: Path) -> None:
        text = HEAD + SYSTEMS + "[agreement]\nover = 'top'\nk = 9\n" + GOLD
        assert "agreement.k: found 9, but the gold has depth 4" in refused(place, text)
        found = agreement(carried_out(place, text + "depth = 9\n"))
        pairs = [len({*nearest(REF, row, 9), *nearest(BASE, row, 9)}) for row in range(COUNT)]
        assert found.pairs == sum(pairs)

    def test_differences_to_the_baseline(self, place: Path) -> None:
        text = "baseline = 'base'\n" + HEAD + GOLD + SYSTEMS + OTHER + "[agreement]\npairs = 60\n"
        found = carried_out(place, text)
        ours, theirs = (agreement(found, name).figures["pearson"] for name in ("tuned", "base"))
        assert theirs.difference is None and ours.difference == ours.value - theirs.value > 0
        assert found.report.comparisons[0].relative is not None

    def test_over_other_pairs_there_is_no_difference(self, place: Path) -> None:
        """Those of the top hang on the system."""
        text = "baseline = 'base'\n" + HEAD + GOLD + SYSTEMS + OTHER + "[agreement]\nover = 'top'\n"
        assert agreement(carried_out(place, text), "tuned").figures["pearson"].difference is None

    def test_a_system_that_has_no_similarities(self, place: Path) -> None:
        """Neither a fusion nor a random order has any; the others do."""
        more = OTHER + "[systems.both]\nkind = 'fusion'\nof = ['base', 'tuned']\n"
        more += "[systems.chance]\nkind = 'random'\ncandidates = 29\n"
        found = carried_out(place, HEAD.replace(", 'rbo'", "") + GOLD + SYSTEMS + more + "[agreement]\n")
        assert set(found.report.sections_of(Agreement)) == {"base", "tuned"} and len(found.report.systems) == 4


class TestRuns:
    def test_a_run_as_reference_and_as_system(self, place: Path) -> None:
        put_run(place, "ref.trec", REF)
        put_run(place, "base.trec", BASE)
        expected = list(means(carried_out(place, HEAD + GOLD + SYSTEMS), "base").values())
        for gold, systems in (
            (GOLD.replace("npz", "trec"), "[systems]\nbase = 'base.trec'\n"),
            (GOLD.replace("npz", "trec"), SYSTEMS),
            (GOLD, "[systems]\nbase = 'base.trec'\n"),
        ):
            found = carried_out(place, HEAD + gold + systems + "[agreement]\n")
            assert list(means(found, "base").values()) == pytest.approx(expected, abs=1e-12)
            assert agreement(found).about == "among the first 4 of either", "where one is a run"

    @pytest.mark.parametrize("run", ["ref", "base"])
    def test_sampled_pairs_need_vectors(self, place: Path, run: str) -> None:
        put_run(place, f"{run}.trec", REF)
        text = HEAD + GOLD + SYSTEMS + "[agreement]\nover = 'sampled'\n"
        text = text.replace(f"kind = 'vectors'\npath = '{run}.npz'", f"path = '{run}.trec'")
        text = text.replace(f"{run}.npz", f"{run}.trec")
        with pytest.raises(
            UsageError, match="sampled pairs need vectors, and base or the reference is a run"
        ) as caught:
            carried_out(place, text)
        assert "agreement" in str(caught.value)

    def test_a_reference_that_ranks_too_few(self, place: Path) -> None:
        put_run(place, "ref.trec", REF, k=3)
        with pytest.raises(DataError, match=r"the cut-off is 4, .* ranks 3 items"):
            carried_out(place, HEAD + GOLD.replace("npz", "trec") + SYSTEMS)


class TestFaults:
    @pytest.mark.parametrize(
        ("table", "told"),
        [
            ("over = 'all'\n", "agreement.over: found 'all', expected 'sampled' or 'top'"),
            ("pairs = 0\n", "agreement.pairs: found 0"),
            ("pairs = 'many'\n", "agreement.pairs: found 'many'"),
            ("seed = -1\n", "agreement.seed: found -1"),
            ("k = 0\n", "agreement.k: found 0"),
            ("pair = 5\n", "agreement.pair: unknown key 'pair'. Did you mean pairs?"),
        ],
    )
    def test_of_the_table(self, tmp_path: Path, table: str, told: str) -> None:
        """With its line, and before any file is opened: there is none."""
        text = HEAD + GOLD + SYSTEMS + "[agreement]\n" + table
        message = refused(tmp_path, text)
        assert told in message and f"plan.toml:{text.count(chr(10))}" in message

    @pytest.mark.parametrize("gold", ["gold = 'qrels.txt'\n", "gold = { kind = 'ordered', path = 'g.json' }\n"])
    def test_no_reference(self, tmp_path: Path, gold: str) -> None:
        message = refused(tmp_path, gold + "systems.x = 'x.trec'\n[agreement]\n")
        assert "agreement: needs a reference" in message and "plan.toml:3" in message

    @pytest.mark.parametrize(
        ("gold", "system", "told"),
        [
            ("ties = 'all'\n", "", "gold.ties: found 'all', expected 'id' or 'any'"),
            ("sample = 0\n", "", "gold.sample: found 0"),
            ("depth = 0\n", "", "gold.depth: found 0"),
            ("metric = 'cosin'\n", "", "gold.metric: unknown similarity 'cosin'. Did you mean cosine"),
            ("dtype = 'int9'\n", "", "gold.dtype: unknown dtype 'int9'. Did you mean int8?"),
            ("", "dtype = 'bit'\n", "systems.base.dtype: unknown dtype 'bit'"),
            ("", "truncate = 0\n", "systems.base.truncate: found 0"),
            ("", "truncated = 3\n", "systems.base.truncated: unknown key 'truncated'. Did you mean truncate?"),
        ],
    )
    def test_of_gold_and_systems(self, tmp_path: Path, gold: str, system: str, told: str) -> None:
        assert told in refused(tmp_path, HEAD + GOLD + gold + SYSTEMS + system)

    def test_more_dimensions_than_there_are(self, place: Path) -> None:
        with pytest.raises(UsageError, match="first 5 dimensions") as caught:
            carried_out(place, HEAD + GOLD + SYSTEMS + "truncate = 5\n")
        assert "base.npz" in str(caught.value) and "1 to 4" in str(caught.value)

    def test_a_gold_less_deep_than_a_cut_off(self, place: Path) -> None:
        with pytest.raises(UsageError, match="the gold has depth 3, but a measure cuts it at 4"):
            carried_out(place, HEAD + GOLD + "depth = 3\n" + SYSTEMS)

    def test_other_items(self, place: Path) -> None:
        put(place, base__npz={"ids": np.array([*IDS[:-1], "new"]), "vectors": BASE})
        with pytest.raises(DataError, match=r"only in .*ref.npz \(i29\).*only in .*base.npz \(new\)"):
            carried_out(place, HEAD + GOLD + SYSTEMS)


class TestKeys:
    @pytest.mark.parametrize(
        ("keys", "made"),
        [
            ("truncate = 2\n", BASE[:, :2]),
            ("dtype = 'binary'\n", np.where(BASE >= 0, 1.0, -1.0)),
            ("dtype = 'float16'\n", BASE.astype(np.float16).astype(float)),
            ("truncate = 3\ndtype = 'float16'\n", BASE[:, :3].astype(np.float16).astype(float)),
        ],
    )
    def test_variants_are_as_their_own_file(self, place: Path, keys: str, made: Matrix) -> None:
        put(place, made__npz=held(made))
        text = HEAD + GOLD + SYSTEMS + keys + "[systems.made]\nkind = 'vectors'\npath = 'made.npz'\n[agreement]\n"
        found = carried_out(place, text)
        assert means(found, "base") == means(found, "made")
        ours, theirs = agreement(found, "base").figures, agreement(found, "made").figures
        assert [one.value for one in ours.values()] == pytest.approx([one.value for one in theirs.values()], abs=1e-12)

    def test_variants_of_the_reference(self, place: Path) -> None:
        """Cut to what the candidate is, nothing is lost."""
        put(place, base__npz=held(REF[:, :3]))
        found = carried_out(place, HEAD + GOLD + "truncate = 3\n" + SYSTEMS)
        assert list(means(found, "base").values()) == pytest.approx([1.0] * 6)

    def test_int8_is_near(self, place: Path) -> None:
        more = "[systems.small]\nkind = 'vectors'\npath = 'base.npz'\ndtype = 'int8'\n[agreement]\n"
        found = carried_out(place, HEAD + GOLD + SYSTEMS + more)
        ours, theirs = (agreement(found, name).figures["mae"].value for name in ("small", "base"))
        assert ours != theirs and ours == pytest.approx(theirs, abs=0.01)

    def test_ties(self, place: Path) -> None:
        """Three groups of equal vectors: with any, whoever is of the same group is right."""
        groups = np.eye(3)[np.arange(COUNT) % 3]
        put(place, ref__npz=held(groups), base__npz=held(groups[:, ::-1] + 0.01 * DRAW.normal(size=groups.shape)))
        by_id = carried_out(place, HEAD + GOLD + SYSTEMS)
        note = next(line for line in by_id.report.warning_lines if "the id decides" in line)
        assert "30 at 1" in note and "30 at 4" in note
        any_of = carried_out(place, HEAD.replace("gold=k", "gold=tied") + GOLD + "ties = 'any'\n" + SYSTEMS)
        assert means(any_of, "base")["recall(over=k,gold=tied)@4"] == 1.0
        assert means(by_id, "base")["recall(over=k,gold=k)@4"] < 0.8
        assert any("all that tie count" in line for line in any_of.report.warning_lines)

    def test_samples(self, place: Path) -> None:
        def asked(more: str, systems: str = SYSTEMS) -> set[str]:
            found = carried_out(place, HEAD + GOLD + more + systems)
            return set(found.report.scores["base"].queries)

        ten = asked("sample = 10\n")
        assert len(ten) == 10 and ten == asked("sample = 10\nseed = 0\n", OTHER + SYSTEMS)
        assert ten < asked("sample = 20\n") and ten != asked("sample = 10\nseed = 43\n")
        assert asked("sample = 30\n") == set(IDS)
        with pytest.raises(DataError, match="a sample of 31 from 30"):
            asked("sample = 31\n")

    def test_targets(self, place: Path) -> None:
        text = "targets = ['recall(over=k,gold=k)@4 >= 0.01']\n" + HEAD + GOLD + SYSTEMS + "[agreement]\n"
        gate = carried_out(place, text).gate
        assert gate is not None and gate.exit_code == 0
        strict = carried_out(place, text.replace(">= 0.01", ">= 0.99")).gate
        assert strict is not None and strict.exit_code == 4


class TestOutputs:
    def written(self, folder: Path, more: str, text: str = HEAD + GOLD + SYSTEMS + OTHER) -> list[Path]:
        plan = checked(folder, text + more)
        check_outputs(plan)
        return list(write_outputs(plan, execute_plan(plan).report))

    def test_a_table_of_each_system(self, place: Path) -> None:
        paths = self.written(place, "[[output]]\nfile = 'by/{system}_results.csv'\nform = 'cutoffs'\n")
        assert paths == [place / "by" / f"{name}_results.csv" for name in ("base", "tuned")]
        rows = list(csv.DictReader(io.StringIO(paths[0].read_text())))
        assert [row["k"] for row in rows] == ["1", "4"]
        assert float(rows[1]["recall_mean"]) == pytest.approx(overlap(REF, BASE, 4), abs=1e-12)
        assert paths[0].read_text() != paths[1].read_text()

    def test_the_table_of_one_system(self, place: Path) -> None:
        both = self.written(place, "[[output]]\nfile = '{system}.csv'\nform = 'cutoffs'\n")
        (one,) = self.written(place, "[[output]]\nfile = 'one.csv'\nform = 'cutoffs'\nsystem = 'tuned'\n")
        assert one.read_text() == both[1].read_text()

    def test_a_picture(self, place: Path) -> None:
        (path,) = self.written(place, "", "outputs = 'plot.png'\n" + HEAD + GOLD + SYSTEMS)
        assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")

    def test_the_saved_report_has_the_agreement(self, place: Path) -> None:
        (path,) = self.written(place, "[agreement]\n", "outputs = 'a.json'\n" + HEAD + GOLD + SYSTEMS)
        saved = json.loads(path.read_text())["systems"]["base"]["agreement"]
        assert list(saved["figures"]) == ["spearman", "kendall", "pearson", "mae", "rmse"]

    @pytest.mark.parametrize(
        ("more", "told"),
        [
            ("file = '{system}.json'\n", "the form cutoffs is CSV, not .json"),
            ("file = '{system}'\n", "the form cutoffs is CSV, not a name without suffix"),
            ("file = 'a.csv'\n", "which system is not said"),
            ("file = 'a.csv'\nsystem = 'bose'\n", "no system is called 'bose'"),
        ],
    )
    def test_refused(self, tmp_path: Path, more: str, told: str) -> None:
        with pytest.raises(UsageError, match="output") as caught:
            check_outputs(checked(tmp_path, HEAD + GOLD + SYSTEMS + "[[output]]\nform = 'cutoffs'\n" + more))
        assert told in str(caught.value)

    @pytest.mark.parametrize("more", ["outputs = 'a.png'\n", "[[output]]\nform = 'cutoffs'\nfile = '{system}.csv'\n"])
    def test_without_cut_offs(self, tmp_path: Path, more: str) -> None:
        text = "gold = 'qrels.txt'\nsystems.x = 'x.trec'\nmeasures = ['ap']\n"
        with pytest.raises(UsageError, match="no measure has a cut-off"):
            check_outputs(checked(with_runs(tmp_path), text + more))

    def test_names_that_come_to_one_file(self, tmp_path: Path) -> None:
        text = HEAD + GOLD + "[systems]\n'a b' = 'x.trec'\na_b = 'y.trec'\n"
        with pytest.raises(UsageError, match="two outputs have one name"):
            check_outputs(checked(tmp_path, text + "[[output]]\nform = 'cutoffs'\nfile = '{system}.csv'\n"))

    def test_a_table_would_replace_what_the_plan_reads(self, tmp_path: Path) -> None:
        text = HEAD + GOLD + "[systems]\nx = 'x.csv'\n[[output]]\nform = 'cutoffs'\nfile = '{system}.csv'\n"
        with pytest.raises(UsageError, match="the plan reads this file"):
            check_outputs(checked(tmp_path, text))


class TestDraft:
    @pytest.mark.parametrize("names", [["reference", "small"], ["teacher", "a", "b"], ["ref", "we ird.é"]])
    def test_it_runs_as_it_is(self, tmp_path: Path, names: list[str]) -> None:
        for name, vectors in zip(names, (REF, BASE, TUNED), strict=False):
            np.savez(tmp_path / f"{name}.npz", **held(vectors))
        text = draft("papers", scan_folder(tmp_path), "mine")
        plan = checked(tmp_path, QUICK + text)
        check_outputs(plan)
        found = carried_out(tmp_path, QUICK + text)
        systems = list(found.report.systems)
        assert len(systems) == len(names) - 1 and set(found.report.sections_of(Agreement)) == set(systems)
        assert means(found, systems[0])["recall(over=k,gold=k)@10"] == pytest.approx(overlap(REF, BASE, 10), abs=1e-12)
        assert {1, 3, 5, 10} <= set(plan.cuts) and all(label.endswith("@10") for label in plan.headline)
        assert (found.report.baseline is not None) == (len(names) > 2)

    def test_what_it_proposes_in_comments_runs_too(self, tmp_path: Path) -> None:
        put(tmp_path, reference__npz=held(REF), small__npz=held(BASE))
        lines = draft("reference", scan_folder(tmp_path), "mine").splitlines()
        first = next(number for number, line in enumerate(lines) if line.startswith("# [systems."))
        lines[first : first + 4] = [line.removeprefix("# ") for line in lines[first : first + 4]]
        text = "\n".join(lines).replace("# sample = 500", "sample = 20 #")
        found = carried_out(tmp_path, QUICK + text)
        assert list(found.report.systems) == ["small", "small-int8"]
        assert len(found.report.scores["small"].queries) == 20

    def test_without_files_it_says_what_lacks(self, tmp_path: Path) -> None:
        with pytest.raises(RankjuryError, match=r"reference\.npy.*no such file"):
            carried_out(tmp_path, QUICK + draft("reference", scan_folder(tmp_path), "mine"))
