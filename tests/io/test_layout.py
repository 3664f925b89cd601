"""One pass over the bytes against a plain reading of them, chunk edges included."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

from rankjury.io import trec

TEXT = st.text("ab#\n\r \t", max_size=40)


def plainly(text: str, separator: str) -> trec.Layout | None:
    """The same by looking at every character and its successor."""
    other = "\t" if separator == " " else " "
    followers = zip(text, (text + "\n")[1:], strict=True)
    if other in text or any(one == separator and next_ in " \t\r\n" for one, next_ in followers):
        return None
    return trec.Layout(text.count(separator), "#" in text)


@pytest.mark.parametrize("chunk", [2, 3, 5, 1 << 17])
@pytest.mark.parametrize("separator", [" ", "\t"])
@settings(max_examples=150, deadline=None, derandomize=True)
@given(text=TEXT)
@example(text="a b")
@example(text="a b ")
@example(text="ab  a")
@example(text="aaa b\na\n")
def test_like_a_plain_reading(chunk: int, separator: str, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trec, "_CHUNK", chunk)
        assert trec.look_over(text.encode(), separator) == plainly(text, separator)


def test_a_file_reads_as_its_bytes_do(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_bytes(b"q Q0 d 1 1.5 t\n" * 20_000)
    assert trec.look_over(path, " ") == trec.look_over(path.read_bytes(), " ") == trec.Layout(100_000, False)
