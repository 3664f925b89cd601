"""Annotations told in words, for models that read texts: a stand-in where there is nothing else to embed."""

import polars as pl

from rankjury.labeling.keywords.vocabulary import Annotations
from rankjury.retrieval.embedding.corpus import Corpus


def rendered(annotations: Annotations) -> Corpus:
    """Of each item its keywords by group: ``bicyclist, entering ego path; urban``. One without any is left out."""
    vocabulary = annotations.vocabulary
    spoken = [one.name.replace("_", " ") for one in vocabulary.keywords]
    group_of = [one.group for one in vocabulary.keywords]
    ids, texts, skipped = [], [], []
    for row, id_ in enumerate(annotations.ids):
        parts: dict[str, list[str]] = {}
        for code in annotations.codes[annotations.starts[row] : annotations.starts[row + 1]].tolist():
            parts.setdefault(group_of[code], []).append(spoken[code])
        if parts:
            ids.append(id_)
            texts.append("; ".join(", ".join(names) for names in parts.values()))
        else:
            skipped.append(id_)
    return Corpus(
        pl.Series("id", ids, dtype=pl.String),
        pl.Series("text", texts, dtype=pl.String),
        vocabulary.groups,
        "; ",
        annotations.source,
        skipped,
    )
