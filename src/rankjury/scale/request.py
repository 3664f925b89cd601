"""Request of a block-wise evaluation, in one process or on Spark, and its tables."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os.path import exists, isdir
from pathlib import Path

import polars as pl

from rankjury.core.columns import ITEM, QUERY
from rankjury.errors import DataError, UnknownName, UsageError, guard_reading
from rankjury.evaluation.judge import DuplicateRule
from rankjury.evaluation.slices import ItemGroups, SliceTable
from rankjury.evaluation.slices.groups import Attribute
from rankjury.io.attributes import check_attributes, read_attributes
from rankjury.measures.dialects import NamedMeasure
from rankjury.scale.memory import Budget, temporary_folder
from rankjury.scale.parquet import ParquetTable, is_parquet, open_parts, open_table
from rankjury.stats.mergeable import ScoreColumn, TableLayout
from rankjury.stats.resampling import Resampling

_SHARE_OF_ATTRIBUTES = 10
_ITEMS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class SliceFile:
    """Attribute table, by path or by its name in messages, and the attributes to group by; None: all suitable ones."""

    path: str
    asked: Sequence[Sequence[Attribute]] | None = None


@dataclass(frozen=True, eq=False)
class EvaluationRequest:
    """Systems, measures and options of an evaluation. It is sent to the executors."""

    gold: str
    """Path of the gold."""
    systems: dict[str, str]
    """Paths of the rankings by system name."""
    asked: tuple[NamedMeasure, ...]
    resampling: Resampling | None
    baseline: str | None = None
    duplicates: DuplicateRule = "error"
    attributes: tuple[SliceFile, ...] = ()
    item_groups: ItemGroups | None = None
    quantiles: tuple[float, ...] = ()
    """Shares of the queries at which scores are reported, between 0 and 1."""

    def __post_init__(self) -> None:
        if not self.systems or not self.asked:
            found = f"found {len(self.systems)} rankings and {len(self.asked)} measures"
            raise UsageError(found, expected="one of each, or more")
        if self.baseline is not None and self.baseline not in self.systems:
            raise UnknownName("system", self.baseline, self.systems)
        if self.baseline is not None and self.resampling is None:
            raise UsageError("a comparison needs confidence intervals", hint="Drop --no-ci, or intervals=False.")
        outside = next((share for share in self.quantiles if not 0 <= share <= 1), None)
        if outside is not None:
            raise UsageError(f"found a quantile at {outside:g}", expected="a share between 0 and 1, such as 0.05")
        for asked in self.asked:
            measure = asked.measure
            if measure.metric.of_lists or measure.metric.whole:
                found = f"{asked.label} needs all lists at once, and cannot be computed in blocks"
                hint = "Take a sample of the queries for it."
                raise UsageError(found, expected="measures that have a value for each query", hint=hint)
            for option in measure.metric.options:
                if option.from_gold and measure[option.name] is None:
                    cut = "" if measure.k is None else f"@{measure.k}"
                    raise UsageError(
                        f"{asked.label} computes {option.name} from the whole gold, but a block has only some queries",
                        expected=f"a value for {option.name}: {option.about}",
                        hint=f"For example: {measure.name}({option.name}=4){cut}",
                    )

    @property
    def layout(self) -> TableLayout:
        """Columns of scores: all measures of the first system, then those of the next."""
        metrics = [(asked.label, asked.measure.metric) for asked in self.asked]
        columns = tuple(
            ScoreColumn(name, label, metric.aggregate, metric.lower_is_better, metric.descriptive)
            for name in self.systems
            for label, metric in metrics
        )
        return TableLayout.of(columns, self.baseline)


@contextmanager
def open_inputs(
    request: EvaluationRequest,
    slices: Sequence[SliceFile],
    item_slices: Sequence[SliceFile],
    budget: Budget,
    temp: Path | None = None,
) -> Iterator[tuple[EvaluationRequest, list[ParquetTable]]]:
    """Yield the request with its slices, and the tables in the order of the frames of a block."""
    for path in (request.gold, *request.systems.values()):
        if exists(path) and not is_parquet(path):
            raise DataError(
                "not a Parquet file; block-wise evaluation reads Parquet only",
                where=path,
                expected="a Parquet file, or a folder of them",
                hint="Convert it: rankjury convert RUN run.parquet. Folders, --memory and --on need it.",
            )
    gold = open_table(request.gold, "gold")
    tables = [gold, *(open_table(path, "run") for path in request.systems.values())]
    groups = None
    if item_slices:
        judged = pl.Series(ITEM, [], dtype=pl.String)
        for batch in gold.batches(_ITEMS_AT_ONCE):
            judged = pl.concat([judged, batch[ITEM].cast(pl.String)]).unique()
        groups = ItemGroups.of(judged.sort(), read_item_cuts(item_slices))
    as_text = any(table.schema[QUERY] == pl.String for table in tables)
    with temporary_folder(temp) as folder:
        for number, table in enumerate(slices):
            tables.append(_open_attributes(table.path, folder / f"{number}.parquet", budget, as_text=as_text))
        yield replace(request, attributes=tuple(slices), item_groups=groups), tables


def _open_attributes(path: str, target: Path, budget: Budget, *, as_text: bool) -> ParquetTable:
    """Open an attribute table; a small one is sorted, so that sorted tables can be merged.

    ``as_text``: the ids of the other tables are text, and sorted as such.
    """
    if is_parquet(path):
        table = open_table(path, "attributes")
        if table.rows * table.bytes_per_row > budget.memory / _SHARE_OF_ATTRIBUTES:
            return table
        rows = pl.concat(table.batches(table.rows))
    else:
        given, id_column = read_attributes(path, "query")
        rows = given.rename({id_column: QUERY}) if id_column != QUERY else given
    ids = rows[QUERY].cast(pl.String) if as_text else rows[QUERY].cast(pl.Int64, strict=False)
    if as_text or ids.cast(pl.String).equals(rows[QUERY].cast(pl.String)):  # all are digits of whole numbers
        rows = rows.with_columns(ids)
    rows.sort(QUERY).write_parquet(target)
    return replace(open_table(target, "attributes"), name=path)


def read_item_cuts(item_slices: Sequence[SliceFile]) -> list[SliceTable]:
    """Read tables of item attributes, also from folders of Parquet files."""
    cuts = []
    for file in item_slices:
        if isdir(file.path):
            parts = open_parts(Path(file.path))
            with guard_reading(file.path, "a folder of Parquet files"):
                rows = pl.concat([part.scan().collect() for part in parts], how="vertical_relaxed")
            table, id_column = check_attributes(rows, "item", file.path)
        else:
            table, id_column = read_attributes(file.path, "item")
        cuts.append(SliceTable(table, id_column, "items", file.asked, file.path))
    return cuts
