"""The kind of system that is a vector index: built, searched, timed and held against exact search."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import polars as pl
from pydantic import Field

from karat.engines import ENGINES, Filter, Params, Setting, passing, settled
from karat.errors import KaratError, UnknownName, UsageError
from karat.lab.bench import Bench
from karat.lab.measuring import equivalence_of, measure
from karat.lab.stored import read_stored
from karat.plan import SYSTEM_KINDS
from karat.plan.keyword_side import wanted_queries
from karat.plan.lab import LabWork
from karat.plan.tables import Folder, Shop, SystemTable
from karat.plan.vectors import VectorFiles, refuse_users
from karat.rankers.others import own_item, own_note
from karat.rankers.vectors import check_pair, those
from karat.similarity import METRICS, norms_of
from karat.types import Ints, Ranking, Vectors
from karat.variants import are_units
from karat.wording import count

if TYPE_CHECKING:
    from karat.plan.reading import Checked

__all__ = ["IndexSystem", "on_database"]

_LISTED = 5


@SYSTEM_KINDS.register("index")
class IndexSystem(VectorFiles, SystemTable):
    """A vector index over an embedding space."""

    is_index = True
    kind: Literal["index"]
    path: str = Field(
        "",
        description="The items' vectors: FILE or FILE:KEY. Not needed with an existing table (open.table), whose "
        "vectors are read, nor with the engine endpoint, which is then asked with the texts of lab.queries for the ids "
        "of lab.items.",
    )
    engine: str = Field(description="exact, faiss-hnsw, pgvector …; karat engines lists them with their parameters.")
    build: dict[str, Setting] = Field({}, description="What is settled when it is built: { m = 16 }.")
    search: dict[str, Setting] = Field({}, description="What each search may choose: { ef_search = 64 }.")
    open: dict[str, Setting] = Field({}, description="Where it is and how to reach it: { url = … }.")
    depth: Annotated[int, Field(ge=1)] | None = Field(
        None, description="How many to find for the ranking; unset: as deep as the measures look, at least lab.k."
    )
    optional: bool = Field(
        False, description="Leave the system out, with a warning, where its engine is not installed."
    )
    filter: str | None = Field(
        None, description="Search only items that have the query's value of this attribute, such as category."
    )

    def faults(self) -> Iterator[tuple[str, str]]:
        yield from super().faults()
        kind = ENGINES.find(self.engine)
        if kind is None:
            yield "engine", str(UnknownName("engine", self.engine, ENGINES.names()))
            return
        if self.metric in METRICS and self.metric not in kind.metrics:
            yield "metric", str(UnknownName(f"similarity of {self.engine}", self.metric, kind.metrics))
        if not self.path and self.engine != "endpoint" and not self.holds_corpus:
            yield "path", "is missing; expected the items' vectors, FILE or FILE:KEY"
        for key, known, given in (
            ("build", kind.builds, self.build),
            ("search", kind.searches, self.search),
            ("open", kind.opens, self.open),
        ):
            try:
                settled(known, given, "parameter")
            except KaratError as error:
                yield key, str(error)

    @property
    def holds_corpus(self) -> bool:
        """Whether the index exists already, so that its vectors are read from it and not from a file."""
        return ENGINES.get(self.engine).holds_corpus(self.open)

    @property
    def lacks(self) -> str | None:
        kind = ENGINES.get(self.engine)
        if not self.optional or kind.is_installed():
            return None
        install = f": pip install 'karat[{kind.extra}]'" if kind.extra else f": it needs {', '.join(kind.libraries)}"
        return f"left out, as {self.engine} is not installed{install}"

    def load(self, shop: Shop) -> Ranking:
        refuse_users(shop)
        corpus, asked = self._sides(shop, shop.lab, shop.gold.queries.cast(pl.String).sort(), shop)
        bench = self._bench(shop, corpus, asked, shop.lab, shop.exclude_self)
        found = measure(
            bench,
            build=self.build,
            search=self.search,
            clock=shop.lab.clock(len(asked)),
            depth=self.depth or max([*shop.cuts, bench.k]),
            progress=shop.progress,
            source=f"{self.engine} over {corpus.source}",
        )
        same = None
        if (
            shop.lab.table.verify
            and corpus.dimensions
            and self.metric != "l2"
            and (are_units(corpus.values) or (self.normalise and self.holds_corpus))
            and are_units(asked.values)
        ):
            same = equivalence_of(corpus, asked, k=bench.k)
        vectors = self.prepared | {"filter": self.filter} | ({"corpus": "stored"} if self.holds_corpus else {})
        found = replace(found, indexed=replace(found.indexed, vectors=vectors))
        shop.keep_index(found, same)
        shop.keep_vectors(corpus, asked, found.scores)
        return found.ranking

    def bench(
        self, folder: Folder, lab: LabWork, wanted: pl.Series | None = None, exclude_self: bool | None = None
    ) -> Bench:
        """What the index is tried with; ``wanted``: only these queries; ``exclude_self``: what the gold says."""
        corpus, asked = self._sides(folder, lab, wanted)
        return self._bench(folder, corpus, asked, lab, exclude_self)

    def _sides(
        self, folder: Folder, lab: LabWork, wanted: pl.Series | None, shop: Shop | None = None
    ) -> tuple[Vectors, Vectors]:
        if self.holds_corpus:
            corpus, queries = self._stored(folder), self.read_queries(folder)
            asked = queries if queries is not None else self.varied(corpus)
        elif not self.path:
            return lab.ids_alone(wanted)
        else:
            corpus, queries = self.read(folder)
            asked = queries if queries is not None else corpus
        wanted = wanted if shop is None else wanted_queries(shop, corpus, queries)
        asked = asked if wanted is None else those(asked, wanted, "query")
        check_pair(asked, corpus, self.metric)
        return corpus, asked

    def _stored(self, folder: Folder) -> Vectors:
        """Read the vectors of an existing table; a file of vectors is only compared with them."""
        given = self.read(folder)[0] if self.path else None
        found = read_stored(self.engine, self.metric, self._opened(folder), given)
        for note in found.notes:
            folder.note(note)
        if self.normalise and not are_units(found.vectors.values):
            lengths = norms_of(found.vectors.values)
            between = f"{lengths.min():.4g} to {lengths.max():.4g}"
            folder.note(f"normalise = true, but the stored vectors are not of length one: {between}")
        return found.vectors

    def _own(self, folder: Folder, corpus: Vectors, asked: Vectors, said: bool | None) -> Ints:
        """The item of each query that is not to be found; what becomes of the same ids in different files is noted."""
        said = self.exclude_self if self.exclude_self is not None else said
        decided = bool(corpus.dimensions) and self.asks_items(folder)
        exclude = decided if said is None else said
        same = own_item(corpus, asked, exclude=True)
        if not decided and (same >= 0).any():
            folder.note(own_note(int((same >= 0).sum()), len(asked), exclude=exclude))
        return same if exclude else own_item(corpus, asked, exclude=False)

    def _bench(self, folder: Folder, corpus: Vectors, asked: Vectors, lab: LabWork, said: bool | None = None) -> Bench:
        filters = attributes = None
        if self.filter is not None:
            attributes = lab.attributes_of(corpus.ids, self.filter)
            filters = lab.filters_of(asked.ids, self.filter)
            _check_filters(filters, attributes, folder)
        return Bench(
            corpus,
            asked,
            engine=self.engine,
            metric=self.metric,
            settings=self._opened(folder),
            k=lab.table.k,
            attributes=attributes,
            texts=lab.texts_of(asked.ids),
            filters=filters,
            own=self._own(folder, corpus, asked, said),
            how=folder.how,
        )

    def _opened(self, folder: Folder) -> Params:
        """Paths are relative to the plan; what an engine keeps while it is open stands under the plan's output."""
        given = {
            name: folder.path(value) if name == "folder" and isinstance(value, str) and value else value
            for name, value in self.open.items()
        }
        usual = {"folder": folder.scratch} if ENGINES.get(self.engine).beside_output else {}
        return usual | given


def _check_filters(filters: Sequence[Filter | None], attributes: pl.DataFrame, folder: Folder) -> None:
    """Tell of values that no item has: a filter by them lets nothing pass."""
    empty = [one for one in dict.fromkeys(filters) if one is not None and not passing(attributes, one).any()]
    if empty:
        lost = sum(one in empty for one in filters)
        shown = ", ".join(map(str, empty[:_LISTED])) + (" …" if len(empty) > _LISTED else "")
        folder.note(f"no item passes the filters of {count(lost, 'query', 'queries')}: {shown}")


def on_database(checked: "Checked", dsn: str | None) -> "Checked":
    """The plan with its pgvector indexes in this database; as it is where there is none."""
    if dsn is None:
        return checked
    systems = dict(checked.plan.systems)
    for name, table in checked.plan.systems.items():
        if isinstance(table, IndexSystem) and table.engine == "pgvector":
            systems[name] = table.model_copy(update={"open": {**table.open, "dsn": dsn}})
    if all(systems[name] is table for name, table in checked.plan.systems.items()):
        raise UsageError("a dsn is given, but no system has the engine pgvector", where=checked.where)
    return replace(checked, plan=checked.plan.model_copy(update={"systems": systems}))
