"""Annotations told in words."""

import polars as pl

from rankjury.labeling.keywords.annotations import annotations_corpus, annotations_from_frame


def test_keywords_by_group() -> None:
    frame = pl.DataFrame(
        {
            "clip": ["a", "b", "c"],
            "who": ["bike|car", "n/a", "car"],
            "does": ["moving_slow", None, ""],
            "wet": [True, False, False],
        }
    )
    corpus = annotations_corpus(annotations_from_frame(frame, id_column="clip"))
    assert corpus.ids.to_list() == ["a", "c"] and corpus.skipped == ["b"], "nothing can be said of b"
    assert corpus.texts.to_list() == ["bike, car; moving slow; wet", "car"]
