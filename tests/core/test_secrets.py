"""Masking: what is kept of DSNs, URLs, headers, parameters, bodies and plans."""

import json
from typing import Any

import pytest

from rankjury.core.secrets import Masker, forms_of, is_harmless, is_secret, mask_settings, read_variable, redact
from rankjury.errors import UsageError


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("postgresql://me:hunter2@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql://me:hun/ter@2@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:hu?n#ter2@host/db", "postgresql://me:***@host/db"),
        ("host=x password=hunter2 user=me", "host=x password=*** user=me"),
        ("host=x PASSWORD = 'hun ter2' user=me", "host=x PASSWORD=*** user=me"),
        ('dsn = "host=x password=hunter2"', 'dsn = "host=x password=***'),
        ('password = "hun\\"ter2"', "password=***"),
        ("api_key: hunter2, k=1", "api_key: ***"),
        ("Bearer hunter2hunter2", "Bearer ***"),
        ("https://t0ken@host/x", "https://***@host/x"),
        ("see https://me:hunter2@host/x?key=1&k=2#hunter2 there", "see https://***@host/x?key=***&k=2 there"),
        ("movies.npz:anchor", "movies.npz:anchor"),
        ("queries.csv:type,length(quantiles=3)", "queries.csv:type,length(quantiles=3)"),
        ("ndcg@10 >= 0.85", "ndcg@10 >= 0.85"),
        ("a basic model of tokens: 300 of them", "a basic model of tokens: 300 of them"),
    ],
)
def test_texts(text: str, kept: str) -> None:
    assert Masker().text(text) == kept
    assert Masker().plan({"a": [text]}) == {"a": [kept]}


@pytest.mark.parametrize(
    ("dsn", "kept"),
    [
        ("postgresql://me:p%40ss@host:5432/db?sslmode=require&password=x", "postgresql://me:***@host:5432/db?sslmode=require&password=***"),
        ("postgresql://one,two:5433/db?options=-csecret%3Dx", "postgresql://one,two:5433/db?options=***"),
        (r"host=x password='it\'s secret' dbname=y", "host=x password=*** dbname=y"),
        (r"host=x password=a\ b dbname='my db'", "host=x password=*** dbname='my db'"),
        ("host=x password='it''s secret' dbname=y", "***"),
        ("hunter2", "***"),
        ("dbname=postgresql://me:hunter2@host/db", "dbname=***"),
        ("host=/run/of-alice/socket dbname=y", "host=socket dbname=y"),
        ("env:MY_DSN", "env:MY_DSN"),
        ("", ""),
    ],
)  # fmt: skip
def test_dsns(dsn: str, kept: str) -> None:
    assert Masker().dsn(dsn) == kept


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("http://h:9200/i/_search?q={text}&size=3", "http://h:9200/i/_search?q={text}&size=3"),
        ("http://h/?Key=a&api-key=b&sig=c&x={k}", "http://h/?Key=***&api-key=***&sig=***&x={k}"),
        ("http://h/?x={text}hunter2", "http://h/?x=***"),
        ("http://h/?hunter2", "http://h/?***"),
        ("http://h/search;jsessionid=hunter2/x", "http://h/search;***/x"),
        ("http://h/?key=env:MY_KEY", "http://h/?key=env:MY_KEY"),
        ("http://[::1]:80/x?k=2", "http://[::1]:80/x?k=2"),
        ("no url", "***"),
    ],
)
def test_urls(url: str, kept: str) -> None:
    assert Masker().url(url) == kept


def test_bodies_keep_what_has_harmless_names_all_the_way_down() -> None:
    body = {
        "vector": "{vector}", "k": 5, "pin": 4711, "auth": {"id": "hunter2", "k": 1}, "more": ["hunter2", {"k": "x"}],
        "query": {"match": {"title": "{text}"}}, "fields": ["title", "year"], "verbose": True, "none": None,
    }  # fmt: skip
    assert Masker().json(body) == body | {
        "pin": "***", "auth": {"id": "***", "k": "***"}, "more": ["***", {"k": "***"}],
    }  # fmt: skip
    assert Masker().body('{"vector": {vector}, "x": "a\\"hunter2", "k": {k}}') == json.dumps(
        {"vector": "{vector}", "x": "***", "k": "{k}"}
    )
    assert Masker().body('{"x": "hunter2') == "***" and Masker().body('["hunter2"]') == '["***"]'


def test_settings() -> None:
    given: dict[str, Any] = {
        "url": "http://h/?key=hunter2", "headers": "A=Bearer env:T, B=env:U", "api_key": "hunter2", "pin_key": 4711,
        "timeout": 3.0, "table": "items", "call": "my_token:find", "where": "model = 'minilm'", "made_up": "hunter2",
        "nprobe": 8, "params": '{"lang": "en", "who": "hunter2"}',
    }  # fmt: skip
    assert mask_settings(given) == given | {
        "url": "http://h/?key=***", "api_key": "***", "pin_key": "***", "made_up": "***",
        "params": '{"lang": "en", "who": "***"}',
    }  # fmt: skip
    assert (
        mask_settings({"headers": "A=hunter2"}) == mask_settings({"headers": "A=env:X,hunter2=="}) == {"headers": "***"}
    )
    assert mask_settings(mask_settings(given)) == mask_settings(given)


def test_plans_have_their_secrets_where_engines_are_opened() -> None:
    plan: dict[str, Any] = {
        "meta": {"password": "hunter2", "max_tokens": 5},
        "systems": {"token": "run.trec", "pg": {"open": {"dsn": "host=x password=hunter2"}}},
        "lab": {"rate": 3.5},
    }
    kept = Masker().plan(plan)
    assert kept["meta"] == {"password": "***", "max_tokens": 5} and kept["lab"] == plan["lab"]
    assert kept["systems"] == {"token": "run.trec", "pg": {"open": {"dsn": "host=x password=***"}}}
    assert Masker().plan({"systems": {"x": {"open": "hunter2"}}}) == {"systems": {"x": {"open": "***"}}}


def test_what_is_recorded_of_a_plan_has_no_secret_whatever_its_type() -> None:
    meta = {"password": 47114711, "api.key": "hunter2", "has_password": True, "max": 3}
    kept = Masker().plan({"meta": meta, "systems": {"a": {"chunking": {"tokens": 200}}}})
    assert kept["meta"] == {"password": "***", "api.key": "***", "has_password": True, "max": 3}
    assert kept["systems"]["a"]["chunking"] == {"tokens": 200}
    assert Masker().text("AccountName=x;AccountKey=hunter2") == "AccountName=x;AccountKey=***"


def test_what_others_repeat_is_found_in_every_encoding() -> None:
    forms = forms_of(['p@ss "w/rd'])
    for said in (
        'p@ss "w/rd',
        "p%40ss+%22w%2Frd",
        "p%40ss%20%22w/rd",
        'p@ss \\"w/rd',
        "p@ss &quot;w/rd",
        "cEBzcyAidy9yZA==",
    ):
        assert redact(f"no {said}.", forms) == "no ***."
    assert redact("wrong password hunter2", forms_of(["bWU6aHVudGVyMg=="])) == "wrong password ***"
    assert redact("abc", forms_of(["a"])) == "abc", "too short to be one"


def test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", " hunter2\n")
    assert read_variable("env:MY_KEY", "x") == "hunter2" and read_variable("plain", "x") == "plain"
    with pytest.raises(UsageError, match="NOT_THERE is not set"):
        read_variable("env:NOT_THERE", "x")


def test_names() -> None:
    assert all(map(is_harmless, ("k", "Content-Type", "top_k"))) and not any(map(is_harmless, ("key", "x", "api_key")))
    assert all(map(is_secret, ("password", "X-Api-Key", "access_token", "sig", "sslpassword", "Cookie")))
    assert not any(map(is_secret, ("keyword", "monkey", "design", "authors")))
