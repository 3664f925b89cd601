"""What shops call the fields of a product, and what they write into them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from rankjury.io.records import parsed

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
"""The names of each field, at the top or within ``details``; the first that holds something counts."""
PATHS = ("category", "categories", "product_type")
DEPARTMENT = "main_category"
_DETAILS = ("details", "product_details", "attributes")
_SHOWN = 40
_NOTHING = frozenset(("", "none", "null", "nan", "n/a", "na"))
_OF_BRANDS = re.compile(r"^(?:visit the\s+(.+?)\s+store|brand\s*:\s*(.+))$", re.IGNORECASE)
_NUMBER = re.compile(r"\d(?:[\d.,]*\d)?")
_STEPS = re.compile(r"\s*[>›»|]\s*")
_LINES = re.compile(r"\s*(?:\n|\s\|\s|•)\s*")


def folded(name: str) -> str:
    """``Fabric Type`` → ``fabric_type``."""
    return re.sub(r"[^\w]+", "_", name.strip().lower()).strip("_")


def spread(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A record with its details, which may be a table or its JSON as a text, beside its other fields.

    A ValueError says which are neither.
    """
    found = {folded(name): value for name, value in fields.items()}
    for name in _DETAILS:
        details = found.get(name)
        if isinstance(details, str) and details.lstrip().startswith("{"):
            details = parsed(details.strip())
            if not isinstance(details, Mapping):
                raise ValueError(f"{name} cannot be read: {str(found[name])[:_SHOWN]!r}")
        if isinstance(details, Mapping):
            del found[name]
            told = {folded(str(inner)): value for inner, value in details.items()}
            found |= {inner: value for inner, value in told.items() if found.get(inner) in (None, "")}
    return found


def is_simple(value: Any) -> bool:
    """A text, a number, or a list of them."""
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(one, str | int | float) for one in value)
    return isinstance(value, str | int | float)


def as_text(value: Any) -> str | None:
    """Lists with commas; None where nothing is told."""
    if isinstance(value, list | tuple | set):
        return ", ".join(filter(None, map(as_text, value))) or None
    if value is None or isinstance(value, Mapping | bool) or (isinstance(value, float) and not isfinite(value)):
        return None
    text = str(value).strip()
    return None if text.lower() in _NOTHING else text


def as_prose(value: Any) -> str | None:
    """Lists as paragraphs."""
    return "\n".join(as_list(value)) or None if isinstance(value, list | tuple) else as_text(value)


def as_brand(value: Any) -> str | None:
    """``Nike`` of ``Visit the Nike Store``."""
    text = as_text(value)
    dressed = _OF_BRANDS.match(text or "")
    return (dressed.group(1) or dressed.group(2)).strip() if dressed else text


def as_list(value: Any) -> list[str]:
    """A text becomes its lines; one that is a list written out, that list."""
    if isinstance(value, str):
        value = _listed(value) or _LINES.split(value)
    if isinstance(value, list | tuple):
        return [text for one in value if (text := as_text(one))]
    text = as_text(value)
    return [text] if text else []


def as_paths(value: Any) -> list[list[str]]:
    """Ways down to a category: of a text such as Shoes > Boots, of its steps as a list, or of several of either."""
    if isinstance(value, str):
        value = _listed(value) or [_STEPS.split(line) for line in value.splitlines()]
    if not isinstance(value, list | tuple):
        return []
    if any(isinstance(one, list | tuple) or (isinstance(one, str) and _STEPS.search(one)) for one in value):
        return [path for one in value for path in as_paths(one)]
    path = [text for one in value if (text := as_text(one))]
    return [path] if path else []


def paths_of(products: Sequence[Mapping[str, Any]]) -> list[list[list[str]]]:
    """The ways to each product's category.

    A main category is a department (``AMAZON FASHION``), which would hide the type that the title names; it counts only
    where the ways of other products end in it, and none goes on from it.
    """
    found = [next((paths for name in PATHS if (paths := as_paths(one.get(name)))), []) for one in products]
    ways = [path for paths in found for path in paths]
    types = {folded(path[-1]) for path in ways} - {folded(path[0]) for path in ways if len(path) > 1}
    mains = (as_paths(one.get(DEPARTMENT)) for one in products)
    return [own or [path for path in main if folded(path[-1]) in types] for own, main in zip(found, mains, strict=True)]


def as_price(value: Any) -> float | None:
    """12.99 of ``$12.99``, of ``12,99 €`` and of ``$12.99 - $19.99``; None where nothing of the kind is told."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if isfinite(value) and value >= 0 else None
    found = _NUMBER.search(as_text(value) or "")
    if not found or "-" in str(value)[: found.start()]:
        return None
    whole, mark, cents = _parted(found.group(0))
    digits = re.sub(r"\D", "", whole)
    return float(f"{digits}.{cents}") if mark else float(digits)


def _parted(number: str) -> tuple[str, str, str]:
    """At the last point or comma, unless three digits follow it, as in 1,299."""
    place = max(number.rfind("."), number.rfind(","))
    cents = number[place + 1 :]
    thousands = len(cents) == 3 and (number[place] == "," or number.count(".") > 1)
    return (number, "", "") if place < 0 or thousands else (number[:place], number[place], cents)


def _listed(text: str) -> Iterable[Any] | None:
    if not text.lstrip().startswith("["):
        return None
    value = parsed(text.strip())
    return value if isinstance(value, list) else None
