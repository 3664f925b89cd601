"""A section that a third party adds to reports: the weather while a system ran."""

from collections.abc import Iterator
from dataclasses import dataclass

from rankjury.evaluation.sections import ReportWarning, Section

HOT = 30.0


@dataclass(frozen=True, eq=False)
class Weather(Section):
    """Temperatures by place."""

    name = "weather"

    degrees: dict[str, float]

    def warnings(self) -> Iterator[ReportWarning]:
        hot = [place for place, found in self.degrees.items() if found > HOT]
        if hot:
            yield ReportWarning(f"it was hot in {', '.join(hot)}", code="heat", count=len(hot))
