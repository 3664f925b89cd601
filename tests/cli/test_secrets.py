"""Secrets in all spellings: none of them is in anything that is written, in whichever encoding."""

import base64
import json
import os
import platform
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import numpy as np
import polars as pl
import pytest

from rankjury.errors import RankjuryError
from rankjury.plan.archive import RunRecorder
from rankjury.plan.parse import read_plan
from rankjury.plan.run import execute_plan
from rankjury.tracking.archive.archive import Archive
from tests.cli.conftest import Rankjury
from tests.retrieval.engines.service import Reply, Request, serving
from tests.tracking.archive.made import PLAN, put_small

ITEMS = ["a", "b", "c"]
VARIABLES = {
    "TEST_BEARER": "b3arer-hush", "TEST_KEY": "k3y-hush", "TEST_COOKIE": "sid=c00kie-hush",
    "TEST_BASIC": base64.b64encode(b"me:bas1c-hush").decode(), "TEST_PARAM": "par4m-hush",
}  # fmt: skip
SERVED: dict[str, tuple[str, str]] = {
    "query key": ("key-hush", 'url = "URL?key=key-hush"'),
    "query api-key": ("api-key-hush", 'url = "URL?api-key=api-key-hush&k=3"'),
    "query apikey": ("apikey-hush", 'url = "URL?k=3&apikey=apikey-hush"'),
    "query sig": ("sig-hush", 'url = "URL?sig=sig-hush"'),
    "query signature": ("signature-hush", 'url = "URL?Signature=signature-hush"'),
    "query access_key": ("access-hush", 'url = "URL?access_key=access-hush"'),
    "query token": ("token-hush", 'url = "URL?token=token-hush"'),
    "query X-Amz-Signature": ("amz-hush", 'url = "URL?X-Amz-Signature=amz-hush"'),
    "query, encoded": ("p@ss/w+rd hush", 'url = "URL?code=p%40ss%2Fw%2Brd+hush"'),
    "query of no known name": ("zq-hush", 'url = "URL?zq=zq-hush"'),
    "query without a name": ("bare-hush", 'url = "URL?bare-hush"'),
    "query beside a place": ("beside-hush", 'url = "URL?x=beside-hush{k}"'),
    "query after a semicolon": ("semi-hush", 'url = "URL?k=3;code=semi-hush"'),
    "parameter of a path": ("matrix-hush", 'url = "URL;jsessionid=matrix-hush"'),
    "fragment": ("fragment-hush", 'url = "URL#fragment-hush"'),
    "params": ("params-hush", """params = '{"key": "params-hush"}'"""),
    "params, nested": ("nested-hush", """params = '{"auth": {"id": ["nested-hush"]}}'"""),
    "params, escaped": ('quo"te\\-hush', r"""params = '{"x": "quo\"te\\-hush"}'"""),
    "params by GET": ("get-hush", """method = "GET", url = "URL?v={vector}", params = '{"code": "get-hush"}'"""),
    "params from a variable": ("par4m-hush", """params = '{"key": "env:TEST_PARAM"}'"""),
    "body": ('bo"dy-hush', r"""body = '{"vector": {vector}, "x": "bo\"dy-hush"}'"""),
    "body, nested": ("deep-hush", """body = '{"vector": {vector}, "a": [{"k": ["deep-hush"]}]}'"""),
    "body, a number": ("471147114711", """body = '{"vector": {vector}, "pin": 471147114711}'"""),
    "body, escaped": ("\u00fcber-hush", r"""body = '{"vector": {vector}, "x": "\u00fc\u0062er-hush"}'"""),
    "body in a basic string": ("basic-hush", r'''body = "{\"vector\": {vector}, \"x\": \"basic-hush\"}"'''),
    "body of several lines": ("lines-hush", "body = '''\n{\"vector\": {vector},\n\"x\": \"lines-hush\"}'''"),
    "header Authorization": ("b3arer-hush", 'headers = "Authorization=Bearer env:TEST_BEARER"'),
    "header X-Api-Key": ("k3y-hush", 'headers = "X-Api-Key=env:TEST_KEY"'),
    "header Cookie": ("c00kie-hush", 'headers = "Cookie=env:TEST_COOKIE"'),
    "header of HTTP basic": ("bas1c-hush", 'headers = "Authorization=Basic env:TEST_BASIC"'),
}  # fmt: skip
"""By spelling: the secret, and the settings of an endpoint that sends it."""
PG = 'engine = "pgvector"\nopen.dsn = '
WEB = 'engine = "endpoint"\nopen = { url = "http://h/", '
REFUSED: dict[str, tuple[str, str]] = {
    "user in a url": ("hush-up", 'engine = "endpoint"\nopen.url = "http://me:hush-up@127.0.0.1:1/"'),
    "token in a url": ("hush-up", 'engine = "endpoint"\nopen.url = "http://hush-up@127.0.0.1:1/"'),
    "header without a variable": ("hush-up", WEB + 'headers = "X=hush-up" }'),
    "header with a comma": ("hush-up", WEB + 'headers = "X=Basic a,hush-up==" }'),
    "header with a colon": ("hush-up", WEB + 'headers = "X: hush-up" }'),
    "headers as a table": ("hush-up", 'engine = "endpoint"\nopen.headers.Authorization = "hush-up"'),
    "a body that is not JSON": ("hush-up", WEB + """body = '{"x": "hush-up' }"""),
    "dsn, url": ("hush-up", PG + '"postgresql://me:hush-up@127.0.0.1:1/db"'),
    "dsn, url, encoded": ("p@ss-hush", PG + '"postgresql://me:p%40ss-hush@127.0.0.1:1/db"'),
    "dsn, url, not encoded": ("hu/sh@up", PG + '"postgresql://me:hu/sh@up@127.0.0.1:1/db"'),
    "dsn, query of the url": ("hush-up", PG + '"postgresql://127.0.0.1:1/db?user=me&password=hush-up"'),
    "dsn, sslpassword": ("hush-up", PG + '"postgresql://127.0.0.1:1/db?sslpassword=hush-up"'),
    "dsn, pairs": ("hush-up", PG + '"host=127.0.0.1 port=1 password=hush-up"'),
    "dsn, blanks": ("hush-up", PG + '"host=127.0.0.1 port=1 password = hush-up"'),
    "dsn, quotes": ("it's hush up", PG + "'''host=127.0.0.1 port=1 password='it\\'s hush up' dbname=y'''"),
    "dsn, doubled quotes": ("s hush up", PG + "'''host=127.0.0.1 port=1 password='it''s hush up' dbname=y'''"),
    "dsn, a backslash": ("hush up", PG + "'host=127.0.0.1 port=1 password=hush\\ up'"),
    "dsn, in capitals": ("hush-up", PG + '"host=127.0.0.1 port=1 PASSWORD=hush-up"'),
    "dsn, options": ("hush-up", PG + "\"host=127.0.0.1 port=1 options='-c my.key=hush-up'\""),
    "dsn in dbname": ("hush-up", PG + '"host=127.0.0.1 port=1 dbname=postgresql://me:hush-up@h/db"'),
    "dsn that is none": ("hush-up", PG + '"hush-up"'),
    "dsn of several lines": ("hush-up", PG + '"""\nhost=127.0.0.1 port=1 \\\n  password=hush-up"""'),
    "dsn with TOML's escapes": ("hush-up", PG + '"host=127.0.0.1 port=1 \\u0070assword=hush\\u002dup"'),
    "dsn under quoted keys": ("hush-up", 'engine = "pgvector"\n"open"."dsn" = "host=h port=1 password=hush-up"'),
    "dsn in a list": ("hush-up", PG + '["host=127.0.0.1 password=hush-up"]'),
    "dsn instead of a table": ("hush-up", 'engine = "pgvector"\nopen = "hush-up"'),
    "key instead of its variable": ("hush-up", 'engine = "qdrant"\nopen = { url = "http://h", api_key = "hush-up" }'),
    "qdrant's url": ("hush-up", 'engine = "qdrant"\nopen.url = "http://hush-up@127.0.0.1:1/?key=hush-up"'),
    "comment": ("hush-up", PG + '"host=127.0.0.1 port=1"  # the password is hush-up'),
    "meta": ("hush-up", PG + '"host=127.0.0.1 port=1"\n[meta]\napi_key = "hush-up"'),
    "dsn in meta": ("hush-up", PG + '"host=127.0.0.1 port=1"\n[meta]\ndb = "postgresql://me:hush-up@h/db"'),
    "words in meta": ("hush-up", PG + '"host=127.0.0.1 port=1"\n[meta]\nnote = "password: hush-up"'),
}  # fmt: skip
"""By spelling: the secret, and a system that cannot be reached or is refused."""


def encodings(secret: str) -> set[str]:
    octets = secret.encode()
    plain = base64.b64encode(octets).decode().rstrip("=")
    escaped = {json.dumps(secret)[1:-1], json.dumps(json.dumps(secret)[1:-1])[1:-1], repr(secret)[1:-1]}
    return {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), plain, *escaped}


def leaks(secret: str, text: str) -> list[str]:
    """Where the secret stands, with what is around it."""
    return [text[max(0, text.find(form) - 80) : text.find(form) + 80] for form in encodings(secret) if form in text]


def everything_in(folder: Path) -> str:
    """All files below a folder, and what Parquet files hold."""
    texts = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            texts.append(f"\n{path}\n" + path.read_bytes().decode("utf-8", "replace"))
        if path.suffix == ".parquet":
            texts.append(str(pl.read_parquet(path).to_dicts()))
    return "".join(texts)


def answer(request: Request) -> Reply:
    """Three queries of four fail, with all that they were sent in the answer."""
    answer.asked += 1  # type: ignore[attr-defined]
    heard = f"{request.path} {request.headers} {request.content.decode()}"
    match answer.asked % 4:  # type: ignore[attr-defined]
        case 0:
            return Reply(f"refused: {heard}".encode(), status=500)
        case 1:
            return Reply(f"not JSON: {heard}".encode())
        case 2:
            return Reply({"results": [heard[:150], heard]})
    return Reply({"results": ITEMS})


answer.asked = 0  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """All that one run of all served spellings, and a sweep over them, write and print."""
    folder = tmp_path_factory.mktemp("plan")
    np.save(folder / "items.npy", np.eye(3, dtype=np.float32))
    np.save(folder / "queries.npy", np.tile(np.eye(3, dtype=np.float32), (3, 1))[:8])
    (folder / "items.ids.txt").write_text("\n".join(ITEMS))
    (folder / "queries.ids.txt").write_text("\n".join(f"q{number}" for number in range(8)))
    (folder / "gold.qrels").write_text("".join(f"q{number} 0 {ITEMS[number % 3]} 1\n" for number in range(8)))
    outputs = ["r.html", "r.json", "r.md", "r.csv"]
    with serving(answer) as service:
        lines = [
            f'name = "p"\ngold = "gold.qrels"\nmeasures = ["rr"]\noutputs = {outputs}\nstatistics.resamples = 100\n'
            "lab.rounds = 1\nlab.concurrency = [1]\nlab.warm_up = 0\n# "
        ]
        for number, (_, settings) in enumerate(SERVED.values()):
            url = "" if "url = " in settings else f'url = "{service.url}/find", '
            opened = f"{{ {url}{settings} }}".replace("URL", f"{service.url}/find")
            files = 'kind = "index"\nengine = "endpoint"\npath = "items.npy"\nqueries = "queries.npy"'
            lines.append(f"[systems.s{number}]\n{files}\nopen = {opened}")
            if number % 6 == 0:
                lines.append(f"[sweep.s{number}]\nrecall = 0.5")
        (folder / "plan.toml").write_text("\n".join(lines))
        said = ""
        for command in (["run", "plan.toml", "-o", "out"], ["sweep", "plan.toml", "-o", "swept"]):
            done = subprocess.run(
                [sys.executable, "-m", "rankjury", *command, "--debug"], cwd=folder, env={**os.environ, **VARIABLES},
                capture_output=True, text=True, timeout=120,
            )  # fmt: skip
            said += done.stdout + done.stderr
            assert done.returncode in (0, 1, 4), done.stderr
        sent = " ".join(f"{one.path} {one.headers} {one.content.decode()}" for one in service.requests)
    for secret, _ in SERVED.values():
        assert secret == "fragment-hush" or leaks(secret, sent), f"{secret} was never sent"
    (folder / "plan.toml").unlink()
    found = said + everything_in(folder)
    assert "status 500" in found and "not JSON" in found.replace("no JSON", "not JSON")
    yield found


@pytest.mark.parametrize("spelling", SERVED)
def test_a_secret_that_is_sent_is_nowhere(written: str, spelling: str) -> None:
    assert leaks(SERVED[spelling][0], written) == []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> object:
    return execute_plan(read_plan(put_small(tmp_path_factory.mktemp("small")))).report


@pytest.mark.parametrize("spelling", REFUSED)
def test_a_secret_of_a_plan_that_fails_is_nowhere(spelling: str, small: object, tmp_path: Path) -> None:
    """Neither in what is said of the failure, with all that the traceback shows, nor in an archive of such a plan."""
    pytest.importorskip("psycopg")
    secret, system = REFUSED[spelling]
    folder = tmp_path / "plan"
    put_small(folder)
    np.save(folder / "v.npy", np.eye(3, dtype=np.float32))
    (folder / "v.ids.txt").write_text("a\nb\nc\n")
    np.save(folder / "q.npy", np.eye(3, dtype=np.float32))
    (folder / "q.ids.txt").write_text("q00\nq01\nq02\n")
    files = 'kind = "index"\npath = "v.npy"\nqueries = "q.npy"'
    plan = folder / "plan.toml"
    plan.write_text(f'gold = "gold.qrels"\nmeasures = ["rr"]\nlab.rounds = 0\n[systems.x]\n{files}\n{system}\n')
    said = ""
    try:
        checked = read_plan(plan)
        Archive(tmp_path / "archive").store(small, RunRecorder(checked).origin())  # type: ignore[arg-type]
        execute_plan(checked)
    except RankjuryError as error:
        said = "".join(traceback.format_exception(error))
    assert said, "it was meant to fail"
    plan.unlink()
    assert leaks(secret, said + everything_in(tmp_path)) == []


def test_no_path_of_this_machine_is_archived(rankjury: Rankjury, tmp_path: Path) -> None:
    """A plan that is given by an absolute path, and whose paths are absolute, within its folder and elsewhere."""
    home, disk = tmp_path / "home-of-alice", tmp_path / "disk-of-bob"
    put_small(home)
    put_small(disk)
    np.save(disk / "v.npy", np.eye(3, dtype=np.float32))
    (disk / "v.ids.txt").write_text("a\nb\nc\n")
    np.save(disk / "q.npy", np.tile(np.eye(3, dtype=np.float32), (4, 1)))
    (disk / "q.ids.txt").write_text("".join(f"q{number:02}\n" for number in range(12)))
    plan = PLAN.replace('"gold.qrels"', f'"{home}/gold.qrels"').replace('"new.trec"', f'"{disk}/new.trec"')
    plan = plan.replace('"queries.csv:', f'"{disk}/queries.csv:').replace('"items.csv:', f'"{disk}/items.csv:')
    index = f'kind = "index"\nengine = "exact"\npath = "{disk}/v.npy"\nqueries = "{disk}/q.npy"'
    more = f'[lab]\nrounds = 0\nearlier = "{disk}/none-*.json"\n[meta]\ndata = "{disk}/raw"\n'
    (home / "plan.toml").write_text(f"{plan}\n[systems.exact]\n{index}\n{more}")
    outcome = rankjury("run", str(home / "plan.toml"), "--archive", "kept")
    assert outcome.code == 0, outcome.err
    found = everything_in(tmp_path / "kept").replace(str(tmp_path / "kept"), "")
    assert "none-*.json" in found, "a message that names a path"
    for name in ("alice", "bob", str(tmp_path), platform.node()):
        assert name not in found, found[found.find(name) - 200 : found.find(name) + 100]


@pytest.mark.parametrize(
    "path",
    ["s3://key:hush-up@host/run.parquet", "https://h/run.parquet?v=1&sig=hush-up", "https://hush-up@h/run.parquet:key"],
)
def test_an_address_given_as_a_file_is_shown_without_its_secret(rankjury: Rankjury, path: str) -> None:
    put_small(Path("p"), PLAN.replace('"new.trec"', f'"{path}"'))
    for command in (["evaluate", "gold.qrels", path], ["run", "p/plan.toml"], ["neighbours", path], ["audit", path]):
        done = rankjury(*command)
        assert done.code in (2, 3) and "hush-up" not in done.out + done.err


def test_an_address_without_a_secret_is_shown_as_it_is(rankjury: Rankjury) -> None:
    done = rankjury("evaluate", "gold.qrels", "run.trec", "-m", "file:///data/run.parquet; x")
    assert done.code == 2 and "'file:///data/run.parquet;'" in done.err


def test_there_are_enough_spellings() -> None:
    assert len(SERVED) + len(REFUSED) >= 39
