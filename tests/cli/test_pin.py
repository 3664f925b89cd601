"""rankjury pin: pins a version once, and tells when its queries changed."""

import json
from pathlib import Path

from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure, put

HEADER = "id,text,type,version\n"
QUERIES = HEADER + "q1,summer dress,category,2026-11\nq2,red boots,attribute,2026-11\n"


def test_pin_then_check(rankjury: Rankjury) -> None:
    put("queries.csv", QUERIES)
    outcome = rankjury("pin", "queries.csv")
    assert (outcome.code, outcome.err) == (0, "Wrote queries.pins.json\n")
    assert outcome.out.startswith("version 2026-11 is new, and pinned now: 2 queries, sha256 ")
    before = Path("queries.pins.json").read_bytes()
    for arguments in (["--check"], []):
        outcome = rankjury("pin", "queries.csv", *arguments)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith("version 2026-11 is as it was pinned: 2 queries")
    assert Path("queries.pins.json").read_bytes() == before


def test_a_plain_text_file_with_a_version(rankjury: Rankjury) -> None:
    put("queries.txt", "# version: 3\nsummer dress\nred boots\n")
    assert rankjury("pin", "queries.txt").code == 0
    put("queries.txt", "# version: 3\nred boots\n\nsummer dress\n")
    assert rankjury("pin", "queries.txt", "--check").code == 0, "lines that moved are the same queries"
    put("queries.txt", "# version: 3\nred boots\nsummer dresses\n")
    check_failure(
        rankjury("pin", "queries.txt", "--check"), 3, "version 3", "added: summer-dresses", "removed: summer-dress"
    )
    put("queries.txt", "red boots\n")
    check_failure(rankjury("pin", "queries.txt"), 3, "have no version", "# version: 1")


def test_json(rankjury: Rankjury) -> None:
    put("queries.csv", QUERIES)
    outcome = rankjury("pin", "queries.csv", "--json", "-q")
    form = json.loads(outcome.out)
    pins = json.loads(Path("queries.pins.json").read_text())
    assert outcome.err == "" and len(form["sha256"]) == 64
    assert form == {
        "version": "2026-11",
        "sha256": pins["versions"]["2026-11"]["sha256"],
        "queries": 2,
        "state": "new",
        "pins": "queries.pins.json",
    }
    assert json.loads(rankjury("pin", "queries.csv", "--json", "--check").out) == form | {"state": "pinned"}


def test_changed_queries(rankjury: Rankjury) -> None:
    put("queries.csv", QUERIES)
    rankjury("pin", "queries.csv")
    before = Path("queries.pins.json").read_bytes()
    put("queries.csv", QUERIES.replace("red boots", "blue boots"))
    for arguments in ([], ["--check"], ["--json"]):
        check_failure(rankjury("pin", "queries.csv", *arguments), 3, "queries.csv: ", "changed: q2", "new version")
    assert Path("queries.pins.json").read_bytes() == before
    put("queries.csv", QUERIES.replace("red boots", "blue boots").replace("2026-11", "2026-12"))
    assert rankjury("pin", "queries.csv").code == 0


def test_a_category_that_changed(rankjury: Rankjury) -> None:
    put("queries.csv", "id,text,category,version\nq1,dress,Dresses,1\nq2,boots,Boots,1\n")
    rankjury("pin", "queries.csv")
    put("queries.csv", "id,text,category,version\nq1,dress,Dresses,1\nq2,boots,Shoes,1\n")
    check_failure(rankjury("pin", "queries.csv", "--check"), 3, "queries.csv: ", "changed: q2;")


def test_check_fails_on_what_is_not_pinned_and_writes_nothing(rankjury: Rankjury) -> None:
    put("queries.csv", QUERIES)
    check_failure(
        rankjury("pin", "queries.csv", "--check"), 3, "version 2026-11 is not pinned", "rankjury pin queries.csv"
    )
    assert not Path("queries.pins.json").exists()
    put("queries.csv", "id,text\nq1,x\n")
    check_failure(rankjury("pin", "queries.csv", "--check"), 3, "no version")
    check_failure(rankjury("pin", "queries.csv"), 3, "no version")


def test_bad_requests(rankjury: Rankjury) -> None:
    check_failure(rankjury("pin", "-", stdin=QUERIES.encode()), 2, "standard input cannot be pinned")
    check_failure(rankjury("pin", "nowhere.csv"), 3, "no such file")
