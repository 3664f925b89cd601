"""Texts that break pages, as ids, titles, names of slices and of systems: a plan full of them."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from rankjury.evaluation.report import Report

__all__ = [
    "HOSTILE",
    "LONE_SURROGATE",
    "MARK",
    "PLAN_NAME",
    "SYSTEMS",
    "hostile_plan",
    "hostile_report",
    "item_of",
    "slices_of",
    "title_of",
]

MARK = "rankjury_was_here"
"""What a text that runs as script would leave: as a property of the window, in the title, or in a dialog."""
_RUN = f"window.{MARK}=1"

HOSTILE = {
    "script": f"<script>{_RUN};alert(1)</script>",
    "end of script": f"</script><script>{_RUN}</script>",
    "end of script, odd": f"</ScRiPt\t\n bar><script>{_RUN}</script>",
    "image": f'"><img src=x onerror="{_RUN};alert(1)">',
    "image, single quotes": f"'><img src=http://example.org/x onerror='{_RUN}'>",
    "svg": f"<svg onload={_RUN}><a xlink:href='javascript:{_RUN}'>x</a></svg>",
    "frame": f"<iframe srcdoc='<script>parent.{MARK}=1</script>'></iframe>",
    "attribute": f'" onmouseover="{_RUN}" autofocus onfocus="{_RUN}" x="',
    "address": f"javascript:{_RUN}",
    "style": "</style><style>*{display:none!important}</style>",
    "end of title": "</title></textarea></template></noscript></svg></table></main></body></html>",
    "base": "<base href=https://example.org/><meta http-equiv=refresh content='0;url=https://example.org/'>",
    "comment": "<!-- <!--<script>",
    "end of comment": "--> --!> ]]> ?> %>",
    "data": "<![CDATA[<b>]]>",
    "entities": "&lt;b&gt; &amp;amp; &#60;i&#62; &notanentity; &",
    "quotes": "\"double\" 'single' `back` «»„“",
    "template, back quotes": "`${7*7}` ${alert(1)} #{7*7}",
    "template": "{{7*7}} {% raw %} {{ ''.__class__ }} {# c #} <%= 7*7 %>",
    "backslashes": "\\ \\n \\u003c \\x3c \\\\' \\\" %3Cb%3E",
    "selector": 'a"][data-query] , #query :not(*) \\9 { } .a:hover > b',
    "path": "../../../etc/passwd",
    "path, other": "..\\..\\con.txt?x=1#frag%2e%2e%2f",
    "prototype": "__proto__",
    "property": "constructor",
    "number": "1e999",
    "formula": '=HYPERLINK("http://example.org","x")+cmd|\' /C calc\'!A0',
    "override": "user\u202egnp.exe\u202d\u202a left open",
    "isolates": "\u2066\u2067\u2068 isolates left open",
    "right to left": "שלום עולם مرحبا بالعالم (abc) 123",
    "marks alone": "\u200e\u200f\u061c",
    "emoji": "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪 👍🏿 ❤️‍🔥 🫠",
    "astral": "𝕬𝖑𝖌𝖊𝖇𝖗𝖆 𠜎𠜱 \U0010fffd",
    "combining": "Z" + "\u0300\u0316\u0334\u0338\u033f\u0489" * 60 + " algo",
    "composed": "é and e\u0301, ﬁ, ẞ, İ, ſ",
    "null": "null \x00 byte",
    "null, first": "\x00first",
    "controls": "bell\x07 back\x08 escape\x1b[31mred\x1b[0m delete\x7f next\x85 end",
    "lines": "one\ntwo\r\nthree\ttab\vvertical\ffeed",
    "separators": "line\u2028paragraph\u2029end",
    "nothing to see": "\u200b\u200c\u200d\u2060\ufeff",
    "not characters": "\ufffe\uffff\ufdd0 \ufffd",
    "blanks": " \u00a0\u3000 blanks around \u2003 ",
    "long word": "unbroken" * 250,
    "long title": "A title that does not know when to stop, and so goes on. " * 180,
    "long emoji": "🫠" * 3_000,
    "empty-ish": ".",
    "minus": "--help",
    "percent": "100%s%d%n",
}
"""By what they try. All are what UTF-8 can hold."""
LONE_SURROGATE = "half \ud83d of a pair"
"""No file in UTF-8 holds it, but JSON may spell it."""
PLAN_NAME = f"../{HOSTILE['image']}\u202e{HOSTILE['quotes']}"
SYSTEMS = tuple(
    HOSTILE[name] for name in ("end of script", "image, single quotes", "override", "controls", "long word")
)
_ATTRIBUTE = f"<b onclick={_RUN}>kind"
_PLAIN_ATTRIBUTE = "plain"
_BY_JSON = 3
"""The run with this number is written as JSONL, whose strings are escaped; the others as Parquet."""
_RELATED = 4
_TITLES_AWAY = 7


def item_of(text: str) -> str:
    """The id of an item: as hostile as the query's, but not the same, or it would be left out of its own results."""
    return f"{text}·"


def title_of(place: int) -> str:
    """What the item, and the query, in this place are called: another hostile text."""
    texts = list(HOSTILE.values())
    return texts[(place + _TITLES_AWAY) % len(texts)]


def slices_of(texts: Sequence[str]) -> list[str]:
    """The names of slices: two queries share each text; blanks around it are not kept."""
    return [f"{_ATTRIBUTE}={text.strip()}" for text in texts[::2]]


def hostile_plan(folder: Path, *, systems: Sequence[str] = SYSTEMS) -> Path:
    """A small plan in which all of them are ids of queries and items, titles and names of slices; some name systems."""
    texts = list(HOSTILE.values())
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / "gold.jsonl", _gold(texts))
    for number in range(len(systems)):
        write = _write_lines if number == _BY_JSON else _write_table
        write(folder / _file(number), _ranking(texts, number))
    titles = [{"item_id": item_of(text), "title": title_of(place)} for place, text in enumerate(texts)]
    _write_table(folder / "items.parquet", titles)
    kinds = [
        {
            "query_id": text,
            _ATTRIBUTE: texts[place // 2 * 2],
            _PLAIN_ATTRIBUTE: "ab"[place % 2],
            "text": title_of(place),
        }
        for place, text in enumerate(texts)
    ]
    _write_table(folder / "queries.parquet", kinds)
    plan = folder / "hostile.toml"
    plan.write_text(_plan_text(systems), encoding="utf-8")
    return plan


def hostile_report() -> Report:
    """A report as a file may hold it, with what no table of rankjury's can: half of a surrogate pair in a name."""
    entry = {"mean": 0.5, "n": 2, "undefined": 0, "std": 0.1, "se": 0.1, "ci": [0.4, 0.6], "convention": "ndcg@10"}
    spelled = json.dumps({"systems": {LONE_SURROGATE: {"measures": {"ndcg@10": entry}}}})
    form = {"schema": "rankjury.report/1", "rankjury": "0.1.0", **json.loads(spelled)}
    return Report.from_json(form | {"warnings": [{"text": LONE_SURROGATE, "code": "hostile"}], "provenance": {}})


def _gold(texts: Sequence[str]) -> list[dict[str, object]]:
    """Of every query its own item and the next ones, the nearer the better."""
    return [
        {"query_id": text, "item_id": item_of(texts[(place + step) % len(texts)]), "grade": 3 - step}
        for place, text in enumerate(texts)
        for step in range(3)
    ]


def _ranking(texts: Sequence[str], number: int) -> list[dict[str, object]]:
    """The later the system, the further off it begins, and every other query is turned round: moves both ways."""
    rows: list[dict[str, object]] = []
    for place, text in enumerate(texts):
        steps = [(step - number // 2) % len(texts) for step in range(_RELATED + 2)]
        for rank, step in enumerate(steps if (place + number) % 2 else reversed(steps)):
            item = item_of(texts[(place + step) % len(texts)])
            rows.append({"query_id": text, "item_id": item, "score": 1 / (rank + 1 + number)})
    return rows


def _plan_text(systems: Sequence[str]) -> str:
    lines = [
        f"name = {_toml(PLAN_NAME)}",
        'gold = "gold.jsonl"',
        f"baseline = {_toml(systems[0])}",
        'measures = ["ndcg", "recall", "rr"]',
        "cutoffs = [1, 3, 5]",
        'headline = ["ndcg@5", "rr@5"]',
        f"slices = {_toml(f'queries.parquet:{_ATTRIBUTE},{_PLAIN_ATTRIBUTE}')}",
        'names = "items.parquet:title"',
        'texts = "queries.parquet:text"',
        "statistics.resamples = 100",
        "[systems]",
        *(f"{_toml(name)} = {_toml(_file(number))}" for number, name in enumerate(systems)),
        "[meta]",
        *(f"{_toml(key)} = {_toml(value)}" for key, value in list(pairwise(HOSTILE.values()))[:5]),
        "[[target]]",
        'require = "ndcg@5 >= 0.5"',
        f"name = {_toml(HOSTILE['image'])}",
        f"system = {_toml(systems[1])}",
        "[[target]]",
        'require = "ndcg@5 >= 0.99"',
        f"system = {_toml(systems[-1])}",
    ]
    return "\n".join(lines) + "\n"


def _file(number: int) -> str:
    return f"run{number}.jsonl" if number == _BY_JSON else f"run{number}.parquet"


def _toml(text: str) -> str:
    """A basic string of TOML. JSON's spelling is one, but for pairs of surrogates and for delete."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write_lines(path: Path, rows: Sequence[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _write_table(path: Path, rows: Sequence[dict[str, object]]) -> None:
    import polars as pl

    pl.DataFrame(rows).write_parquet(path)
