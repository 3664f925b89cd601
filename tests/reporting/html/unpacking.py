"""A page taken apart again, as its script does it: what was packed is read back from the text of the page."""

import json
import re
import zlib
from base64 import b64decode
from functools import lru_cache
from typing import Any

from rankjury.reporting.html.payload import BLOCK

LETTERS = {letter: place for place, letter in enumerate(chr(one) for one in range(0x23, 0x7F) if one != 0x5C)}


def inflated(text: str) -> Any:
    return json.loads(zlib.decompress(b64decode(text)))


def numbers(planes: list[str]) -> list[int]:
    return _numbers(tuple(planes))


@lru_cache(maxsize=2_000)
def _numbers(planes: tuple[str, ...]) -> list[int]:
    return [sum(LETTERS[plane[at]] * 90**power for power, plane in enumerate(planes)) for at in range(len(planes[0]))]


def pieces(page: str) -> dict[str, Any]:
    """By name: about, table, items, names; and the blocks."""
    found: dict[str, Any] = {"about": json.loads(_script(page, 'id="about"') or "null")}
    for name in ("table", "items", "names"):
        text = _script(page, f'id="{name}"')
        found[name] = None if text is None else inflated(text)
    found["blocks"] = [
        inflated(text) for text in re.findall(r'<script type="text/plain" class="block">(.*?)</script>', page)
    ]
    return found


def _script(page: str, which: str) -> str | None:
    match = re.search(rf"<script type=\"[a-z/]+\" {which}>(.*?)</script>", page, re.DOTALL)
    return None if match is None else match[1]


def lists_of(page: dict[str, Any], row: int) -> dict[str, list[dict[str, Any]]]:
    """Golds and systems of the row of the table, items with their ids, names, grades and scores."""
    block, place = page["blocks"][row // BLOCK], row % BLOCK
    sizes = numbers(block["sizes"])
    start = sum(sizes[:place])
    union = numbers(block["union"])[start : start + sizes[place]]
    grades = [None, *block["grades"]]
    return {side: [_list(page, part, place, union, grades) for part in block[side]] for side in ("golds", "systems")}


def _list(
    page: dict[str, Any], part: dict[str, Any], place: int, union: list[int], grades: list[Any]
) -> dict[str, Any]:
    lengths = numbers(part["lengths"])
    first = sum(lengths[:place])
    at = range(first, first + lengths[place])
    places, held, gaps = numbers(part["places"]), numbers(part["grades"]), numbers(part["gaps"])
    return {
        "total": numbers(part["total"])[place],
        "items": [page["items"][union[places[one]]] for one in at],
        "names": [_names(page).get(union[places[one]]) for one in at],
        "grades": [grades[held[one]] for one in at],
        "ranks": [place + 1 + gaps[one] for place, one in enumerate(at)],
        "scores": _scores(part["scores"], at, place),
    }


def _names(page: dict[str, Any]) -> dict[int, str]:
    if page["names"] is None:
        return {}
    found, place = {}, 0
    for gap, name in zip(numbers(page["names"]["gaps"]), page["names"]["names"], strict=True):
        place += gap
        found[place] = name
    return found


def _scores(packed: dict[str, Any] | None, at: range, place: int) -> list[float | None] | None:
    if packed is None:
        return None
    falls = [fall + packed["lowest"] for fall in numbers(packed["falls"])]
    decimals, value, found = numbers(packed["decimals"])[place] - 400, 0, []
    for number, one in enumerate(at):
        value = falls[one] if number == 0 else value - falls[one]
        found.append(None if one in packed["unknown"] else value / 10.0**decimals)
    return found
