"""Qdrant: a server queried over HTTP, or its client's local mode, which compares every item."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import isfinite
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
import polars as pl

from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import Progress
from rankjury.core.secrets import Masker, forms_of, redact
from rankjury.core.types import Floats, Ints, Matrix, cut_rows
from rankjury.errors import DataError, UsageError
from rankjury.retrieval.engines.base import BUILD_WIDTH, DEGREE, ENGINES, SEARCH_WIDTH, Engine, Filter, stack_rows

_LOCAL = ":memory:"
_QUERIES_AT_ONCE = 64
_SMALLEST_INDEXED, _SMALLEST_BY_GRAPH = 1, 10
"""In kilobytes. With the server's defaults a small corpus would be scanned and its graph left unused."""
_PAUSE, _PAUSES = 0.1, 30
"""How long to wait, in seconds and times, for an index that stops growing while the server is idle."""


@ENGINES.register("qdrant")
class Qdrant(Engine):
    """Creates one collection and deletes it on close; other collections are never touched."""

    description = "Qdrant: a graph of nearest neighbours (HNSW), on a server"
    extra = "engines"
    libraries = ("qdrant_client",)
    package = "qdrant-client"
    open_params: ClassVar = {
        "url": Param("http://localhost:6333", f"address of the server; {_LOCAL}: exact search of the client"),
        "api_key": Param("", "the environment variable with the key: env:NAME, or NAME"),
        "prefix": Param("rankjury", "prefix of its collection names"),
        "timeout": Param(60, "seconds to wait for a response", min=1),
    }
    build_params: ClassVar = {"m": DEGREE, "ef_construct": replace(BUILD_WIDTH, default=100, min=4)}
    search_params: ClassVar = {"hnsw_ef": replace(SEARCH_WIDTH, default=128)}
    exact_mode = True
    native_filter = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._models = self._library.models
        self._url = str(self.settings["url"])
        self._is_local = self._url == _LOCAL
        self._where = _LOCAL
        """The URL without secrets, for messages."""
        self._secrets: tuple[str, ...] = ()
        """The secrets that a server may repeat, in every encoding."""
        self._index = self._library.QdrantClient(_LOCAL) if self._is_local else self._connect()
        self._server_version: str | None = None
        self._collection: str | None = None

    def _connect(self) -> Any:
        variable = str(self.settings["api_key"]).removeprefix("env:")
        if variable and variable not in os.environ:  # not repeated in the message: it may be the key itself
            expected = "the name of an environment variable that holds qdrant's key"
            raise UsageError("api_key names no environment variable that is set", expected=expected)
        headers = {"api-key": os.environ[variable]} if variable else None
        masker = Masker()
        self._where = self.settings["url"] = masker.url(self._url)
        self._secrets = forms_of([*masker.secrets, *(headers or {}).values()])
        timeout = int(self.settings["timeout"])
        with self._translate_errors():
            return self._library.QdrantClient(
                url=self._url, timeout=timeout, headers=headers, check_compatibility=False
            )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise errors of the client and the server as rankjury's, shortened and without secrets."""
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        def clean(text: str) -> str:
            return redact(text, self._secrets)[:300]

        try:
            yield
        except ResponseHandlingException as error:
            found = f"qdrant does not answer: {clean(str(error.source or error))}"
            raise DataError(found, where=self._where, expected="a running server") from None
        except UnexpectedResponse as error:
            content = clean(error.content.decode("utf-8", "replace"))
            raise DataError(f"qdrant refuses with status {error.status_code}: {content}", where=self._where) from None
        except ValueError as error:
            raise UsageError(f"qdrant's client cannot use this: {clean(str(error))}", where=self._where) from None

    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        with self._translate_errors():
            self._drop_collection()
            if not self._is_local:
                self._server_version = self._index.info().version
            texts = self._attribute_texts()
            models, values = self._models, self._build_values
            name = f"{self.settings['prefix']}-{uuid4().hex}"
            distance = models.Distance({"cosine": "Cosine", "ip": "Dot", "l2": "Euclid"}[self.metric])
            self._index.create_collection(
                name,
                vectors_config=models.VectorParams(size=self._dimensions, distance=distance),
                hnsw_config=models.HnswConfigDiff(
                    m=values["m"], ef_construct=values["ef_construct"], full_scan_threshold=_SMALLEST_BY_GRAPH
                ),
                optimizers_config=models.OptimizersConfigDiff(indexing_threshold=_SMALLEST_INDEXED),
            )
            self._collection = name
            for column in () if self._is_local else texts.columns:
                self._index.create_payload_index(name, column, models.PayloadSchemaType.KEYWORD, wait=True)
            for first, last in self._batches(progress, max(1, (1 << 18) // self._dimensions)):
                rows = texts[first:last].iter_rows(named=True)
                payloads = [{name: text for name, text in row.items() if text is not None} for row in rows] or None
                numbers = vectors[first:last].tolist()
                batch = models.Batch(ids=list(range(first, last)), vectors=numbers, payloads=payloads)
                self._index.upsert(name, batch, wait=True)
            if not self._is_local:
                self._wait_for_index()

    def _wait_for_index(self) -> None:
        """Wait until the server has indexed, which it does after it has answered. It may omit the last few vectors."""
        before, pauses = -1, 0
        while pauses < _PAUSES:
            info = self._index.get_collection(self._collection)
            indexed, status = info.indexed_vectors_count or 0, str(info.status)
            if status == "red":
                raise DataError("qdrant could not index the collection", where=self._where)
            if status == "green" and indexed >= self._items:
                return
            pauses = 0 if indexed != before or status == "yellow" else pauses + 1
            before = indexed
            time.sleep(_PAUSE)

    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[Ints, Floats]:
        models, condition = self._models, None
        if filter is not None:
            match = models.MatchValue(value=filter.value)
            condition = models.Filter(must=[models.FieldCondition(key=self._attribute_column(filter), match=match)])
        options = None if self._is_local else models.SearchParams(hnsw_ef=params["hnsw_ef"], exact=exact)
        results: list[list[Any]] = []
        with self._translate_errors():
            for first, last in cut_rows(len(queries), _QUERIES_AT_ONCE):
                requests = [
                    models.QueryRequest(query=query, limit=k, params=options, filter=condition)
                    for query in queries[first:last].tolist()
                ]
                results += [answer.points for answer in self._index.query_batch_points(self._collection, requests)]
        # Ids become rows of the corpus: responses that cannot come from this collection are refused.
        known = all(isinstance(point.id, int) and 0 <= point.id < self._items for points in results for point in points)
        finite = all(isfinite(point.score) for points in results for point in points)
        if len(results) != len(queries) or not known or not finite:
            expected = "a list for each query, with ids that were stored and finite scores"
            raise DataError("the response does not fit the collection", where=self._where, expected=expected)
        sign = -1.0 if self.metric == "l2" else 1.0
        return stack_rows(
            [
                (np.array([point.id for point in points], np.int64), sign * np.array([point.score for point in points]))
                for points in results
            ],
            k,
        )

    def metadata(self) -> dict[str, Any]:
        """Return what to record; in local mode the graph's parameters have no effect and nothing is missed."""
        recorded = super().metadata()
        if self._is_local:
            without_effect = {name: recorded[name] for name in recorded if name not in self.build_params}
            return {**without_effect, "mode": "local", "approximate": False}
        recorded |= {"mode": "server", "server_version": self._server_version}
        if self._collection is not None:
            with self._translate_errors():
                indexed = self._index.get_collection(self._collection).indexed_vectors_count or 0
            recorded |= {"indexed_vectors": indexed, "approximate": indexed > 0}
        return recorded

    def _drop_collection(self) -> None:
        if self._collection is not None:
            name, self._collection = self._collection, None
            self._index.delete_collection(name)

    def close(self) -> None:
        if self._index is not None:
            with suppress(DataError), self._translate_errors():  # a server that is gone has nothing to delete
                self._drop_collection()
            self._index.close()
        super().close()
