"""Write the tables of the README from the code: python scripts/make_tables.py [--check]."""

import sys
from pathlib import Path

from rankjury.measures.dialects import dialects_table
from rankjury.measures.measure import METRICS, Metric

README = Path(__file__).parents[1] / "README.md"


def metrics_markdown() -> str:
    rows = ["| measure | also | what it is | conventions |", "|:--|:--|:--|:--|"]
    rows += [f"| `{m.name}` | {_code(m.aliases)} | {m.title} | {_conventions(m)} |" for m in METRICS]
    return "\n".join(rows)


def dialects_markdown() -> str:
    rows = ["| dialect | what it reproduces |", "|:--|:--|"]
    rows += [f"| `{name}` | {about} |" for name, about in dialects_table()]
    return "\n".join(rows)


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _conventions(metric: Metric) -> str:
    shown = [f"`{o.name}=`" + (f" {', '.join(o.choices)}" if o.choices else "") for o in metric.options]
    return "; ".join(shown)


def filled(text: str) -> str:
    """The text with each marked table replaced by a new one."""
    for name, table in (("metrics", metrics_markdown()), ("dialects", dialects_markdown())):
        begin, end = f"<!-- {name}: made by scripts/make_tables.py -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n{table}\n{end}{after}"
    return text


def main() -> int:
    text = README.read_text(encoding="utf-8")
    new = filled(text)
    if "--check" in sys.argv:
        return int(new != text)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
