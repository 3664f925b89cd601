"""The HTML report of a run that was kept without one."""

from karat.archive.run import Run
from karat.archive.tables import asked_of
from karat.reports.html import Details, page_of
from karat.reports.html.details import keywords_of

__all__ = ["page_from"]


def page_from(run: Run) -> str:
    """From what the run holds of its queries."""
    import numpy as np

    asked = asked_of(run, "text")
    held = run.form_with_queries()["queries"]
    scores = {
        system: {label: np.array(values, dtype=np.float64) for label, values in columns.items()}
        for system, columns in held["scores"].items()
    }
    partial = {name: one.get("partial_matches") for name, one in run.form["systems"].items()}
    details = Details(
        held["ids"],
        asked["text"].to_list(),
        scores,
        held["slices"],
        run.names(),
        run.answers(),
        keywords_of({name: one for name, one in partial.items() if one}),
    )
    return page_of(run.form, details)
