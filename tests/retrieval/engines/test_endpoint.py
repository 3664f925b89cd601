"""An endpoint: services over HTTP and functions, what they answer and how they fail."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import polars as pl
import pytest

from rankjury.core.types import Matrix, Vectors
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.retrieval.bench.benchmark import IndexBenchmark
from rankjury.retrieval.bench.latency import summarise
from rankjury.retrieval.engines.base import ENGINES, Filter
from rankjury.retrieval.engines.endpoint import Endpoint
from rankjury.retrieval.engines.exact import Exact
from rankjury.retrieval.knn.select import MISSING
from tests.retrieval.engines.service import Reply, Request, Service, serving

CHANCE = np.random.default_rng(7)
VECTORS = CHANCE.normal(size=(30, 6)).astype(np.float32)
QUERIES = CHANCE.normal(size=(9, 6)).astype(np.float32)
IDS = pl.Series("id", [f"i{number:02}" for number in range(30)])
ATTRIBUTES = pl.DataFrame({"kind": ["boot" if number % 3 == 0 else "hat" for number in range(30)]})
SECRET = "s3cr3t-t0ken"


def cosines(query: Any) -> Any:
    query = np.asarray(query, dtype=np.float64)
    return VECTORS @ query / np.linalg.norm(VECTORS, axis=1) / np.linalg.norm(query)


def best(query: Any, k: int, kept: Callable[[int], bool] = lambda row: True) -> list[tuple[str, float]]:
    scores = cosines(query)
    rows = [row for row in np.argsort(-scores).tolist() if kept(row)]
    return [(IDS[row], float(scores[row])) for row in rows[:k]]


def searching(request: Request) -> Reply:
    """As a vector database answers."""
    asked = request.json
    return Reply({"results": [{"id": name, "score": score} for name, score in best(asked["vector"], asked["k"])]})


@pytest.fixture
def service() -> Iterator[Service]:
    with serving(searching) as found:
        yield found


def opened(service: Service | None = None, **settings: Any) -> Endpoint:
    url = {} if service is None else {"url": f"{service.url}/search"}
    engine = Endpoint(settings=url | settings)
    engine.build(VECTORS, IDS, attributes=ATTRIBUTES)
    return engine


def names(engine: Endpoint, queries: Any, k: int = 5, **more: Any) -> list[list[str]]:
    found = engine.search(queries, k, **more)
    return [[IDS[row] for row in rows if row != MISSING] for rows in found.items.tolist()]


def truth(k: int = 5) -> list[list[str]]:
    return [[name for name, _ in best(query, k)] for query in QUERIES]


def failure(engine: Endpoint, query: Any = QUERIES[:1]) -> str:
    with engine, pytest.raises(DataError) as error:
        engine.search(query, 5)
    return str(error.value)


def test_it_is_registered() -> None:
    assert ENGINES.get("endpoint") is Endpoint
    assert Endpoint.one_request_per_query


class TestVectors:
    def test_what_the_service_finds_is_what_exact_search_finds(self, service: Service) -> None:
        exact = Exact()
        exact.build(VECTORS, IDS)
        with opened(service, score="score") as engine:
            found, wanted = engine.search(QUERIES, 5), exact.search(QUERIES, 5)
        assert found.items.tolist() == wanted.items.tolist()
        assert found.scores == pytest.approx(wanted.scores, abs=1e-6)
        assert not engine.takes_texts and engine.size() is None

    def test_the_body_is_json_with_the_numbers_as_they_are(self, service: Service) -> None:
        with opened(service) as engine:
            engine.search(QUERIES[:1], 5)
        (request,) = service.requests
        assert (request.method, request.path) == ("POST", "/search")
        assert request.headers["Content-Type"] == "application/json"
        assert request.json == {"vector": QUERIES[0].tolist(), "k": 5}

    def test_one_connection_for_all_queries(self, service: Service) -> None:
        with opened(service) as engine:
            assert names(engine, QUERIES) == truth()
            assert names(engine, QUERIES[::-1]) == truth()[::-1]
        assert (service.connections, len(service.requests)) == (1, 18)
        assert engine.metadata()["requests"] == 18

    def test_fewer_than_k_and_more_than_k(self, service: Service) -> None:
        service.answer = lambda request: Reply({"results": [{"id": "i03"}, {"id": "i01"}]})
        with opened(service) as engine:
            found = engine.search(QUERIES[:1], 3)
            assert found.items.tolist() == [[3, 1, MISSING]]
            assert found.scores.tolist() == [[0.0, -1.0, -np.inf]]
            assert names(engine, QUERIES[:1], 1) == [["i03"]]

    def test_nothing_found(self, service: Service) -> None:
        service.answer = lambda request: Reply({"results": []})
        with opened(service) as engine:
            assert names(engine, QUERIES[:1], 3) == [[]]

    def test_asked_with_texts_where_vectors_are_wanted(self, service: Service) -> None:
        with opened(service) as engine, pytest.raises(UsageError, match="queried with texts; expected vectors"):
            engine.search(["boots"], 5)


class TestTexts:
    @pytest.mark.parametrize("place", ["{text}", '"{text}"'])
    def test_texts_arrive_as_they_are(self, service: Service, place: str) -> None:
        service.answer = lambda request: Reply([request.json["query"]["match"] and "i01"])
        asked = 'women\'s "red" dress \\ naïve 👗 {k}\n'
        with opened(service, body='{"query": {"match": %s}, "size": {k}}' % place) as engine:  # noqa: UP031
            assert engine.takes_texts
            assert names(engine, [asked], 7) == [["i01"]]
        assert service.requests[0].json == {"query": {"match": asked}, "size": 7}

    def test_within_a_longer_text(self, service: Service) -> None:
        service.answer = lambda request: Reply(["i00"])
        with opened(service, body=r'{"q": "title:\"{text}\" top {k}", "also": "\"{text}", "plain": "{}"}') as engine:
            engine.search(['a "b"'], 3)
        assert service.requests[0].json == {"q": 'title:"a "b"" top 3', "also": '"a "b"', "plain": "{}"}

    def test_by_get(self, service: Service) -> None:
        service.answer = lambda request: Reply({"results": ["i05", 7]}, headers={"Content-Type": "text/plain"})
        url = f"{service.url}/find it?q={{text}}&n={{k}}&lang=en"
        with opened(url=url, method="GET", unknown="skip", params='{"deep": 2, "boost": "a b"}') as engine:
            assert engine.takes_texts
            assert names(engine, ["boots & größe/42?"], 4) == [["i05"]]
        (request,) = service.requests
        parts = urlsplit(request.path)
        assert (request.method, parts.path, request.content) == ("GET", "/find%20it", b"")
        assert parse_qs(parts.query) == {
            "q": ["boots & größe/42?"], "n": ["4"], "lang": ["en"], "deep": ["2"], "boost": ["a b"],
        }  # fmt: skip

    def test_a_vector_by_get(self, service: Service) -> None:
        service.answer = lambda request: Reply(
            {"results": [name for name, _ in best(json.loads(parse_qs(urlsplit(request.path).query)["v"][0]), 5)]}
        )
        with opened(url=f"{service.url}/?v={{vector}}", method="GET") as engine:
            assert names(engine, QUERIES) == truth()

    def test_asked_with_vectors_where_texts_are_wanted(self, service: Service) -> None:
        with opened(service, body='{"q": {text}}') as engine, pytest.raises(UsageError, match="expected texts"):
            engine.search(QUERIES, 5)


class TestAnswers:
    def test_nested_paths(self, service: Service) -> None:
        def elastic(request: Request) -> Reply:
            hits = [{"_id": number, "_source": {"sku": name}, "_score": score + 1}
                    for number, (name, score) in enumerate(best(request.json["knn"]["query_vector"], 5))]  # fmt: skip
            return Reply({"took": 3, "hits": {"total": 30, "hits": hits}})

        service.answer = elastic
        body = '{"knn": {"query_vector": {vector}, "k": {k}}}'
        with opened(service, body=body, results="hits.hits", id="_source.sku", score="_score",
                    params='{"knn": {"num_candidates": 50}, "_source": ["sku"]}') as engine:  # fmt: skip
            found = engine.search(QUERIES, 5)
        assert [[IDS[row] for row in rows] for rows in found.items.tolist()] == truth()
        assert found.scores[0, 0] == pytest.approx(best(QUERIES[0], 1)[0][1] + 1)
        assert service.requests[0].json == {
            "knn": {"query_vector": QUERIES[0].tolist(), "k": 5, "num_candidates": 50}, "_source": ["sku"],
        }  # fmt: skip

    def test_a_place_in_a_list_is_part_of_a_path(self, service: Service) -> None:
        service.answer = lambda request: Reply({"ids": [["i04", "i02"]], "distances": [[0.1, 0.2]]})
        with opened(service, results="ids.0") as engine:
            assert names(engine, QUERIES[:1]) == [["i04", "i02"]]
        service.answer = lambda request: Reply([{"hits": ["i01"]}])
        with opened(service, results="0.hits") as engine:
            assert names(engine, QUERIES[:1]) == [["i01"]]

    def test_distances_are_turned_round(self, service: Service) -> None:
        service.answer = lambda request: Reply({"results": [{"id": "i04", "d": 0.25}, {"id": "i02", "d": 1.5}]})
        with opened(service, score="-d") as engine:
            assert engine.search(QUERIES[:1], 2).scores.tolist() == [[-0.25, -1.5]]
        assert "result 2 is better" in failure(opened(service, score="d"))

    def test_repeated_ids_count_once(self, service: Service) -> None:
        service.answer = lambda request: Reply({"results": ["i04", "i02", "i04", "i07"]})
        with opened(service) as engine:
            assert names(engine, QUERIES[:1], 3) == [["i04", "i02", "i07"]]
            assert engine.metadata()["repeated_ids"] == 1

    def test_unknown_ids(self, service: Service) -> None:
        service.answer = lambda request: Reply({"results": ["i04", "nobody", "i02", *map(str, range(9))]})
        told = failure(opened(service))
        assert "outside of the corpus: nobody, 0, 1, 2, 3 …" in told and 'unknown = "skip"' in told
        with opened(service, unknown="skip") as engine:
            assert names(engine, QUERIES[:2]) == [["i04", "i02"]] * 2
            assert engine.metadata()["unknown_ids"] == 20

    @pytest.mark.parametrize(
        ("answer", "settings", "told"),
        [
            ({"hits": [], "took": 1}, {}, "no 'results' of the path 'results'; expected one of: hits"),
            ({"results": {"hits": []}}, {}, "an object at results = 'results'; expected a list"),
            ({"results": [{"_id": "i01"}]}, {}, "no 'id' of the path 'id'"),
            ({"results": [{"id": {"x": "i01"}}]}, {"id": "id.y"}, "no 'y' of the path 'id.y'"),
            ({"results": [{"id": None}]}, {}, "null as an id"),
            ({"results": [{"id": 1.5}]}, {}, "1.5 as an id"),
            ({"results": [{"id": True}]}, {}, "true as an id"),
            ({"results": [{"id": "i01"}]}, {"score": "score"}, "no 'score' of the path 'score'"),
            ({"results": [{"id": "i01", "score": "0.5"}]}, {"score": "score"}, "a text as a score"),
            ({"results": [{"id": "i01", "score": None}]}, {"score": "score"}, "null as a score"),
            (b'{"results": [{"id": "i01", "score": NaN}]}', {"score": "score"}, "nan as a score"),
            ({"results": [["i01", 1.0, "x"]]}, {}, "a result of 3 parts"),
            ({"results": [["i01", 1.0], "i02"]}, {}, "some results have a score"),
            (7, {}, "no 'results'"),
        ],
    )  # fmt: skip
    def test_that_cannot_be_read(self, service: Service, answer: Any, settings: dict[str, str], told: str) -> None:
        service.answer = lambda request: Reply(answer)
        found = failure(opened(service, **settings))
        assert told in found and f"{service.url}/search" in found


class TestFailures:
    def test_a_status_is_told_with_the_first_200_characters(self, service: Service) -> None:
        service.answer = lambda request: Reply(b"out of\n memory " + b"x" * 500, status=500)
        told = failure(opened(service))
        assert told.startswith(f"{service.url}/search: status 500 Internal Server Error: out of memory xxx")
        assert told.count("x") < 200 and "…" in told

    def test_it_goes_on_after_a_failure_on_the_same_connection(self, service: Service) -> None:
        with opened(service) as engine:
            service.answer = lambda request: Reply({"error": "bad"}, status=400)
            with pytest.raises(DataError, match="status 400"):
                engine.search(QUERIES[:1], 5)
            service.answer = searching
            assert names(engine, QUERIES) == truth()
        assert service.connections == 1

    def test_no_answer_in_time(self, service: Service) -> None:
        def slow(request: Request) -> Reply:
            service.over.wait(30)
            return Reply()

        service.answer = slow
        assert "no response within 0.05 s" in failure(opened(service, timeout=0.05))

    def test_what_comes_late_is_not_taken_for_the_next_answer(self, service: Service) -> None:
        late = threading.Event()

        def first_late(request: Request) -> Reply:
            if len(service.requests) == 1:
                late.wait(30)
                return Reply({"results": ["i29"]})
            return searching(request)

        service.answer = first_late
        with opened(service, timeout=1.0) as engine:
            with pytest.raises(DataError, match="no response within"):
                engine.search(QUERIES[:1], 5)
            late.set()
            assert names(engine, QUERIES[1:2]) == truth()[1:2]

    def test_bad_json(self, service: Service) -> None:
        service.answer = lambda request: Reply(b"<html>Sign in</html>")
        assert "the response is not valid JSON: <html>Sign in</html>" in failure(opened(service))
        service.answer = lambda request: Reply(b"\xff\xfe\x00")
        assert "the response is not valid JSON" in failure(opened(service))

    def test_nobody_there(self) -> None:
        with serving(searching) as gone:
            pass
        told = failure(opened(gone))
        assert "cannot be reached: Connection refused" in told and "Is the service running?" in told

    def test_no_tls_there(self, service: Service) -> None:
        assert "cannot be reached" in failure(opened(url=service.url.replace("http:", "https:")))

    def test_a_closed_connection_is_opened_again(self, service: Service) -> None:
        service.answer = lambda request: Reply(searching(request).content, hangs_up=True)
        with opened(service) as engine:
            for query, wanted in zip(QUERIES, truth(), strict=True):
                assert names(engine, query[None]) == [wanted]
        assert engine.metadata()["reconnected"] == len(QUERIES) - 1

    def test_hanging_up_at_once_is_a_failure(self, service: Service) -> None:
        service.answer = lambda request: Reply(says_nothing=True)
        assert "the response is invalid: RemoteDisconnected" in failure(opened(service))
        assert len(service.requests) == 1

    @pytest.mark.parametrize("wayward", [Reply(b"busy", status=503), Reply(says_nothing=True)], ids=["503", "gone"])
    def test_asked_again_as_often_as_allowed(self, service: Service, wayward: Reply) -> None:
        service.answer = lambda request: searching(request) if len(service.requests) > 2 else wayward
        with opened(service, retries=2) as engine:
            assert names(engine, QUERIES[:1]) == truth()[:1]
            assert engine.metadata()["retried"] == 2
        service.requests.clear()
        assert "busy" in (told := failure(opened(service, retries=1))) or "Disconnected" in told
        assert len(service.requests) == 2

    def test_what_is_wrong_for_good_is_not_asked_again(self, service: Service) -> None:
        service.answer = lambda request: Reply(status=404)
        assert "status 404 Not Found" in failure(opened(service, retries=3))
        assert len(service.requests) == 1

    @pytest.mark.parametrize("status", [301, 302, 307])
    def test_redirections_are_told_and_not_followed(self, service: Service, status: int) -> None:
        with serving(searching) as other:
            there = {"Location": f"{other.url}/elsewhere?key={SECRET}"}
            service.answer = lambda request: Reply(b"", status=status, headers=there)
            told = failure(opened(service))
            assert f"which redirects to {other.url}/elsewhere; expected" in told and SECRET not in told
            assert not other.requests

    def test_proxies_of_the_environment_are_not_used(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving(searching) as proxy:
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
                monkeypatch.setenv(name, proxy.url)
            with opened(service) as engine:
                assert names(engine, QUERIES) == truth()
            assert not proxy.requests


class TestSecrets:
    def test_a_header_is_sent_and_never_shown(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MY_TOKEN", SECRET)
        monkeypatch.setenv("MY_KEY", "k-77")
        with opened(service, headers="Authorization=Bearer env:MY_TOKEN, X-Api-Key=env:MY_KEY") as engine:
            assert names(engine, QUERIES) == truth()
            shown = repr((engine.settings, engine.metadata(), engine))
            again = engine.for_thread()
            again.search(QUERIES[:1], 5)
        for request in service.requests:
            assert (request.headers["Authorization"], request.headers["X-Api-Key"]) == (f"Bearer {SECRET}", "k-77")
        assert SECRET not in shown and "k-77" not in shown

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(f"the token {SECRET} is void".encode(), status=401),
            Reply(b"a" * 195 + SECRET.encode(), status=500),
            Reply(f"no JSON: {SECRET}".encode()),
            Reply(b"", status=302, headers={"Location": f"http://localhost/{SECRET}"}),
        ],
    )
    def test_what_a_service_says_of_it_is_not_shown(
        self, service: Service, monkeypatch: pytest.MonkeyPatch, reply: Reply
    ) -> None:
        monkeypatch.setenv("MY_TOKEN", f" {SECRET}\n")
        service.answer = lambda request: reply
        told = failure(opened(service, headers="Authorization=env:MY_TOKEN"))
        assert SECRET[:4] not in told

    def test_values_in_the_query_are_neither_recorded_nor_told(self, service: Service) -> None:
        engine = opened(url=f"{service.url}/search?api_key={SECRET}&v={{k}}")
        assert engine.settings["url"] == f"{service.url}/search?api_key=***&v={{k}}"
        service.answer = lambda request: Reply(status=500)
        assert SECRET not in failure(engine)
        assert SECRET in service.requests[0].path
        assert SECRET not in repr((engine.settings, engine.metadata()))

    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"headers": f"Authorization={SECRET}"}, "header 1 is not from the environment"),
            ({"headers": f"Authorization=Bearer {SECRET}"}, "header 1 is not from the environment"),
            ({"headers": SECRET}, "header 1 is not from the environment"),
            ({"headers": f"X=env:PATH, Y=Basic abc,{SECRET}=="}, "header 2 is not from the environment"),
            ({"headers": "X=env:NOT_THERE"}, "the environment variable NOT_THERE is not set"),
            ({"headers": "X=env:MY_BAD"}, "the value of MY_BAD is not valid in a header"),
            ({"url": f"http://me:{SECRET}@localhost/"}, "the url contains a user name or a password"),
        ],
    )
    def test_what_is_refused_is_not_repeated(
        self, settings: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_BAD", f"{SECRET}\r\nX-More: 1")
        with pytest.raises(UsageError, match=told) as error:
            opened(**{"url": "http://localhost/"} | settings)
        assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "neither url nor call"),
        ({"url": "http://x/", "call": "a:b"}, "both url and call"),
        ({"url": "ftp://x/"}, "not one of http or https"),
        ({"url": "http://"}, "not one of http or https"),
        ({"url": "http://{text}/"}, "not one of http or https"),
        ({"url": "http://x:port/"}, "cannot be read"),
        ({"url": "http://x/", "body": "{"}, "the body is not valid JSON"),
        ({"url": "http://x/", "body": '{"k": {size}}'}, "unknown placeholder 'size'"),
        ({"url": "http://x/", "body": '{"k": {k}}'}, "neither {text} nor {vector}"),
        ({"url": "http://x/", "body": '{"v": {vector}, "t": {text}}'}, "both {text} and {vector}"),
        ({"url": "http://x/", "method": "GET"}, "neither {text} nor {vector}"),
        ({"url": "http://x/?q={text}", "method": "GET", "body": "{}"}, "a body with GET"),
        ({"url": "http://x/", "params": "[1]"}, "params are not a JSON object"),
        ({"url": "http://x/", "params": "{"}, "params are not valid JSON"),
        ({"url": "http://x/", "body": "[{vector}]", "params": '{"a": 1}'}, "a body that is not an object"),
        ({"url": "http://x/", "timeout": 0.0}, "0.001 or more"),
        ({"call": "no_colon"}, "module:function"),
        ({"call": "rankjury_no_such_module:f"}, "there is no module 'rankjury_no_such_module'"),
        ({"call": "json:dmps"}, "Did you mean dumps"),
        ({"call": "json:__name__"}, "is not a function"),
        ({"call": "json:dumps", "headers": "X=env:Y"}, "headers with call"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as error:
        Endpoint(settings=settings)
    assert told in str(error.value)


class TestFilters:
    def test_left_out_afterwards(self, service: Service) -> None:
        with opened(service) as engine:
            found = names(engine, QUERIES, filter=Filter("kind", "boot"))
            assert engine.metadata()["native_filter"] is False
        assert found == [[name for name, _ in best(query, 5, lambda row: row % 3 == 0)] for query in QUERIES]

    def test_sent_where_the_body_has_a_place_for_it(self, service: Service) -> None:
        def filtering(request: Request) -> Reply:
            only = (request.json["filter"] or {"term": None})["term"]
            kept = {None: lambda row: True, "boot": lambda row: row % 3 == 0}[only and only["kind"]]
            return Reply({"results": [name for name, _ in best(request.json["v"], request.json["k"], kept)]})

        service.answer = filtering
        with opened(service, body='{"v": {vector}, "k": {k}, "filter": {"term": {filter}}}') as engine:
            assert names(engine, QUERIES) == truth()
            found = names(engine, QUERIES, filter=Filter("kind", "boot"))
            assert engine.metadata()["native_filter"] is True
        assert found == [[name for name, _ in best(query, 5, lambda row: row % 3 == 0)] for query in QUERIES]
        assert {request.json["k"] for request in service.requests} == {5}

    def test_an_attribute_that_is_not_there(self, service: Service) -> None:
        with opened(service) as engine, pytest.raises(UnknownName, match="attribute of items 'colour'"):
            engine.search(QUERIES, 5, filter=Filter("colour", "red"))


class TestThreads:
    def test_each_has_its_own_connection(self, service: Service) -> None:
        with opened(service) as engine:
            engines = [engine, *(engine.for_thread() for _ in range(3))]
            met = threading.Barrier(4)

            def search(one: Endpoint) -> list[list[str]]:
                met.wait(30)
                return [name for _ in range(5) for name in names(one, QUERIES)]

            with ThreadPoolExecutor(4) as pool:
                for found in pool.map(search, engines):
                    assert found == truth() * 5
            assert engine.metadata()["requests"] == 4 * 5 * len(QUERIES)
        assert service.connections == 4

    def test_all_are_closed_with_the_first(self, service: Service) -> None:
        """Else their sockets would be warned of when they are collected."""
        engine = opened(service)
        other = engine.for_thread()
        for one in (engine, other):
            one.search(QUERIES[:1], 5)
        engine.close()
        engine.close()
        other.search(QUERIES[:1], 5)
        assert service.connections == 3
        other.close()


def as_ids(query: Matrix, k: int) -> list[str]:
    return [name for name, _ in best(query, k)]


FUNCTIONS = {
    "ids": as_ids,
    "tuple_of_ids": lambda query, k: tuple(as_ids(query, k)),
    "array_of_ids": lambda query, k: np.array(as_ids(query, k)),
    "generated": lambda query, k: (name for name in as_ids(query, k)),
    "pairs": best,
    "lists": lambda query, k: [list(pair) for pair in best(query, k)],
    "numpy_scores": lambda query, k: [(name, np.float32(score)) for name, score in best(query, k)],
    "dicts": lambda query, k: [{"id": name, "score": score} for name, score in best(query, k)],
    "whole_answer": lambda query, k: {"results": [{"id": name, "score": score} for name, score in best(query, k)]},
}


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """A module of the current folder, gone with the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    made: list[str] = []

    def written(text: str) -> str:
        made.append(f"rankjury_test_module_{tmp_path.name}_{len(made)}")
        (tmp_path / f"{made[-1]}.py").write_text(text)
        return made[-1]

    yield written
    for name in made:
        sys.modules.pop(name, None)


class TestFunctions:
    @pytest.mark.parametrize("shape", FUNCTIONS)
    def test_all_shapes_of_answers(self, shape: str, mine: Callable[[str], str]) -> None:
        name = mine(f"from tests.retrieval.engines.test_endpoint import FUNCTIONS\nsearch = FUNCTIONS['{shape}']\n")
        scored = shape not in ("ids", "tuple_of_ids", "array_of_ids", "generated")
        with opened(call=f"{name}:search", score="score" if scored else "") as engine:
            found = engine.search(QUERIES, 5)
        assert [[IDS[row] for row in rows] for rows in found.items.tolist()] == truth()
        wanted = [[score for _, score in best(query, 5)] for query in QUERIES] if scored else [[0, -1, -2, -3, -4]] * 9
        assert found.scores == pytest.approx(np.array(wanted), abs=1e-6)

    def test_it_gets_the_vector_k_and_the_params(self, mine: Callable[[str], str]) -> None:
        name = mine("seen = []\ndef find(*given, **more):\n    seen.append((given, more))\n    return []\n")
        with opened(call=f"{name}:find", params='{"deep": true}') as engine:
            engine.search(QUERIES[:1], 4)
        (((query, k), more),) = sys.modules[name].seen
        assert query.tolist() == QUERIES[0].tolist() and query.dtype == np.float32
        assert (k, more) == (4, {"deep": True})

    def test_with_texts_and_a_filter(self, mine: Callable[[str], str]) -> None:
        name = mine(
            "class Shop:\n    def find(self, query, k, filter=None):\n"
            "        return [7, '7'] if filter == {'kind': 'hat'} else [query]\nshop = Shop()\n"
        )
        with opened(call=f"{name}:shop.find", text=True) as engine:
            assert engine.takes_texts
            assert names(engine, ["i03", "i04"]) == [["i03"], ["i04"]]
            engine.build(VECTORS[:1], pl.Series(["7"]))
            assert engine.search(["x"], 3, filter=Filter("kind", "hat")).items.tolist() == [[0, MISSING, MISSING]]

    def test_a_failure_is_told_with_its_name(self, mine: Callable[[str], str]) -> None:
        name = mine("def find(query, k):\n    raise KeyError('no index ' + 'x' * 500)\n")
        told = failure(opened(call=f"{name}:find"))
        assert f"{name}:find: the function failed: KeyError: 'no index" in told and told.count("x") < 210

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("def find(query, k):\n    return None\n", "no 'results'"),
            ("def find(query, k):\n    return 'i01'\n", "no 'results'"),
            ("def find(query, k):\n    return [('i01', 0.1), ('i02', 0.2)]\n", "result 2 is better"),
        ],
    )
    def test_answers_that_cannot_be_read(self, text: str, told: str, mine: Callable[[str], str]) -> None:
        assert told in failure(opened(call=f"{mine(text)}:find"))

    def test_a_module_that_cannot_be_imported(self, mine: Callable[[str], str]) -> None:
        with pytest.raises(UsageError, match="cannot be imported: ZeroDivisionError"):
            opened(call=f"{mine('1 / 0')}:find")
        with pytest.raises(UsageError, match="is a coroutine"):
            opened(call=f"{mine('async def find(query, k): ...')}:find")

    def test_rankjurys_own_errors_pass(self, mine: Callable[[str], str]) -> None:
        name = mine("from rankjury.errors import UsageError\ndef find(query, k):\n    raise UsageError('not so')\n")
        with opened(call=f"{name}:find") as engine, pytest.raises(RankjuryError, match=r"^not so$"):
            engine.search(QUERIES[:1], 3)


def test_a_bench_notes_the_queries_that_failed(service: Service) -> None:
    def at_times(request: Request) -> Reply:
        return Reply(b"busy", status=500) if request.json["vector"] == QUERIES[2].tolist() else searching(request)

    service.answer = at_times
    queries = Vectors(pl.Series("id", [f"q{number}" for number in range(9)]), QUERIES)
    bench = IndexBenchmark(
        Vectors(IDS, VECTORS), queries, engine="endpoint", settings={"url": f"{service.url}/search"}, k=5
    )
    with bench.build() as built:
        found = built.search()
        timed = summarise(built.timed(rounds=2, warm_up=0, concurrency=3))
    assert [row for row, _ in built.failures] == [2]
    assert found.found.tolist() == [5, 5, 0, 5, 5, 5, 5, 5, 5]
    assert (timed.n, timed.failed) == (16, 2)
    assert service.connections == 3


def test_there_is_no_exact_mode(service: Service) -> None:
    with opened(service) as engine, pytest.raises(UsageError, match="no exact mode"):
        engine.search(QUERIES, 5, exact=True)
