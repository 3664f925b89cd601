"""rankjury label: graded labels of a catalogue's items, by rules over its fields."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.console import (
    check_folder,
    check_standard_input,
    files_in_folder,
    print_json,
    say,
    show_progress,
    warn,
)
from rankjury.cli.shared.options import JsonOption, QuietOption
from rankjury.core.text import plural

if TYPE_CHECKING:
    from rankjury.labeling.products.human import LabelAgreement
    from rankjury.labeling.products.labels import Labels

GROUP = "Gold"
ORDER = 1
EPILOG = (
    "Examples:\n\n"
    "  rankjury label catalogue.jsonl queries.jsonl -o labels.jsonl\n\n"
    "  rankjury label amazon_fashion_sample.json queries.txt -o labels.jsonl --catalogue-out items.jsonl\n\n"
    "  rankjury label catalogue.jsonl queries.jsonl -o labels.jsonl --human human.jsonl\n\n"
    "  rankjury label catalogue.jsonl queries.jsonl --explain q12,f044\n\n"
    "Grades:\n\n"
    "  3  the category and at least two attributes\n\n"
    "  2  the category, or at least two attributes\n\n"
    "  1  one attribute, or only the brand\n\n"
    "  0  otherwise; written only with --zeros\n\n"
    "Categories, brands, colours, materials and audiences are learned from the catalogue. If an item lacks a "
    "field, its title, bullets and description are searched instead; for the category only the title. Each label "
    "contains its rule and its matches.\n\n"
    "Products have id, title, brand, category, color, material, audience, price, bullets and description, or the "
    "fields of a shop export: asin, store, categories, features, details. A .json file may also be {id: "
    "product}.\n\n"
    "Queries have an id, a text and optionally a type. In a .txt file each line is TEXT, ID<TAB>TEXT or "
    "ID<TAB>TEXT<TAB>TYPE; a missing id is derived from the text. The line # type: brand sets the type of the "
    "lines below it, # version: 3 the version of the query set."
)
_MAX_SHOWN = 10


def label_command(
    catalogue: Annotated[str, typer.Argument(metavar="CATALOGUE", help="Products: .json, .jsonl, .csv, .parquet.")],
    queries: Annotated[str, typer.Argument(metavar="QUERIES", help="Queries: .jsonl, .json, .csv, .parquet, .txt.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the labels: .jsonl, .csv, .qrels …, or a folder.",
            callback=files_in_folder("labels.jsonl"),
        ),
    ] = None,
    human: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Human grades, which replace those of the rules: query_id, item_id, grade."),
    ] = None,
    synonyms: Annotated[str | None, typer.Option(metavar="FILE", help="Additional synonyms (TOML).")] = None,
    zeros: Annotated[bool, typer.Option("--zeros", help="Also write pairs of grade 0.")] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="Write only query_id, item_id and grade, without rule and matches.")
    ] = False,
    query_category: Annotated[
        bool,
        typer.Option(
            "--query-category", help="Read the category of a query from its category column, not from its text."
        ),
    ] = False,
    id_field: Annotated[
        str | None, typer.Option("--id", metavar="FIELD", help="Id field of the products, if there are several.")
    ] = None,
    catalogue_out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the products, with the columns that rankjury uses.")
    ] = None,
    explain: Annotated[
        str | None, typer.Option(metavar="QUERY[,ITEM]", help="Explain the grades of a query, or of one pair.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Label query-item pairs with grades, by rules.

    Compares category, attributes and brand of each query with the fields of each item.
    """
    check_standard_input([path for path in (catalogue, queries, human, synonyms) if path])
    from rankjury.io.atomic import together
    from rankjury.io.formats import FORMATS, TABLE_FORMATS, form_to_write
    from rankjury.labeling.products.catalog import read_catalogue, write_catalogue
    from rankjury.labeling.products.human import merge_human_labels, read_human_labels
    from rankjury.labeling.products.labels import label, write_labels
    from rankjury.labeling.products.query_sets import read_pinned_queries
    from rankjury.labeling.products.synonyms import read_synonyms

    for path, formats in ((output, FORMATS), (catalogue_out, TABLE_FORMATS)):
        if path is not None:
            check_folder(path)
            form_to_write(path, None, formats)
    with show_progress(f"Labelling {catalogue}"):
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
        print_json(
            {
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
        )
    elif explained is not None:
        _print_explained(explained)
    else:
        _print_counts(labels)
        if agreement is not None:
            _print_agreement(agreement)
    sys.stdout.flush()  # before the lines on standard error
    warn(labels.notes)
    if explain is not None and not written:
        return
    say(f"Wrote {output}: {pairs:,} pairs" if output else "Nothing was written: -o labels.jsonl keeps the labels")
    if catalogue_out is not None:
        say(f"Wrote {catalogue_out}")
    if output is not None:
        embedding = f" · rankjury embed {catalogue_out} --text title,bullets …" if catalogue_out is not None else ""
        say(f"Next: rankjury evaluate {output} RUN -m 'ndcg(gain=exp)@10' -m 'recall(rel=2)@10'{embedding}")


def _explained(labels: "Labels", asked: str) -> dict[str, Any]:
    """Return how a query is read, and what matched where for an item or else for the best ones."""
    query, item = asked, None
    if query not in labels.readings and "," in asked:
        query, item = (part.strip() for part in asked.split(",", 1))
    reading = labels.reading(query)
    rows = labels.rows_of(query) if item is None else labels.row_of(query, item)
    form: dict[str, Any] = {
        "query_id": query,
        "text": reading.text,
        "category": reading.category.shown if reading.category else None,
        "attributes": [{"word": term.shown, "kinds": list(term.kinds)} for term in reading.attributes],
        "brands": [term.shown for term in reading.brands],
        "unused": list(reading.unused),
        "labels": rows.drop("query_id").to_dicts(),
    }
    if item is not None:
        form["item_id"] = item
        form["matches"] = [
            {"word": term.shown, "as": role, "found_in": place} for term, role, place in labels.explain(query, item)
        ]
    return form


def _print_explained(form: dict[str, Any]) -> None:
    from rankjury.reporting.console import console, print_rows

    screen = console()
    screen.print(f"{form['query_id']}: {form['text']}")
    attributes = [f"{attribute['word']} ({', '.join(attribute['kinds'])})" for attribute in form["attributes"]]
    category = [form["category"]] if form["category"] else []
    named = {"category": category, "attributes": attributes, "brand": form["brands"], "unused": form["unused"]}
    for name, texts in named.items():
        if texts:
            screen.print(f"  {name}: {', '.join(texts)}")
    screen.print()
    if "matches" in form:
        rows = [[match["word"], match["as"], match["found_in"] or "–"] for match in form["matches"]]
        print_rows(["word", "as", "found in"], rows, text=(0, 1, 2))
        row = form["labels"][0]
        origin = "given by a person" if row["rule"] == "human" else f"by the rule: {row['rule']}"
        screen.print(f"{form['item_id']}: grade {row['grade']}, {origin}")
        return
    rows = [[str(row["grade"]), row["item_id"], row["rule"], _matches(row)] for row in form["labels"][:_MAX_SHOWN]]
    print_rows(["grade", "item", "rule", "matches"], rows, text=(1, 2, 3), wraps=(3,))
    if len(form["labels"]) > _MAX_SHOWN:
        screen.print(f"… and {len(form['labels']) - _MAX_SHOWN:,} more above grade 0")


def _matches(row: dict[str, Any]) -> str:
    return ", ".join(filter(None, [row["category"], *row["attributes"], row["brand"]]))


def _print_counts(labels: "Labels") -> None:
    from rankjury.reporting.console import console, print_rows

    console().print(f"{labels.sentence}\n")
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
        more = f" … and {len(bare) - _MAX_SHOWN:,} more" if len(bare) > _MAX_SHOWN else ""
        shown = ", ".join(f"{name} ({texts[name]})" for name in bare[:_MAX_SHOWN])
        console().print(f"Nothing relevant (grade 2 or 3) for {shown}{more}")


def _print_agreement(agreement: "LabelAgreement") -> None:
    from rankjury.reporting.console import console, print_rows
    from rankjury.stats.formatting import NO_VALUE, format_interval, format_value, interval_decimals

    screen = console()
    screen.print()
    pairs = plural(agreement.pairs, "pair", "pairs")
    screen.print(f"{agreement.exact:,} of {pairs} graded alike by rules and people; people's grades stand")
    for name, kappa in (("κ", agreement.kappa), ("κ, quadratic weights", agreement.weighted)):
        value = NO_VALUE if kappa.value != kappa.value else format_value(kappa.value, interval_decimals(kappa.ci))
        screen.print(f"  {name} {value}" + (f" {format_interval(kappa.ci)}" if kappa.ci else ""))
    grades = [str(grade) for grade in range(len(agreement.table))]
    rows = [[f"rules {grade}", *map(str, row)] for grade, row in zip(grades, agreement.table, strict=True)]
    print_rows(["", *(f"people {grade}" for grade in grades)], rows)
    if agreement.disagreements.height:
        screen.print()
        rows = [
            [row["query_id"], row["item_id"], str(row["heuristic"]), str(row["human"]), row["rule"], _matches(row)]
            for row in agreement.disagreements.head(_MAX_SHOWN).to_dicts()
        ]
        print_rows(["query", "item", "rules", "people", "rule", "matches"], rows, text=(0, 1, 4, 5), wraps=(0, 1, 5))
        if agreement.disagreements.height > _MAX_SHOWN:
            screen.print(f"… and {agreement.disagreements.height - _MAX_SHOWN:,} more")
