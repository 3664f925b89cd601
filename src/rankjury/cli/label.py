"""rankjury label: graded labels of a catalogue's items, by rules over its own fields."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.console import (
    QuietOption,
    check_folder,
    check_standard_input,
    print_json,
    say,
    show_progress,
    warn,
)

if TYPE_CHECKING:
    from rankjury.labeling.products.human import LabelAgreement
    from rankjury.labeling.products.labels import Labels

GROUP = "Data"
EPILOG = (
    "Examples:\n\n"
    "  rankjury label catalogue.jsonl queries.jsonl -o labels.jsonl\n\n"
    "  rankjury label amazon_fashion_sample.json queries.txt -o labels.jsonl --catalogue-out items.jsonl\n\n"
    "  rankjury label catalogue.jsonl queries.jsonl -o labels.jsonl --human human.jsonl\n\n"
    "  rankjury label catalogue.jsonl queries.jsonl --explain q12,f044\n\n"
    "Grades: 3 the category and two attributes or more; 2 the category, or two attributes; 1 one attribute, or the "
    "brand only; 0 else, left out unless --zeros is given. Colours, materials, audiences, brands and categories are "
    "learned from the catalogue's own fields. A field counts where an item has it; where not, its title, bullets and "
    "description are looked at. Each label says which rule and which matches gave it. Products have id, title, brand, "
    "category, color, material, audience, price, bullets and description, or the fields of a shop's export: asin, "
    "store, categories, features, details; a .json may also be {id: product}. Queries have an id, a text and perhaps a "
    "type. In a .txt each line is a query: TEXT, ID<TAB>TEXT or ID<TAB>TEXT<TAB>TYPE; without an id, it is made of the "
    "text. There, # type: brand is the type of the lines below, and # version: 3 the version of the set."
)
_SHOWN = 10


def label_command(
    catalogue: Annotated[str, typer.Argument(metavar="CATALOGUE", help="The products: .json, .jsonl, .csv, .parquet.")],
    queries: Annotated[
        str, typer.Argument(metavar="QUERIES", help="The queries: .jsonl, .json, .csv, .parquet, .txt.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where labels go: .jsonl, .csv, .qrels …")
    ] = None,
    human: Annotated[
        str | None,
        typer.Option("--human", metavar="FILE", help="Grades by people, which override: query_id, item_id, grade."),
    ] = None,
    synonyms: Annotated[
        str | None, typer.Option("--synonyms", metavar="FILE", help="Synonyms of your own, added to rankjury's (TOML).")
    ] = None,
    zeros: Annotated[bool, typer.Option("--zeros", help="Write pairs of grade 0 as well.")] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="Write query_id, item_id and grade alone, without rule and matches.")
    ] = False,
    query_category: Annotated[
        bool, typer.Option("--query-category", help="A query's category is its own column's, not its text's.")
    ] = False,
    id_field: Annotated[
        str | None, typer.Option("--id", metavar="FIELD", help="The field of the products' ids, where several are.")
    ] = None,
    catalogue_out: Annotated[
        Path | None,
        typer.Option("--catalogue-out", metavar="FILE", help="Write the products with rankjury's own columns, too."),
    ] = None,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="QUERY[,ITEM]", help="How a query, or a pair, came to its grade.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print counts and agreement as JSON.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Grade how well items fit queries, by the words of both."""
    check_standard_input([path for path in (catalogue, queries, human, synonyms) if path])
    _check_outputs(output, catalogue_out)
    from rankjury.io.atomic import together
    from rankjury.labeling.products.catalog import read_catalogue, write_catalogue
    from rankjury.labeling.products.human import merge_human_labels, read_human_labels
    from rankjury.labeling.products.labels import label, write_labels
    from rankjury.labeling.products.query_sets import read_pinned_queries
    from rankjury.labeling.products.synonyms import read_synonyms

    with show_progress(f"Labelling {catalogue}", quiet=quiet):
        asked = read_pinned_queries(queries)
        items = read_catalogue(catalogue, id_field=id_field)
        labels = label(items, asked, synonyms=read_synonyms(synonyms), own_category=query_category)
        agreement = None
        if human is not None:
            labels, agreement = merge_human_labels(labels, read_human_labels(human, labels))
        explained = None if explain is None else _explained(labels, explain)
        written = [path for path in (output, catalogue_out) if path]
        with together():
            pairs = None if output is None else write_labels(labels, output, zeros=zeros, brief=brief)
            if catalogue_out is not None:
                write_catalogue(items, catalogue_out)
    if as_json:
        _print_json(labels, agreement, explained, written)
    elif explained is not None:
        _print_explained(explained)
    else:
        _print_counts(labels)
        if agreement is not None:
            _print_agreement(agreement)
    sys.stdout.flush()  # before what standard error tells
    warn(labels.notes, quiet=quiet)
    _say_next(output, catalogue_out, pairs, quiet=quiet or (explain is not None and not written))


def _check_outputs(output: Path | None, catalogue_out: Path | None) -> None:
    """Refuse names that tell no form before anything is read."""
    from rankjury.io.formats import FORMATS, TABLE_FORMATS, form_to_write

    for path, forms in ((output, FORMATS), (catalogue_out, TABLE_FORMATS)):
        if path is not None:
            check_folder(path)
            form_to_write(path, None, forms)


def _explained(labels: "Labels", asked: str) -> dict[str, Any]:
    """How a query is read; and with an item, or else for the best of them, what matched where."""
    query, item = asked, None
    if query not in labels.readings and "," in asked:
        query, item = (part.strip() for part in asked.split(",", 1))
    reading = labels.reading(query)
    found = labels.rows_of(query) if item is None else labels.row_of(query, item)
    form: dict[str, Any] = {
        "query_id": query,
        "text": reading.text,
        "category": reading.category.shown if reading.category else None,
        "attributes": [{"word": term.shown, "kinds": list(term.kinds)} for term in reading.attributes],
        "brands": [term.shown for term in reading.brands],
        "unused": list(reading.unused),
        "labels": found.drop("query_id").to_dicts(),
    }
    if item is not None:
        told = labels.explain(query, item)
        form["item_id"] = item
        form["matches"] = [{"word": term.shown, "as": role, "found_in": place} for term, role, place in told]
    return form


def _print_explained(form: dict[str, Any]) -> None:
    from rankjury.reporting.console import console, print_rows

    screen = console()
    screen.print(f"{form['query_id']}: {form['text']}")
    read = [("category", form["category"]), ("brand", ", ".join(form["brands"]))]
    read.insert(
        1, ("attributes", ", ".join(f"{one['word']} ({', '.join(one['kinds'])})" for one in form["attributes"]))
    )
    read.append(("unused", ", ".join(form["unused"])))
    for name, told in read:
        if told:
            screen.print(f"  {name}: {told}")
    screen.print()
    if "matches" in form:
        rows = [[one["word"], one["as"], one["found_in"] or "–"] for one in form["matches"]]
        print_rows(["word", "as", "found in"], rows, text=(0, 1, 2))
        row = form["labels"][0]
        given = "given by a person" if row["rule"] == "human" else f"by the rule: {row['rule']}"
        screen.print(f"{form['item_id']}: grade {row['grade']}, {given}")
        return
    rows = [[str(one["grade"]), one["item_id"], one["rule"], _matches(one)] for one in form["labels"][:_SHOWN]]
    print_rows(["grade", "item", "rule", "matches"], rows, text=(1, 2, 3), wraps=(3,))
    if len(form["labels"]) > _SHOWN:
        screen.print(f"… and {len(form['labels']) - _SHOWN:,} more above grade 0")


def _matches(row: dict[str, Any]) -> str:
    return ", ".join(filter(None, [row["category"], *row["attributes"], row["brand"]]))


def _print_counts(labels: "Labels") -> None:
    from rankjury.reporting.console import console, print_rows

    counts = labels.counts
    header = ["queries of type", "queries", "grade 3", "grade 2", "grade 1", "grade 0"]
    names = ["queries", "3", "2", "1", "0"]
    rows = [[row["type"] or "–", *(f"{row[name]:,}" for name in names)] for row in counts.iter_rows(named=True)]
    if len(rows) > 1:
        rows.append(["all", *(f"{counts[name].sum():,}" for name in names)])
    print_rows(header, rows, wraps=(0,))
    bare = labels.without_relevant
    if bare:
        texts = {name: reading.text for name, reading in labels.readings.items()}
        more = f" … and {len(bare) - _SHOWN:,} more" if len(bare) > _SHOWN else ""
        shown = ", ".join(f"{name} ({texts[name]})" for name in bare[:_SHOWN])
        console().print(f"Nothing relevant (grade 2 or 3) for {shown}{more}")


def _print_agreement(agreement: "LabelAgreement") -> None:
    from rankjury.core.text import plural
    from rankjury.reporting.console import console, print_rows
    from rankjury.stats.formatting import NO_VALUE, format_interval, format_value, interval_decimals

    screen = console()
    screen.print()
    told = f"{agreement.exact:,} of {plural(agreement.pairs, 'pair', 'pairs')} graded alike by rules and people"
    screen.print(f"{told}; people's grades stand")
    for name, kappa in (("κ", agreement.kappa), ("κ, quadratic weights", agreement.weighted)):
        value = NO_VALUE if kappa.value != kappa.value else format_value(kappa.value, interval_decimals(kappa.ci))
        screen.print(f"  {name} {value}" + (f" {format_interval(kappa.ci)}" if kappa.ci else ""))
    grades = [str(grade) for grade in range(len(agreement.table))]
    rows = [[f"rules {grade}", *map(str, row)] for grade, row in zip(grades, agreement.table, strict=True)]
    print_rows(["", *(f"people {grade}" for grade in grades)], rows)
    if agreement.disagreements.height:
        screen.print()
        differing = agreement.disagreements.head(_SHOWN).to_dicts()
        rows = [
            [one["query_id"], one["item_id"], str(one["heuristic"]), str(one["human"]), one["rule"], _matches(one)]
            for one in differing
        ]
        print_rows(["query", "item", "rules", "people", "rule", "matches"], rows, text=(0, 1, 4, 5), wraps=(0, 1, 5))
        if agreement.disagreements.height > _SHOWN:
            screen.print(f"… and {agreement.disagreements.height - _SHOWN:,} more")


def _print_json(
    labels: "Labels", agreement: "LabelAgreement | None", explained: dict[str, Any] | None, written: list[Path]
) -> None:
    form = {
        "schema": "rankjury.labels/1",
        "queries": labels.queries.height,
        "items": len(labels.items),
        "grades": {grade: int(labels.counts[grade].sum()) for grade in ("0", "1", "2", "3")},
        "types": labels.counts.to_dicts(),
        "without_relevant": labels.without_relevant,
        "agreement": None if agreement is None else agreement.to_json(),
        "explained": explained,
        "notes": list(labels.notes),
        "written": [str(path) for path in written],
    }
    print_json(form)


def _say_next(output: Path | None, catalogue_out: Path | None, pairs: int | None, *, quiet: bool) -> None:
    if output is None:
        say("Nothing was written: -o labels.jsonl keeps the labels", quiet=quiet)
    else:
        say(f"Wrote {output}: {pairs:,} pairs", quiet=quiet)
    if catalogue_out is not None:
        say(f"Wrote {catalogue_out}", quiet=quiet)
    if output is not None:
        steps = f"rankjury evaluate {output} RUN -m 'ndcg(gain=exp)@10' -m 'recall(rel=2)@10'"
        embedding = f" · rankjury embed {catalogue_out} --text title,bullets …" if catalogue_out is not None else ""
        say(f"Next: {steps}{embedding}", quiet=quiet)
