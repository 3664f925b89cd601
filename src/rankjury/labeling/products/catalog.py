"""Product catalogue: reader of rankjury's columns, or of shop exports, whose fields are recognised by name."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, isfinite
from pathlib import Path
from typing import Any

import polars as pl

from rankjury.core.types import listed
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError, guard_reading
from rankjury.io.formats import TABLE_FORMATS, form_to_write, write
from rankjury.io.source import Source
from rankjury.io.tables import Row, parse_cell, read_records
from rankjury.retrieval.embedding.corpus import Corpus, join_columns

IDS = ("id", "item_id", "product_id", "parent_asin", "asin", "sku", "_id")
FIELDS: dict[str, tuple[str, ...]] = {
    "title": ("title", "name", "product_name", "product_title", "item_name"),
    "brand": ("brand", "brand_name", "store"),
    "color": ("color", "colour", "color_name", "colour_name", "colors", "colours"),
    "material": ("material", "material_type", "material_composition", "fabric_type", "fabric", "materials"),
    "audience": ("audience", "department", "target_audience", "gender", "target_gender", "departments"),
    "price": ("price",),
    "bullets": ("bullets", "bullet_points", "features", "feature", "about_product"),
    "description": ("description", "product_description"),
}
"""Names of each field, at the top level or within ``details``; the first with a value counts."""
PATHS = ("category", "categories", "product_type")
DEPARTMENT = "main_category"
_DETAILS = ("details", "product_details", "attributes")
_SHOWN = 40
_NOTHING = frozenset(("", "none", "null", "nan", "n/a", "na"))
_OF_BRANDS = re.compile(r"^(?:visit the\s+(.+?)\s+store|brand\s*:\s*(.+))$", re.IGNORECASE)
_NUMBER = re.compile(r"\d(?:[\d.,]*\d)?")
_STEPS = re.compile(r"\s*[>›»|]\s*")
_LINES = re.compile(r"\s*(?:\n|\s\|\s|•)\s*")


def normalise_name(name: str) -> str:
    """Return ``fabric_type`` for ``Fabric Type``."""
    return re.sub(r"[^\w]+", "_", name.strip().lower()).strip("_")


def _flatten(record: Row) -> Row:
    """Return a record with the fields of its details, an object or its JSON text, at the top level."""
    fields = {normalise_name(name): value for name, value in record.fields.items()}
    for name in _DETAILS:
        details = fields.get(name)
        if isinstance(details, str) and details.lstrip().startswith("{"):
            details = parse_cell(details.strip())
            if not isinstance(details, Mapping):
                item = next((record.fields[id_] for id_ in IDS if record.fields.get(id_)), None)
                found = f"{name} cannot be read: {str(fields[name])[:_SHOWN]!r}" + (f" (id {item})" if item else "")
                raise DataError(found, where=record.place, expected='a table such as {"Color": "Red"}')
        if isinstance(details, Mapping):
            del fields[name]
            inner_fields = {normalise_name(str(inner)): value for inner, value in details.items()}
            fields |= {inner: value for inner, value in inner_fields.items() if fields.get(inner) in (None, "")}
    return Row(record.place, fields)


def as_text(value: Any) -> str | None:
    """Return a value as text, lists with commas; None if it is empty."""
    if isinstance(value, list | tuple | set):
        return ", ".join(filter(None, map(as_text, value))) or None
    if value is None or isinstance(value, Mapping | bool) or (isinstance(value, float) and not isfinite(value)):
        return None
    text = str(value).strip()
    return None if text.lower() in _NOTHING else text


def as_brand(value: Any) -> str | None:
    """Return ``Nike`` for ``Visit the Nike Store``."""
    text = as_text(value)
    match = _OF_BRANDS.match(text or "")
    return (match.group(1) or match.group(2)).strip() if match else text


def as_list(value: Any) -> list[str]:
    """Return the texts of a list, also of a list written as text, or the lines of other text."""
    if isinstance(value, str):
        value = _listed(value) or _LINES.split(value)
    return [text for part in (value if isinstance(value, list | tuple) else [value]) if (text := as_text(part))]


def as_paths(value: Any) -> list[list[str]]:
    """Return category paths from text such as Shoes > Boots, from a list of its steps, or from several of either."""
    if isinstance(value, str):
        value = _listed(value) or [_STEPS.split(line) for line in value.splitlines()]
    if not isinstance(value, list | tuple):
        return []
    if any(isinstance(part, list | tuple) or (isinstance(part, str) and _STEPS.search(part)) for part in value):
        return [path for part in value for path in as_paths(part)]
    path = [text for part in value if (text := as_text(part))]
    return [path] if path else []


def category_paths(products: Sequence[Mapping[str, Any]]) -> list[list[list[str]]]:
    """Return the category paths of each product.

    A main category is a department (``AMAZON FASHION``), which would hide the type in the title; it counts only if the
    paths of other products end in it, and none continues after it.
    """
    paths = [next((found for name in PATHS if (found := as_paths(product.get(name)))), []) for product in products]
    every = list(chain.from_iterable(paths))
    types = {normalise_name(path[-1]) for path in every} - {normalise_name(path[0]) for path in every if len(path) > 1}
    mains = (as_paths(product.get(DEPARTMENT)) for product in products)
    return [
        own or [path for path in main if normalise_name(path[-1]) in types]
        for own, main in zip(paths, mains, strict=True)
    ]


def as_price(value: Any) -> float | None:
    """Return 12.99 for ``$12.99``, ``12,99 €`` and ``$12.99 - $19.99``; None if there is no price."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if isfinite(value) and value >= 0 else None
    match = _NUMBER.search(as_text(value) or "")
    if not match or "-" in str(value)[: match.start()]:
        return None
    number = match.group(0)
    place = max(number.rfind("."), number.rfind(","))
    cents = number[place + 1 :]
    # Three digits after a comma, as in 1,299, are not decimals.
    if place < 0 or (len(cents) == 3 and (number[place] == "," or number.count(".") > 1)):
        return float(re.sub(r"\D", "", number))
    return float(re.sub(r"\D", "", number[:place]) + f".{cents}")


def _listed(text: str) -> Iterable[Any] | None:
    if not text.lstrip().startswith("["):
        return None
    value = parse_cell(text.strip())
    return value if isinstance(value, list) else None


TEXTS = ("title", "bullets", "description")
_STEP = " > "
_OWN: dict[str, Any] = {
    **dict.fromkeys(("id", "title", "brand", "category", "color", "material", "audience"), pl.String),
    **{"price": pl.Float64, "bullets": pl.List(pl.String), "description": pl.String, "categories": pl.List(pl.String)},
}


@dataclass(frozen=True, eq=False)
class ProductCatalogue:
    """Products, one row per item."""

    frame: pl.DataFrame
    """id, title, brand, category, color, material, audience, price, bullets, description, categories (each a path such
    as ``Shoes > Boots``), then all other fields that are text, numbers or lists of texts."""
    source: str = "catalogue"
    notes: tuple[str, ...] = ()
    """Warnings about values that could not be read."""

    def __len__(self) -> int:
        return self.frame.height

    def __repr__(self) -> str:
        return f"Catalogue({self.source}: {len(self):,} items)"

    @property
    def ids(self) -> pl.Series:
        return self.frame["id"]

    @property
    def extras(self) -> list[str]:
        """Return the columns that are not standard columns."""
        return [name for name in self.frame.columns if name not in _OWN]

    def attributes(self) -> pl.DataFrame:
        """Return the id and the columns that items can be filtered and grouped by, without texts and empty columns."""
        filled = [name for name in self.frame.columns if self.frame[name].null_count() < len(self)]
        return self.frame.select(name for name in filled if name not in TEXTS)

    def texts(self, fields: Sequence[str] = ("title",), *, joint: str = "\n") -> pl.Series:
        """Return the chosen fields of each item as one text, as ``rankjury embed`` joins columns."""
        return self.corpus(fields, joint=joint).texts

    @check_arguments
    def corpus(self, fields: Sequence[str] = ("title",), *, joint: str = "\n") -> Corpus:
        """Return the corpus that ``rankjury embed`` would read, for the same vectors without a file."""
        if not len(fields):
            raise UsageError("no field was given", expected="something like title,bullets")
        for name in fields:
            if name not in self.frame.columns:
                raise UnknownName("field", name, self.frame.columns, where=self.source)
        texts = join_columns([self.frame[name] for name in fields], joint, self.source)
        return Corpus(self.ids, texts, tuple(fields), joint, self.source)


@check_arguments
def read_catalogue(path: str | Path, *, id_field: str | None = None) -> ProductCatalogue:
    """Read products from a .json, .jsonl, .csv, .tsv or .parquet file with one record per item.

    Args:
        path: The path, or ``-`` for standard input.
        id_field: The field of ids; by default the first of those rankjury knows that every record has.

    Returns:
        The catalogue. Products without any text stay where they have other fields.

    Raises:
        DataError: The file cannot be read, or an id is missing or a duplicate.

    Example:
        >>> rankjury.read_catalogue("items.jsonl", id_field="id")
    """
    source = Source.open(path)
    with guard_reading(source.name, "a catalogue"):
        records = [_flatten(record) for record in read_records(source)]
        chosen = _id_field(records, id_field, source.name)
        ids = _read_ids(records, chosen)
        paths = category_paths([record.fields for record in records])
        rows = [_row(name, record.fields, own) for name, record, own in zip(ids, records, paths, strict=True)]
        frame = pl.DataFrame(rows, schema=_OWN).with_columns(_extras(records, chosen))
        described, notes = _drop_bare_items(frame, records[0].place)
        return ProductCatalogue(described, source.name, (*_price_notes(frame, records), *notes))


def write_catalogue(catalogue: ProductCatalogue, path: Path) -> None:
    """Write a table that every command reads; in CSV and TSV lists become lines of one cell."""
    form, _ = form_to_write(path, None, TABLE_FORMATS)
    frame = catalogue.frame
    if form in ("csv", "tsv"):
        lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
        frame = frame.with_columns(pl.col(name).list.join("\n") for name in lists)
    write(frame, path, "table")


def _id_field(records: Sequence[Row], chosen: str | None, where: str) -> str:
    names = {name for record in records for name in record.fields}
    if chosen is not None:
        if normalise_name(chosen) not in names:
            raise UnknownName("field", chosen, names, where=where)
        return normalise_name(chosen)
    known = [name for name in IDS if name in names]
    everywhere = [name for name in known if all(record.fields.get(name) not in (None, "") for record in records)]
    if not known:
        raise DataError(
            f"found the fields {', '.join(records[0].fields)}; none holds ids",
            where=records[0].place,
            expected=f"one of {', '.join(IDS)}",
            hint="Give the field of ids with --id, in Python id_field=.",
        )
    return (everywhere or known)[0]


def _id(record: Row, field: str) -> str:
    value = record.fields.get(field)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        title = as_text(record.fields.get("title"))
        of = "" if title is None else f" ({title[:_SHOWN]!r})"
        raise DataError(f"the {field} is {value!r}{of}", where=record.place, expected="an id: a text or whole number")
    return str(value).strip()


def _read_ids(records: Sequence[Row], field: str) -> list[str]:
    ids = [_id(record, field) for record in records]
    first: dict[str, Row] = {}
    for name, record in zip(ids, records, strict=True):
        earlier = first.setdefault(name, record)
        if earlier is not record:
            others = [other for other in IDS if other != field and all(other in row.fields for row in records)]
            hint = (
                f"Is {others[0]} the id? Then --id {others[0]}, in Python id_field={others[0]!r}." if others else None
            )
            problem = f"duplicate {field} {name!r}, first at {earlier.place}"
            raise DataError(problem, where=record.place, expected="each id once", hint=hint)
    return ids


def _row(name: str, fields: dict[str, Any], paths: list[list[str]]) -> dict[str, Any]:
    given = {field: _first(fields, field) for field in FIELDS}
    row: dict[str, Any] = {"id": name, **{field: as_text(value) for field, value in given.items()}}
    row |= {"price": as_price(given["price"]), "brand": as_brand(given["brand"])}
    row["bullets"] = as_list(given["bullets"]) or None
    if isinstance(given["description"], list | tuple):
        row["description"] = "\n".join(as_list(given["description"])) or None
    row["category"] = paths[0][-1] if paths else None
    categories = as_paths(fields.get("categories"))
    if not any(path[-1] == row["category"] for path in categories):
        categories = [*paths, *categories]
    row["categories"] = list(dict.fromkeys(_STEP.join(path) for path in categories)) or None
    return row


def _drop_bare_items(frame: pl.DataFrame, where: str) -> tuple[pl.DataFrame, list[str]]:
    """Drop items that have neither text nor another field to match."""
    bare = frame.select(pl.all_horizontal(pl.col(*TEXTS).is_null())).to_series()
    if bare.all():
        raise DataError("no item has a text", where=where, expected=f"one of {', '.join(TEXTS)}")
    if not bare.any():
        return frame, []
    matched = pl.col(pl.String, pl.List(pl.String)).exclude(IDS)
    nothing = frame.select(pl.all_horizontal(matched.is_null())).to_series()
    without_text, omitted = frame["id"].filter(bare), frame["id"].filter(nothing)
    note = f"{len(without_text):,} of {frame.height:,} items have no title, bullets or description"
    note += f"; only their other fields are used: {listed(without_text)}"
    note += f"; omitted, as they have no other fields either: {listed(omitted)}" if len(omitted) else ""
    return frame.filter(~nothing), [note]


def _first(fields: dict[str, Any], field: str) -> Any:
    """Return the value under the first name of the field that has one."""
    values = (fields.get(name) for name in FIELDS[field])
    return next((value for value in values if as_text(value) is not None), None)


def _extras(records: Sequence[Row], id_field: str) -> list[pl.Series]:
    """Return columns of the other fields that are text, numbers or lists of them, and not too rare."""
    used = {id_field, *PATHS, DEPARTMENT, *chain.from_iterable(FIELDS.values()), *_OWN}
    counts: Counter[str] = Counter()
    for record in records:
        for name, value in record.fields.items():
            parts = value if isinstance(value, list | tuple) else [value]
            if name not in used and parts and all(isinstance(part, str | int | float) for part in parts):
                counts[name] += 1
    names = [name for name, number in counts.items() if number >= ceil(0.01 * len(records)) and name]
    return [_column(name, [record.fields.get(name) for record in records]) for name in names]


def _column(name: str, values: list[Any]) -> pl.Series:
    """Return numbers or booleans if all values are, else text, or lists of text."""
    known = [value for value in values if value is not None]
    for kind, dtype in ((bool, pl.Boolean), (int, pl.Int64), (int | float, pl.Float64)):
        if all(isinstance(value, kind) and (kind is bool or not isinstance(value, bool)) for value in known):
            return pl.Series(name, values, dtype=dtype, strict=False)
    if any(isinstance(value, list | tuple) for value in known):
        return pl.Series(name, [as_list(value) or None for value in values], dtype=pl.List(pl.String))
    return pl.Series(name, [str(v).lower() if isinstance(v, bool) else as_text(v) for v in values], dtype=pl.String)


def _price_notes(frame: pl.DataFrame, records: Iterable[Row]) -> Iterator[str]:
    texts = [as_text(_first(record.fields, "price")) for record in records]
    unread = [place for place, text in enumerate(texts) if text is not None and frame["price"][place] is None]
    if unread:
        shown = ", ".join(f"{frame['id'][place]} ({texts[place]})" for place in unread[:3])
        more = " …" if len(unread) > 3 else ""
        yield f"{len(unread):,} of {frame.height:,} prices could not be read: {shown}{more}"
