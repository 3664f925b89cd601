"""``rankjury.try_index``: an index tried from a script, without labels and without a plan."""

from dataclasses import replace
from typing import Any

from rankjury.core.params import Params
from rankjury.core.validation import check_arguments
from rankjury.errors import UsageError
from rankjury.retrieval.bench.build import Bench
from rankjury.retrieval.bench.measure import Clock, measure
from rankjury.retrieval.bench.result import Indexed
from rankjury.retrieval.bench.stored import read_stored
from rankjury.retrieval.engines.base import ENGINES
from rankjury.retrieval.rank import as_vectors, check_comparable, resolve_exclude_self, rows_of_queries
from rankjury.stats.resampling import Resampling


@check_arguments
def try_index(
    corpus: Any,
    queries: Any = None,
    *,
    engine: str,
    metric: str = "cosine",
    build: Params | None = None,
    search: Params | None = None,
    settings: Params | None = None,
    k: int = 10,
    exclude_self: bool | None = None,
    clock: Clock | None = Clock(),  # noqa: B008 - frozen
    resampling: Resampling | None = Resampling(),  # noqa: B008 - frozen
) -> Indexed:
    """Build an index and measure it: ``rankjury.try_index(items, queries, engine="faiss-hnsw", build={"m": 16})``.

    ``corpus`` and ``queries`` are matrices, paths or ``Vectors``; without queries the corpus's own items are asked,
    each without itself. ``exclude_self`` says whether the item of the query's own id is left out; None: it is where the
    queries are the corpus (none given, the same object or the same file). With an existing table
    (``settings={"dsn": …, "table": …}``) the stored vectors are the corpus; ``corpus`` may be None, and is otherwise
    compared with them. The result has ``recall`` against exact search,
    ``latency``, ``build_seconds`` and ``size_bytes``; ``clock=None`` takes no times.
    """
    if k < 1:
        raise UsageError(f"k is {k}", expected="1 or more")
    given = None if corpus is None else as_vectors(corpus, None, "corpus")
    if ENGINES.get(engine).holds_corpus(settings or {}):
        stored = read_stored(engine, metric, settings, given)
        items, notes = stored.vectors, stored.notes
    elif given is None:
        raise UsageError("there are no vectors of the corpus", expected="a matrix, a path or Vectors")
    else:
        items, notes = given, ()
    asked = items if queries is None or queries is corpus else as_vectors(queries, None, "queries")
    check_comparable(asked, items, metric)
    own = rows_of_queries(items, asked, exclude=resolve_exclude_self(exclude_self, items, asked))
    bench = Bench(items, asked, engine=engine, metric=metric, settings=settings, k=k, own=own, resampling=resampling)
    found = measure(bench, build=build, search=search, clock=clock).indexed
    return replace(found, facts={**found.facts, "notes": [*notes, *found.facts.get("notes", ())]}) if notes else found
