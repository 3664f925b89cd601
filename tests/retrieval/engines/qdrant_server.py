"""The few routes of Qdrant's REST interface that rankjury uses, over HTTP, in front of the client's local mode."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.retrieval.engines.service import Reply, Request, Service


class QdrantServer(Service):
    """Remembers what it was asked; indexes as many vectors as it is told to, and can refuse."""

    def __init__(self) -> None:
        from qdrant_client import QdrantClient, models

        super().__init__(self._answer)
        self.held, self.models = QdrantClient(":memory:"), models
        self.indexed: list[tuple[str, int]] = []
        """What it says of its index when it is asked: status and count, the last for ever; empty: all, green."""
        self.refuses: str | None = None
        """A part of the path that is answered with an error."""
        self._one_at_a_time = threading.Lock()

    def _handler(self) -> Any:
        handler: Any = super()._handler()
        handler.do_PUT = handler.do_DELETE = handler.do_GET
        return handler

    def asked(self, method: str, path: str) -> list[Any]:
        """The bodies of such requests."""
        found = [one for one in self.requests if one.method == method and re.search(path, one.path)]
        return [json.loads(one.content) if one.content else None for one in found]

    def _answer(self, request: Request) -> Reply:
        with self._one_at_a_time:
            path = request.path.partition("?")[0]
            if self.refuses is not None and self.refuses in path:
                return Reply({"status": {"error": "out of memory"}}, status=500)
            if path == "/":
                return Reply({"title": "qdrant", "version": "1.99.0"})
            _, _, name, *rest = path.split("/")
            body = request.json if request.content else None
            result = getattr(self, f"_{request.method.lower()}_{'_'.join(rest) or 'collection'}")(name, body)
            return Reply({"result": result, "status": "ok", "time": 0.0}, headers={"Content-Type": "application/json"})

    def _put_collection(self, name: str, body: Any) -> bool:
        return self.held.create_collection(name, vectors_config=self.models.VectorParams(**body["vectors"]))

    def _delete_collection(self, name: str, _: Any) -> bool:
        return self.held.delete_collection(name)

    def _get_collection(self, name: str, _: Any) -> Any:
        info = json.loads(self.held.get_collection(name).model_dump_json())
        status, count = self.indexed[0] if self.indexed else ("green", info["points_count"])
        self.indexed = self.indexed[1:] or self.indexed
        return {**info, "status": status, "indexed_vectors_count": count}

    def _put_index(self, name: str, _: Any) -> Any:
        return {"operation_id": 1, "status": "completed"}

    def _put_points(self, name: str, body: Any) -> Any:
        self.held.upsert(name, self.models.Batch(**body["batch"]))
        return {"operation_id": 1, "status": "completed"}

    def _post_points_query_batch(self, name: str, body: Any) -> Any:
        requests = [self.models.QueryRequest(**{**one, "params": None}) for one in body["searches"]]
        return [json.loads(answer.model_dump_json()) for answer in self.held.query_batch_points(name, requests)]


@contextmanager
def qdrant_server() -> Iterator[QdrantServer]:
    service = QdrantServer()
    thread = threading.Thread(target=service.server.serve_forever, kwargs={"poll_interval": 0.005})
    thread.start()
    try:
        yield service
    finally:
        service.server.shutdown()
        thread.join()
        service.server.server_close()
        service.held.close()
