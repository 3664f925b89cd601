"""Annotations told in words."""

import polars as pl

from rankjury.labeling.keywords.read_annotations import annotations_from_frame
from rankjury.labeling.keywords.render import rendered


def test_keywords_by_group() -> None:
    frame = pl.DataFrame(
        {
            "clip": ["a", "b", "c"],
            "who": ["bike|car", "n/a", "car"],
            "does": ["moving_slow", None, ""],
            "wet": [True, False, False],
        }
    )
    corpus = rendered(annotations_from_frame(frame, id_column="clip"))
    assert corpus.ids.to_list() == ["a", "c"] and corpus.skipped == ["b"], "nothing can be said of b"
    assert corpus.texts.to_list() == ["bike, car; moving slow; wet", "car"]
