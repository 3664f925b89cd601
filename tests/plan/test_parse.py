"""Plans read and checked: every fault with its key and its line, all together; short forms, cut-offs, headline."""

import re
from pathlib import Path

import pytest

from rankjury.errors import DataError, UsageError
from rankjury.evaluation.targets import Target
from rankjury.plan.gold.labels import LabelsGold
from rankjury.plan.parse import CheckedPlan, read_plan
from rankjury.plan.systems.run import RunSystem
from tests.plan import SHORT, checked, plan_in


def faults_of(folder: Path, text: str) -> list[str]:
    """The faults as told, each without the path of the plan: ``3, measures[1]: …``."""
    path = plan_in(folder, text)
    with pytest.raises(UsageError) as caught:
        read_plan(path)
    error = caught.value
    assert error.exit_code == 2
    lines = list(error.details) or [str(error)]
    if error.details:
        assert str(error).splitlines()[0] == f"{path}: {len(error.details)} faults in the plan"
        assert str(error).splitlines()[1:] == [f"  {line}" for line in error.details]
    assert all(line.startswith(str(path)) for line in lines)
    return [line.removeprefix(str(path)).lstrip(":, ") for line in lines]


def one_fault(folder: Path, line: str) -> str:
    """Of a plan that is right but for its third line: ``measures[1]: …``."""
    (fault,) = faults_of(folder, SHORT + line)
    assert fault.startswith("3, ")
    return fault.removeprefix("3, ")


class TestFaults:
    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("basline = 'x'", "basline: unknown key 'basline'. Did you mean baseline?"),
            ("zzz = 1", "zzz: unknown key 'zzz'. Known: agreement, baseline, conventions, cutoffs"),
            ("statistics.seeds = 1", "statistics.seeds: unknown key 'seeds'. Did you mean seed?"),
            ("conventions.tie = 'id'", "conventions.tie: unknown key 'tie'. Did you mean ties?"),
            ("systems.y = { path = 'y', forma = 'trec' }", "systems.y.forma: unknown key 'forma'. Did you mean"),
            ("systems.y = { kind = 'vectors', path = 'y', idz = 'i' }", "systems.y.idz: unknown key 'idz'. Did you"),
            ("target = [{ require = 'ap > 0', slise = 'a' }]", "target[1].slise: unknown key 'slise'. Did you mean"),
            ("output = [{ file = 'a.json', from = 'x' }]", "output[1].from: unknown key 'from'. Did you mean form?"),
        ],
    )
    def test_unknown_keys(self, tmp_path: Path, line: str, told: str) -> None:
        assert one_fault(tmp_path, line).startswith(told)

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("name = 3", "name: found 3, expected a valid string"),
            ("baseline = ['x']", "baseline: expected a valid string"),
            ("version = 2", "version: found 2, expected 1"),
            ("cutoffs = [5, 0]", "cutoffs[2]: found 0, expected greater than or equal to 1"),
            ("cutoffs = [5, 1.5]", "cutoffs[2]: found 1.5, expected a valid integer"),
            ("cutoffs = ['5']", "cutoffs[1]: found '5', expected a valid integer"),
            ("measures = []", "measures: list should have at least 1 item"),
            ("statistics.level = 1.0", "statistics.level: found 1.0, expected less than 1"),
            ("statistics.interval = 'exact'", "statistics.interval: found 'exact', expected 'auto', 'bca' or"),
            ("conventions.rel = '2'", "conventions.rel: found '2', expected a valid number"),
            ("conventions.missing = 'no'", "conventions.missing: found 'no', expected 'zero', 'skip' or 'error'"),
            ("figures.x.latency = 'fast'", "figures.x.latency: found 'fast', expected a valid number"),
            ("output = [{ file = 'a.json', k = 0 }]", "output[1].k: found 0, expected greater than or equal to 1"),
            ("systems.y = { kind = 'vectors', path = 'v', depth = 0 }", "systems.y.depth: found 0, expected greater"),
            ("systems.y = 3", "systems.y: found 3, expected"),
            ("statistics = 3", "statistics: found 3, expected"),
        ],
    )
    def test_wrong_types_and_values(self, tmp_path: Path, line: str, told: str) -> None:
        assert one_fault(tmp_path, line).startswith(told)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("systems.x = 'x.trec'\n", ["gold: missing"]),
            ("gold = 'qrels.txt'\n", ["systems: missing"]),
            ("gold = 'qrels.txt'\n[systems]\n", ["2, systems: dictionary should have at least 1 item"]),
            ("systems.x = 'x'\n[gold]\nkind = 'ordered'\n", ["2, gold.path: missing"]),
            (SHORT + "systems.y = { kind = 'run' }\n", ["3, systems.y.path: missing"]),
            (SHORT + "systems.y = { kind = 'fusion' }\n", ["3, systems.y.of: missing"]),
            (SHORT + "[[target]]\nslice = 'a=b'\n", ["3, target[1].require: missing"]),
            (SHORT + "[[output]]\nform = 'queries'\n", ["3, output[1].file: missing"]),
        ],
    )
    def test_missing_keys(self, tmp_path: Path, text: str, told: list[str]) -> None:
        found = faults_of(tmp_path, text)
        assert [fault[: len(start)] for fault, start in zip(found, told, strict=True)] == told

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("systems.x = 'x'\n[gold]\nlabels = 'q.txt'\n", ["2, gold.path: missing", "3, gold.labels: unknown key"]),
            (SHORT + "[systems.y]\nrun = 'y'\n", ["3, systems.y.path: missing", "4, systems.y.run: unknown key"]),
        ],
    )
    def test_a_key_that_is_spelled_like_its_kind(self, tmp_path: Path, text: str, told: list[str]) -> None:
        found = faults_of(tmp_path, text)
        assert [fault[: len(start)] for fault, start in zip(found, told, strict=True)] == told

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("systems.y = { kind = 'vector', path = 'a' }", "systems.y.kind: unknown kind of system 'vector'. Did you"),
            ("systems.y = { kind = 'zzz' }", "systems.y.kind: unknown kind of system 'zzz'. Known: fusion, index,"),
            (
                "systems.y = { kind = 'vectors', path = 'v', metric = 'cos' }",
                "systems.y.metric: unknown similarity 'cos'",
            ),
            (
                "systems.y = { kind = 'vectors', path = 'v', engine = 'x' }",
                "systems.y.engine: found 'x', expected 'exact'",
            ),
            ("measures = ['ap', 'ndgc@10']", "measures[2]: unknown measure 'ndgc@10'. Did you mean ndcg@10"),
            ("measures = ['ndcg(gain=x)@10']", "measures[1]: ndcg(gain=x)@10: "),
            ("measures = ['ndcg@0']", "measures[1]: ndcg@0: a cut-off of 0"),
            ("headline = ['ap', 'err']", "headline[2]: unknown measure of this plan: 'err'. "),
            ("headline = ['erx']", "headline[1]: unknown measure 'erx'"),
            (
                "targets = ['ap > 0', 'ap = 0']",
                "targets[2]: cannot read the target 'ap = 0'; expected something",
            ),
            ("target = [{ require = 'ap' }]", "target[1].require: cannot read the target 'ap'"),
            ("target = [{ require = 'ap > 0', system = 'y' }]", "target[1].system: unknown system 'y'. Known: x"),
            ("baseline = 'xx'", "baseline: unknown system 'xx'. Did you mean x?"),
            ("figures.y.latency = 3", "figures.y: unknown system 'y'. Known: x"),
            ("systems.y = { kind = 'fusion', of = ['x', 'z'] }", "systems.y.of[2]: unknown system 'z'. Known: x, y"),
            ("systems.y = { kind = 'fusion', of = [] }", "systems.y.of: list should have at least 1 item"),
            ("systems.y = { kind = 'fusion', of = ['x'], c = -1 }", "systems.y.c: c=-1; expected a number above -1"),
            ("slices = ['a.csv:t', 'a.csv:t(bins=x)']", "slices[2]: "),
            ("item_slices = ['a.csv:t(quantiles=0)']", "item_slices[1]: "),
        ],
    )
    def test_unknown_names_and_what_cannot_be_read(self, tmp_path: Path, line: str, told: str) -> None:
        assert one_fault(tmp_path, line).startswith(told)

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("conventions.dialect = 'trec'", "conventions.dialect: unknown dialect 'trec'. Did you mean trec_eval"),
            ("systems.y = { kind = 'fusion', of = ['x'], method = 'rff' }", "systems.y.method: unknown way of fusing"),
            (
                "systems.y = { kind = 'fusion', of = ['x'], method = 'combsum', normalise = 'no' }",
                "systems.y.normalise: ",
            ),
        ],
    )
    def test_the_key_at_fault(self, tmp_path: Path, line: str, told: str) -> None:
        assert one_fault(tmp_path, line).startswith(told)

    @pytest.mark.parametrize(
        "line", ["targets = 3", "slices = 3", "outputs = [1]", "meta.x = [1]", "statistics.resamples = 1"]
    )
    def test_one_mistake_is_one_fault(self, tmp_path: Path, line: str) -> None:
        """The number of resamples must be one that resampling takes."""
        key = line.partition(" ")[0]
        assert re.match(rf"{re.escape(key)}(\[1\])?: .*expected", one_fault(tmp_path, line))

    @pytest.mark.parametrize(
        ("weights", "told"),
        [
            ("{ x = 1 }", "no weight for y"),
            ("{ x = 1, y = 1, z = 1 }", "a weight for z, which is not in of"),
            ("{ x = 1, y = -1 }", "a weight of -1"),
            ("{ x = 0, y = 0 }", "no weight is above 0"),
        ],
    )
    def test_weights_that_do_not_fit(self, tmp_path: Path, weights: str, told: str) -> None:
        text = f"{SHORT}systems.y = 'y'\n[systems.f]\nkind = 'fusion'\nof = ['x', 'y']\nweights = {weights}\n"
        (fault,) = faults_of(tmp_path, text)
        assert fault.startswith(f"7, systems.f.weights: {told}")

    @pytest.mark.parametrize(
        ("of", "faults"),
        [
            ({"f": ["x", "f"]}, ["3, systems.f.of: depends on itself"]),
            ({"f": ["g"], "g": ["f"]}, ["3, systems.f.of: depends on itself", "4, systems.g.of: depends on itself"]),
            ({"f": ["g", "x"], "g": ["h"], "h": ["x"]}, []),
        ],
    )
    def test_circles(self, tmp_path: Path, of: dict[str, list[str]], faults: list[str]) -> None:
        text = SHORT + "".join(f"systems.{name} = {{ kind = 'fusion', of = {needs} }}\n" for name, needs in of.items())
        if faults:
            assert faults_of(tmp_path, text) == faults
        else:
            assert list(checked(tmp_path, text).plan.systems) == ["x", *of]

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("targets = ['ndgc@10 > 0']", "targets[1]: unknown measure or figure 'ndgc@10'"),
            ("targets = ['err@20 > 0']", "targets[1]: "),
            ("targets = ['ap drop <= 0.1']", "targets[1]: "),
        ],
    )
    def test_targets_that_cannot_be_held_against_anything(self, tmp_path: Path, line: str, told: str) -> None:
        assert one_fault(tmp_path, line).startswith(told)


class TestTogether:
    def test_several_faults_in_the_order_of_their_kind(self, tmp_path: Path) -> None:
        text = SHORT + "\nbaseline = 'y'\nmeasures = [\n  'ap',\n  'ndgc@10', # typo\n  'foo@x',\n]\n"
        text += "[[target]]\nrequire = 'ap'\n"
        starts = ["7, measures[2]: unknown", "8, measures[3]: ", "11, target[1].require: ", "4, baseline: unknown"]
        found = faults_of(tmp_path, text)
        assert [fault[: len(start)] for fault, start in zip(found, starts, strict=True)] == starts

    def test_several_of_shape(self, tmp_path: Path) -> None:
        found = faults_of(tmp_path, "nam = 'a'\ncutoffs = [0]\n[gold]\nkind = 'ordred'\n[systems.x]\nkind = 'run'\n")
        assert sorted(fault.partition(":")[0] for fault in found) == [
            "1, nam",
            "2, cutoffs[1]",
            "4, gold.kind",
            "5, systems.x.path",
        ]

    def test_no_toml(self, tmp_path: Path) -> None:
        path = plan_in(tmp_path, "gold = [\n")
        with pytest.raises(UsageError, match="not TOML: ") as caught:
            read_plan(path)
        assert caught.value.exit_code == 2 and str(caught.value).startswith(f"{path}: ")

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no such file"):
            read_plan(tmp_path / "none.toml")

    def test_nothing_that_it_names_is_opened(self, tmp_path: Path) -> None:
        assert checked(tmp_path, SHORT).plan.baseline is None
        assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]


class TestMeaning:
    def test_short_forms(self, tmp_path: Path) -> None:
        plan = checked(tmp_path, SHORT).plan
        assert plan.gold == LabelsGold(path="qrels.txt") and plan.systems == {"x": RunSystem(path="x.trec")}
        long = "[gold]\nkind = 'labels'\npath = 'qrels.txt'\n[systems.x]\nkind = 'run'\npath = 'x.trec'\n"
        for text in (long, long.replace("kind", "# kind")):
            assert checked(tmp_path, text).plan.model_dump() == plan.model_dump()

    def labels(self, found: CheckedPlan) -> list[str]:
        return [one.label for one in found.asked]

    def test_cut_offs_of_measures_that_have_none(self, tmp_path: Path) -> None:
        """bpref knows no cut-off, rr@7 has its own; what stands twice is there once."""
        found = checked(tmp_path, SHORT + "measures = ['ndcg(gain=exp)', 'rr@7', 'bpref', 'rr']\ncutoffs = [5, 7, 1]\n")
        at = ["ndcg(gain=exp)@5", "ndcg(gain=exp)@7", "ndcg(gain=exp)@1"]
        assert self.labels(found) == [*at, "rr@7", "bpref", "rr@5", "rr@1"]
        assert found.cuts == (1, 5, 7) and found.headline == tuple(self.labels(found))
        assert self.labels(checked(tmp_path, SHORT + "measures = ['ndcg', 'rr@7']\n")) == ["ndcg", "rr@7"]

    def test_headline(self, tmp_path: Path) -> None:
        text = SHORT + "measures = ['ndcg', 'hits']\ncutoffs = [5, 9]\nheadline = ['hits@9', 'ndcg(gain=linear)@5']\n"
        assert checked(tmp_path, text).headline == ("hits@9", "ndcg@5")
        assert checked(tmp_path, text.replace("hits@9", "recall@9")).headline == ("hits@9", "ndcg@5")

    def test_headline_under_conventions(self, tmp_path: Path) -> None:
        text = SHORT + "measures = ['hits@9']\nheadline = ['recall@9']\nconventions.rel = 2\n"
        assert checked(tmp_path, text).headline == ("hits@9",)

    def test_conventions_and_dialect(self, tmp_path: Path) -> None:
        text = (
            SHORT
            + "measures = ['ndcg@5', 'recall(rel=1)@5']\n[conventions]\nrel = 2\nties = 'order'\nmissing = 'skip'\n"
        )
        first, second = (one.measure for one in checked(tmp_path, text).asked)
        assert (first["rel"], first["ties"], first["missing"], second["rel"]) == (2.0, "order", "skip", 1.0)
        found = checked(tmp_path, SHORT + "measures = ['map']\nconventions.dialect = 'trec_eval'\n").asked[0]
        assert found.label == "map" and (found.measure["ties"], found.measure["empty"]) == ("id-desc", "zero")

    def test_targets_of_both_forms(self, tmp_path: Path) -> None:
        text = (
            SHORT + "targets = 'ap >= 0.5'\n[[target]]\nrequire = 'rr > 0'\nslice = 'a=b'\nsystem = 'x'\nname = 'N'\n"
        )
        assert checked(tmp_path, text).targets == (
            Target("ap", ">=", 0.5),
            Target("rr", ">", 0.0, slice="a=b", system="x", name="N"),
        )

    def test_where_it_stands(self, tmp_path: Path) -> None:
        found = checked(tmp_path / "below", SHORT)
        assert (found.folder, found.where) == (tmp_path / "below", str(tmp_path / "below" / "plan.toml"))


class TestOddValues:
    """Values that TOML can hold and no key of a plan can take."""

    @pytest.mark.parametrize(
        "line",
        [
            "systems.y = { path = 'y', threshold = nan }",
            "systems.y = { path = 'y', threshold = -inf }",
            "meta = { a = inf }",
            "systems.y = { kind = 'random', candidates = 9223372036854775808 }",
            f"statistics.seed = {'9' * 400}",
            'outputs = "a\\u0000.json"',
            'meta = { "a\\u0000" = 1 }',
            'systems."y\\u0000" = "y.trec"',
            f"measures = ['ndcg@{'9' * 30}']",
            f"measures = ['ndcg@{'9' * 5000}']",
            "systems.y = { kind = 'index', path = 'y', engine = 'faiss-hnsw', search = { ef_search = 2147483648 } }",
            f"meta = {{ a = {'[' * 60}{']' * 60} }}",
        ],
    )
    def test_each_is_a_fault_with_its_line(self, tmp_path: Path, line: str) -> None:
        assert len(one_fault(tmp_path, line)) < 500

    @pytest.mark.parametrize("value", ["9" * 5000, "[" * 1500 + "]" * 1500])
    def test_what_the_parser_gives_up_on(self, tmp_path: Path, value: str) -> None:
        path = plan_in(tmp_path, SHORT + f"meta.a = {value}\n")
        with pytest.raises(UsageError) as caught:
            read_plan(path)
        assert caught.value.where == str(path)

    def test_an_unknown_key_of_a_table_that_may_be_left_out(self, tmp_path: Path) -> None:
        gold = "gold = { kind = 'interactions', path = 'x.csv', candidates = { sampld = 3 } }\n"
        faults = faults_of(tmp_path, gold + "systems.x = { kind = 'recommender', model = 'popularity' }\n")
        assert any("unknown key 'sampld'" in fault for fault in faults)

    @pytest.mark.parametrize("content", [b'name = "\xe9"\n', b"\xff\xfe\x00"])
    def test_a_plan_that_is_not_utf_8(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "plan.toml"
        path.write_bytes(content)
        with pytest.raises(DataError):
            read_plan(path)

    def test_a_folder_in_place_of_a_plan(self, tmp_path: Path) -> None:
        with pytest.raises(DataError):
            read_plan(tmp_path)
