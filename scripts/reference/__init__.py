"""Generator of docs/reference: one module per kind of page, and ``pages`` for all of them.

A page is made whole, or it is written by hand and has tables between markers, which are filled in.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "reference"


def pages(folder: Path = DOCS) -> dict[str, str]:
    """Return all pages by their path in the folder; those with markers are read from there and filled in."""
    from reference import commands, dialects, files, markdown, measures, params, plan, python, schemas

    tables: dict[str, dict[str, Callable[[], list[str]]]] = {
        "plan.md": {
            "keys of a plan": plan.top_keys,
            "kinds of gold": plan.gold_kinds,
            "kinds of systems": plan.system_kinds,
            "other tables": plan.other_tables,
        },
        "formats.md": {
            "suffixes": files.suffixes,
            "columns": files.column_names,
            "columns of logs": files.log_columns,
            "outputs": files.outputs,
        },
        "schemas.md": {
            "schemas": schemas.overview,
            "report": schemas.report_tables,
            "forms": schemas.forms,
            "internal forms": schemas.internal_forms,
            "plan schema": schemas.plan_schema_facts,
        },
        "exit-codes.md": {"errors": files.error_codes, "commands": files.exit_codes_of_commands},
    }
    made = {
        "commands.md": commands.commands_page(),
        "dialects.md": dialects.dialects_page(),
        "engines.md": params.engines_page(),
        "recommenders.md": params.recommenders_page(),
        "retrieval.md": params.retrieval_page(),
        "python.md": python.python_page(),
        **measures.measure_pages(),
    }
    for name, parts in tables.items():
        text = (folder / name).read_text(encoding="utf-8")
        for marker, lines in parts.items():
            text = markdown.filled(text, marker, lines())
        made[name] = text
    return made


def differing(folder: Path = DOCS, new: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """Return the pages that differ from those in the folder: their new text, or None for one that is to be removed."""
    new = pages(folder) if new is None else new
    old = {f"measures/{path.name}" for path in (folder / "measures").glob("*.md")}
    changed: dict[str, str | None] = dict.fromkeys(sorted(old - new.keys()))
    for name, text in new.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            changed[name] = text
    return changed


def write(folder: Path = DOCS, new: Mapping[str, str] | None = None) -> list[str]:
    """Write the pages that differ, remove those of metrics that are gone, and return their names."""
    changed = differing(folder, new)
    for name, text in changed.items():
        path = folder / name
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return sorted(changed)
