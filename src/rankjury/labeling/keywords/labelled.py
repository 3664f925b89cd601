"""Texts whose keywords people gave: ``{"query_id": "t01", "text": "…", "keywords": ["bicyclist", …]}``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankjury.errors import DataError
from rankjury.io.attributes import is_query_lines
from rankjury.io.records import Row, parsed, read_records
from rankjury.io.source import Source
from rankjury.labeling.keywords.vocabulary import Vocabulary
from rankjury.labeling.products.queries import read_queries

KEYWORDS = "keywords"
_EXPECTED = f'a list such as "{KEYWORDS}": ["bicyclist", "entering ego path"]'


@dataclass(frozen=True)
class Labelled:
    """A text, and the numbers of its keywords."""

    id: str
    text: str
    numbers: frozenset[int]


def read_labelled(
    given: str | Path, vocabulary: Vocabulary, *, separator: str = "|", partly: bool = False
) -> list[Labelled]:
    """From .jsonl, .json, .csv or .parquet; keywords are a list, or a text in which they are split by a separator.

    ``partly``: texts without any are left out, instead of being refused.
    """
    if str(given) == "-" or is_query_lines(Source.open(given)):
        raise DataError(f"no {KEYWORDS}", where=str(given), expected=f"a file of texts, each with {_EXPECTED}")
    queries, records = read_queries(given, needs_texts=False), read_records(Source.open(given))
    return [
        Labelled(name, text, frozenset(vocabulary.find(one, where=record.place) for one in _names(record, separator)))
        for name, text, record in zip(queries["id"], queries["text"], records, strict=True)
        if not partly or record.fields.get(KEYWORDS) is not None
    ]


def _names(record: Row, separator: str) -> Sequence[str]:
    value: Any = record.fields.get(KEYWORDS)
    if isinstance(value, str):
        listed = parsed(value) if value.lstrip().startswith("[") else None
        value = listed if isinstance(listed, list) else [part for part in value.split(separator) if part.strip()]
    if value is None:
        raise DataError(f"no {KEYWORDS}", where=record.place, expected=_EXPECTED)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise DataError(f"{KEYWORDS} is {value!r}", where=record.place, expected=_EXPECTED)
    return [one.strip() for one in value]
