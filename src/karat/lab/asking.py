"""The queries of a bench, to be asked one at a time while a clock runs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from karat.engines import Engine, Filter, Params
from karat.errors import EngineLost, UsageError
from karat.neighbours import NOBODY, Neighbours
from karat.types import Matrix

__all__ = ["Ask", "Embed", "Questions", "asks_of", "check_embedding"]

Ask = Callable[[int], object]
"""Asks the query of this number, and waits for its answer."""
Embed = Callable[[list[str]], Matrix]


@dataclass(frozen=True, eq=False)
class Questions:
    """All that an engine is asked: every query by itself, ready to be sent."""

    singles: Sequence[Any]
    k: int
    params: Params | None
    filters: Sequence[Filter | None]
    texts: Sequence[str] | None = None
    embed: Embed | None = None
    """Instead of the ready query: from its text on."""
    ids: list[str] | None = None
    """The items' names, where the answer is to be by name."""


def check_embedding(embed: Embed, texts: Sequence[str], dimensions: int) -> None:
    """Refuse a model whose vectors the index cannot be searched with, before every query fails of it."""
    made = embed([texts[0]]).shape[1] if texts else dimensions
    if made != dimensions:
        raise UsageError(
            f"the model makes vectors of {made:,} dimensions, and the index holds {dimensions:,}",
            expected="lab.model = the model that made the vectors",
        )


@contextmanager
def asks_of(engine: Engine, threads: int, questions: Questions) -> Iterator[list[Ask]]:
    """One for each thread; what was opened for other threads is closed again. A lost engine ends the loop."""
    with ExitStack() as stack, _as_error():
        engines = [engine]
        for _ in range(threads - 1):
            other = engine.again()
            if other is not engine:
                stack.enter_context(other)
            engines.append(other)
        yield [_until_lost(_ask(one, questions)) for one in engines]


def _ask(engine: Engine, asked: Questions) -> Ask:
    search, singles, k, params, filters = engine.search, asked.singles, asked.k, asked.params, asked.filters
    texts, embed, ids = asked.texts, asked.embed, asked.ids

    def searched(row: int) -> Neighbours:
        return search(singles[row], k, params, only=filters[row])

    def from_text(row: int) -> Neighbours:
        assert embed is not None and texts is not None
        return search(embed([texts[row]]), k, params, only=filters[row])

    whole = searched if embed is None or texts is None else from_text

    def to_names(row: int) -> list[str]:
        assert ids is not None
        return [ids[item] for item in whole(row).items[0].tolist() if item != NOBODY]

    return whole if ids is None else to_names


class _Over(BaseException):
    """The engine is lost. No failed query, which would be counted, but the end of the loop."""


def _until_lost(ask: Ask) -> Ask:
    def guarded(row: int) -> object:
        try:
            return ask(row)
        except EngineLost as error:
            raise _Over from error

    return guarded


@contextmanager
def _as_error() -> Iterator[None]:
    try:
        yield
    except _Over as over:
        assert isinstance(over.__cause__, EngineLost)
        raise over.__cause__ from None
