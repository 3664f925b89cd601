"""What is asked of an evaluation that runs in blocks, wherever they are: it is sent to workers as it is."""

from collections.abc import Sequence
from dataclasses import dataclass

from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.judge import DuplicateRule
from rankjury.evaluation.slices import ItemGroups
from rankjury.evaluation.slices.groups import Attribute
from rankjury.measures.dialects import NamedMeasure
from rankjury.stats.mergeable import ScoreColumn, TableLayout
from rankjury.stats.resampling import Resampling


@dataclass(frozen=True)
class SliceAttributes:
    """What to group queries by, of one table of attributes; None: whatever groups well."""

    where: str
    asked: Sequence[Sequence[Attribute]] | None


@dataclass(frozen=True, eq=False)
class EvaluationRequest:
    """Systems by name, measures, and what else is wanted."""

    gold: str
    """Where the gold is from."""
    systems: dict[str, str]
    """By name, where the ranking is from."""
    asked: tuple[NamedMeasure, ...]
    resampling: Resampling | None
    baseline: str | None = None
    duplicates: DuplicateRule = "error"
    attributes: tuple[SliceAttributes, ...] = ()
    item_groups: ItemGroups | None = None
    quantiles: tuple[float, ...] = ()
    """Shares of the queries whose scores are asked for, between 0 and 1."""

    def __post_init__(self) -> None:
        if self.baseline is not None and self.baseline not in self.systems:
            raise UnknownName("system", self.baseline, self.systems)
        if self.baseline is not None and self.resampling is None:
            raise UsageError("a comparison needs confidence intervals", hint="Drop --no-ci, or intervals=False.")
        outside = next((share for share in self.quantiles if not 0 <= share <= 1), None)
        if outside is not None:
            raise UsageError(f"found a quantile at {outside:g}", expected="a share between 0 and 1, such as 0.05")
        for one in self.asked:
            if one.measure.metric.of_lists or one.measure.metric.whole:
                raise UsageError(
                    f"{one.label} is about all lists together, and cannot be had in blocks",
                    expected="measures that each query has a value of",
                    hint="Take a sample of the queries for it.",
                )
            for option in one.measure.metric.options:
                if option.from_gold and one.measure[option.name] is None:
                    cut = "" if one.measure.k is None else f"@{one.measure.k}"
                    raise UsageError(
                        f"{one.label} takes {option.name} from the whole gold, of which a block has only some queries",
                        expected=f"a value for {option.name}: {option.about}",
                        hint=f"For example: {one.measure.name}({option.name}=4){cut}",
                    )

    @property
    def layout(self) -> TableLayout:
        """The columns of scores: all measures of the first system, then those of the next."""
        columns = tuple(
            ScoreColumn(name, one.label, metric.aggregate, metric.lower_is_better, metric.descriptive)
            for name in self.systems
            for one in self.asked
            for metric in [one.measure.metric]
        )
        return TableLayout.of(columns, self.baseline)
