"""Arguments of another type than a public function names: a UsageError, and only where the call fails."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.core.validation import check_arguments, check_fields
from rankjury.errors import DataError, UsageError
from rankjury.evaluation.judge import judge


@check_arguments
def fail(
    number: int = 1,
    share: float | None = None,
    path: str | Path = "x",
    kind: Literal["a", "b"] = "a",
    names: Sequence[str] = (),
    cuts: Iterable[int] = (),
    pair: tuple[float, float] = (0.0, 1.0),
    table: Mapping[str, float] | None = None,
    frame: pl.DataFrame | None = None,
    call: Callable[[], None] | None = None,
    anything: Any = None,
    **more: float,
) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"number": "a"}, "found number of type str: a; expected an integer"),
        ({"number": 10**400}, "expected an integer of at most 64 bits"),
        ({"share": [1]}, "found share of type list; expected a number"),
        ({"path": 3}, "expected a text or Path"),
        ({"kind": 1}, "expected one of 'a', 'b'"),
        ({"names": ["a", 1]}, "found names of type list with an element of type int; expected a list, each a text"),
        ({"names": 1}, "found names of type int"),
        ({"names": pl.DataFrame()}, "found names of type DataFrame"),
        ({"cuts": {"a": 1}}, "found cuts of type dict; expected a list, each an integer"),
        ({"pair": (1.0,)}, "expected 2 values, each a number"),
        ({"table": {"a": "b"}}, "expected a dict, each value a number"),
        ({"frame": {}}, "expected DataFrame"),
        ({"call": 1}, "expected a function"),
        ({"other": "x"}, "found other of type str"),
    ],
)
def test_a_call_that_fails_is_explained_by_the_argument_that_does_not_fit(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as raised:
        fail(**arguments)
    assert told in str(raised.value)


def test_what_fits_is_no_reason() -> None:
    fitting = {"number": np.int64(3), "share": np.float32(0.5), "path": Path("x"), "names": pl.Series(["a"])}
    with pytest.raises(ZeroDivisionError):
        fail(**fitting, cuts=np.array([1]), pair=[0, 1], table={"a": 1}, frame=pl.DataFrame(), call=len, anything=3)


G = {"q": {"a": 1}}


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        (lambda: rankjury.evaluate(G, G, gain="exp"), ("'gain'", "ndcg(gain=exp)@10")),
        (lambda: rankjury.evaluate(G, G, dialct="ranx"), ("'dialct'", "Did you mean dialect=?")),
        (lambda: rankjury.evaluate(qrels=G, run=G), ("'qrels'", "Did you mean gold=?")),
        (lambda: rankjury.evaluate(G), ("'ranking'", "evaluate(gold, ranking, measures")),
        (lambda: rankjury.compare(G, {"a": G, "b": G}, figures={}), ("'figures'", "Did you mean recorded=?")),
        (lambda: rankjury.read_run("a", "b", "c"), ("read_run()", "too many positional arguments")),
    ],
)
def test_arguments_that_a_function_does_not_take(call: Any, facts: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert all(fact in str(caught.value) for fact in facts)


def test_a_call_that_succeeds_is_not_checked() -> None:
    @check_arguments
    def doubled(number: int) -> Any:
        return number * 2

    assert doubled("a") == "aa"  # type: ignore[arg-type]


def test_what_a_function_says_itself_comes_first() -> None:
    @check_arguments
    def refuses(number: int) -> None:
        raise DataError("no")

    with pytest.raises(DataError, match="no"):
        refuses("a")  # type: ignore[arg-type]


def test_fields() -> None:
    @dataclass(frozen=True)
    class Setting:
        level: float = 0.5

        def __post_init__(self) -> None:
            check_fields(self)

    assert Setting(1).level == 1
    with pytest.raises(UsageError, match="found level of type str"):
        Setting("x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (rankjury.read_gold, (3,)),
        (rankjury.keyword_gold, ([],)),
        (rankjury.fuse, ([], 1)),
        (judge, ({}, {})),
        (rankjury.drift_between, ({}, {})),
        (rankjury.run_plan, (1.5,)),
        (rankjury.Resampling, ("many",)),
        (rankjury.Fusion, ("rrf", "x")),
    ],
)
def test_public_functions_are_checked(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with pytest.raises(UsageError):
        function(*arguments)
