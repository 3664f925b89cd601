"""Qdrant: a server that is asked over HTTP; or its client's local mode, which looks at every item."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from math import isfinite
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
import polars as pl

from rankjury.core.importing import import_optional
from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import Progress
from rankjury.core.secrets import Masker, forms_of, redact
from rankjury.core.types import cut_rows
from rankjury.errors import DataError, UsageError
from rankjury.retrieval.engines.arrays import ArrayEngine, attribute_column, attribute_columns
from rankjury.retrieval.engines.base import ENGINES, Filter, pad_rows
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.similarity import Singles

_LOCAL = ":memory:"
_LONGEST_SHOWN = 300
_NUMBERS_AT_ONCE = 1 << 18
_QUERIES_AT_ONCE = 64
_SMALLEST_INDEXED, _SMALLEST_BY_GRAPH = 1, 10
"""In kilobytes. The server's usual ones would let it look at every item of a small corpus, and its graph unused."""
_PAUSE, _PAUSES = 0.1, 30
"""How long it is waited for an index that does not grow any more, though the server is not at work."""
_DISTANCES = {"cosine": "Cosine", "ip": "Dot", "l2": "Euclid"}


@ENGINES.register("qdrant")
class Qdrant(ArrayEngine):
    """Makes a collection of its own, and deletes it when it is closed; other collections are never touched."""

    description = "Qdrant: a graph of near neighbours, on a server"
    extra = "engines"
    libraries = ("qdrant_client",)
    open_params: ClassVar = {
        "url": Param("http://localhost:6333", f"where the server is; {_LOCAL}: the client's own brute force"),
        "api_key": Param("", "the environment variable that holds the key: env:NAME, or NAME"),
        "prefix": Param("rankjury", "how the names of its collections begin"),
        "timeout": Param(60, "seconds that an answer may take", min=1),
    }
    build_params: ClassVar = {
        "m": Param(16, "neighbours of a vector in the graph", min=2),
        "ef_construct": Param(100, "how many it chooses these from", min=4),
    }
    search_params: ClassVar = {"hnsw_ef": Param(128, "how many a query keeps in view", min=1, monotonic_recall=True)}
    exact_mode = True
    native_filter = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._library = import_optional("qdrant_client", "the engine qdrant")
        self._models = self._library.models
        self._url = str(self.settings["url"])
        self._shown = _LOCAL
        self._forms: tuple[str, ...] = ()
        """The secrets that a server may repeat."""
        self._connection: Any = self._connected()
        self._server: str | None = None
        self._name: str | None = None

    def _connected(self) -> Any:
        if self._is_local:
            return self._library.QdrantClient(_LOCAL)
        name = str(self.settings["api_key"]).removeprefix("env:")
        if name and name not in os.environ:  # it is not repeated: it may be the key itself
            expected = "the name of an environment variable that holds qdrant's key"
            raise UsageError("api_key names no environment variable that is set", expected=expected)
        headers = {"api-key": os.environ[name]} if name else None
        masker = Masker()
        self._shown = masker.url(self._url)
        self._forms = forms_of([*masker.secrets, *(headers or {}).values()])
        self.settings["url"] = self._shown
        with self._asking():
            return self._library.QdrantClient(
                url=self._url, timeout=int(self.settings["timeout"]), headers=headers, check_compatibility=False
            )

    @property
    def _is_local(self) -> bool:
        return self._url == _LOCAL

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """What goes wrong between here and the server is said in rankjury's words."""
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        try:
            yield
        except ResponseHandlingException as error:
            said = self._clean(str(error.source or error))
            raise DataError(
                f"qdrant does not answer: {said}", where=self._shown, expected="a server that runs"
            ) from None
        except UnexpectedResponse as error:
            said = self._clean(error.content.decode("utf-8", "replace"))
            raise DataError(f"qdrant refuses with status {error.status_code}: {said}", where=self._shown) from None
        except ValueError as error:
            raise UsageError(f"qdrant's client cannot use this: {self._clean(str(error))}", where=self._shown) from None

    def _clean(self, text: str) -> str:
        """What others say, cut and without secrets."""
        return redact(text, self._forms)[:_LONGEST_SHOWN]

    def _fill(self, held: Singles, progress: Progress) -> None:
        with self._asking():
            self._drop()
            if not self._is_local:
                self._server = self._connection.info().version
            self._create(held.shape[1])
            for first, last in self._batches(max(1, _NUMBERS_AT_ONCE // held.shape[1]), progress):
                rows = list(range(first, last))
                batch = self._models.Batch(
                    ids=rows, vectors=held[first:last].tolist(), payloads=self._payloads(first, last)
                )
                self._connection.upsert(self._name, batch, wait=True)
            if not self._is_local:
                self._wait_for_index()

    def _create(self, dimensions: int) -> None:
        models, values = self._models, self._built
        name = f"{self.settings['prefix']}-{uuid4().hex}"
        self._connection.create_collection(
            name,
            vectors_config=models.VectorParams(size=dimensions, distance=models.Distance(_DISTANCES[self.metric])),
            hnsw_config=models.HnswConfigDiff(
                m=values["m"], ef_construct=values["ef_construct"], full_scan_threshold=_SMALLEST_BY_GRAPH
            ),
            optimizers_config=models.OptimizersConfigDiff(indexing_threshold=_SMALLEST_INDEXED),
        )
        self._name = name
        if not self._is_local:
            for column in attribute_columns(self._attributes):
                self._connection.create_payload_index(name, column, models.PayloadSchemaType.KEYWORD, wait=True)

    def _payloads(self, first: int, last: int) -> list[dict[str, str]] | None:
        if self._attributes is None:
            return None
        names = attribute_columns(self._attributes)
        rows = self._attributes[first:last].cast(pl.String).iter_rows()
        return [{name: value for name, value in zip(names, row, strict=True) if value is not None} for row in rows]

    def _wait_for_index(self) -> None:
        """The server indexes after it has answered; it may leave the last few vectors without."""
        before, still = -1, 0
        while still < _PAUSES:
            info = self._connection.get_collection(self._name)
            indexed, status = info.indexed_vectors_count or 0, str(info.status)
            if status == "red":
                raise DataError("qdrant could not index the collection", where=self._shown)
            if status == "green" and indexed >= self._shape[0]:
                return
            still = 0 if indexed != before or status == "yellow" else still + 1
            before = indexed
            time.sleep(_PAUSE)

    def _find(
        self, asked: Singles, k: int, values: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> Neighbours:
        models = self._models
        common = {
            "limit": min(k, self._shape[0]),
            "params": None if self._is_local else models.SearchParams(hnsw_ef=values["hnsw_ef"], exact=exact),
            "filter": None if filter is None else self._condition(filter),
        }
        points: list[list[Any]] = []
        with self._asking():
            for first, last in cut_rows(len(asked), _QUERIES_AT_ONCE):
                requests = [models.QueryRequest(query=query, **common) for query in asked[first:last].tolist()]
                answers = self._connection.query_batch_points(self._name, requests)
                points += [answer.points for answer in answers]
        sign = -1.0 if self.metric == "l2" else 1.0
        self._check(points, len(asked))
        rows = [np.array([point.id for point in found], dtype=np.int64) for found in points]
        return pad_rows(rows, [sign * np.array([point.score for point in found]) for found in points], k)

    def _check(self, points: list[list[Any]], queries: int) -> None:
        """Refuse answers that cannot be of this collection: a server is not trusted with rows of the corpus."""
        ids = (point.id for found in points for point in found)
        known = all(isinstance(one, int) and 0 <= one < self._shape[0] for one in ids)
        if len(points) != queries or not known or not all(isfinite(point.score) for found in points for point in found):
            raise DataError(
                "the answer does not fit the collection",
                where=self._shown,
                expected="a list for each query, with ids that were stored and finite scores",
            )

    def _condition(self, filter: Filter) -> Any:
        column, models = attribute_column(self._attributes, filter), self._models
        return models.Filter(must=[models.FieldCondition(key=column, match=models.MatchValue(value=filter.value))])

    def metadata(self) -> dict[str, Any]:
        """In local mode the graph's parameters are not in force, and nothing is missed."""
        found: dict[str, Any] = {"library": "qdrant-client", "version": version("qdrant-client")}
        if self._is_local:
            return {**found, "mode": "local", "approximate": False}
        found |= {**self._built, "mode": "server", "server_version": self._server}
        if self._name is not None:
            with self._asking():
                indexed = self._connection.get_collection(self._name).indexed_vectors_count or 0
            found |= {"indexed_vectors": indexed, "approximate": indexed > 0}
        return found

    def _drop(self) -> None:
        if self._name is not None:
            name, self._name = self._name, None
            self._connection.delete_collection(name)

    def close(self) -> None:
        if self._connection is not None:
            with suppress(DataError), self._asking():  # a server that is gone has nothing left to delete
                self._drop()
            self._connection.close()
            self._connection = None
