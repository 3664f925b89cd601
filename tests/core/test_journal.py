"""The journal: what was written is there after a kill, whatever the last line looks like."""

import json
from pathlib import Path

import pytest

from rankjury.core.journal import SCHEMA, Journal, JournalEntry
from rankjury.errors import DataError
from tests.retrieval.bench.support import lines_of


def entry(number: int, **about: object) -> JournalEntry:
    return JournalEntry(f"key {number}", "hnsw", f"setting {number}", dict(about), {"recall": number / 10, "note": "ä"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def filled(path: Path, count: int) -> bytes:
    with Journal(path) as journal:
        for number in range(count):
            journal.add(entry(number))
    return path.read_bytes()


class TestKeeping:
    def test_what_was_added_is_found_and_still_there_when_opened_again(self, path: Path) -> None:
        filled(path, 3)
        with Journal(path) as journal:
            assert [one.key for one in journal] == ["key 0", "key 1", "key 2"]
            assert journal.find("key 1") == entry(1)
            assert journal.find("key 9") is None
            assert journal.dropped == 0

    def test_it_is_written_before_add_returns(self, path: Path) -> None:
        with Journal(path) as journal:
            for number in range(3):
                journal.add(entry(number))
                assert len(lines_of(path)) == number + 1
                assert json.loads(lines_of(path)[-1])["key"] == f"key {number}"

    def test_every_line_is_json_and_the_first_says_what_it_is(self, path: Path) -> None:
        filled(path, 2)
        first, *others = map(json.loads, path.read_text().splitlines())
        assert first == {"schema": SCHEMA}
        assert [one["sweep"] for one in others] == ["hnsw", "hnsw"]

    def test_the_last_of_two_with_one_key_counts(self, path: Path) -> None:
        with Journal(path) as journal:
            journal.add(entry(1, k=5))
            journal.add(entry(1, k=10))
        with Journal(path) as journal:
            assert len(journal) == 1
            assert journal.find("key 1") == entry(1, k=10)

    def test_fresh_forgets(self, path: Path) -> None:
        filled(path, 3)
        with Journal(path, fresh=True) as journal:
            assert len(journal) == 0
            journal.add(entry(7))
        assert len(lines_of(path)) == 1


class TestAfterAKill:
    def test_wherever_the_last_line_is_torn_the_others_are_kept_and_more_can_be_added(self, path: Path) -> None:
        whole = filled(path, 3)
        last = whole.rindex(b"\n", 0, -1) + 1
        for end in (last, last + 1, *range(last + 9, len(whole) - 2, 23), len(whole) - 2):
            path.write_bytes(whole[:end])
            with Journal(path) as journal:
                assert [one.key for one in journal] == ["key 0", "key 1"], end
                assert journal.dropped == (end > last)
                journal.add(entry(8))
            assert [json.loads(line)["key"] for line in lines_of(path)] == ["key 0", "key 1", "key 8"]

    def test_a_last_line_that_lacks_only_its_end_is_kept(self, path: Path) -> None:
        path.write_bytes(filled(path, 3)[:-1])
        with Journal(path) as journal:
            assert len(journal) == 3
            journal.add(entry(3))
        assert len(lines_of(path)) == 4

    def test_killed_while_it_was_made_it_begins_anew(self, path: Path) -> None:
        whole = filled(path, 0)
        for end in (0, 1, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:end])
            with Journal(path) as journal:
                journal.add(entry(0))
            assert len(lines_of(path)) == 1

    def test_lines_that_cannot_be_read_are_passed_over_and_counted(self, path: Path) -> None:
        whole = filled(path, 2).splitlines(keepends=True)
        strange = [
            b"\x00\x00\xff\n",
            b"[1]\n",
            b'{"key": "x"}\n',
            b'{"key":1,"sweep":"","setting":"","about":{},"point":{}}\n',
        ]
        path.write_bytes(b"".join([whole[0], whole[1], *strange, whole[2]]))
        with Journal(path) as journal:
            assert [one.key for one in journal] == ["key 0", "key 1"]
            assert journal.dropped == 4


class TestRefusals:
    def test_another_file_is_left_alone(self, path: Path) -> None:
        path.write_text("id,text\n1,a\n")
        for fresh in (False, True):
            with pytest.raises(DataError, match="not a journal of rankjury"):
                Journal(path, fresh=fresh)
        assert path.read_text() == "id,text\n1,a\n"

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="cannot write here"):
            Journal(tmp_path / "nowhere" / "journal.jsonl")

    def test_one_writer_at_a_time(self, path: Path) -> None:
        with Journal(path), pytest.raises(DataError, match="another process is writing"):
            Journal(path)
        Journal(path).close()
