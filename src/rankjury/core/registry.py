"""Registry of plug-ins by name, used for metrics, dialects, engines, sections and writers."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Generic, TypeVar

from rankjury.errors import UnknownName, UsageError

Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """Entries of one kind by name.

    Args:
        kind: The noun for an entry in messages.
        home: The module, or modules, whose import registers rankjury's entries, or a package whose modules do. They are
            imported on first use, so that a registry is free until then.
        group: The entry points by which third parties add entries; loaded only if a name is not found otherwise.
        by_name: Whether to try the module of the entry's name first, so that the others are not imported.
    """

    def __init__(self, kind: str, *, home: str | tuple[str, ...], group: str, by_name: bool = False) -> None:
        self.kind = kind
        self._homes = (home,) if isinstance(home, str) else home
        self._prefixes = tuple(f"{place}." for place in self._homes)
        self._by_name = by_name
        self._group = group
        self._entries: dict[str, Entry] = {}
        self._modules: dict[str, str] = {}
        """Module of this registry's packages that registered an entry; empty for others."""
        self._plugins_loaded = False

    def add(self, name: str, entry: Entry) -> Entry:
        """Register ``entry`` under a new name."""
        if name in self._entries:
            raise UsageError(f"{self.kind} {name!r} is registered twice", hint="Choose another name for the plug-in's.")
        frame = sys._getframe(1)
        while frame.f_back is not None and (
            frame.f_locals.get("self") is self  # a subclass, whose own module is not the one that registers
            or not frame.f_globals.get("__name__", "").startswith(self._prefixes)
        ):
            frame = frame.f_back
        module = frame.f_globals.get("__name__", "")
        self._modules[name] = module if module.startswith(self._prefixes) else ""
        self._entries[name] = entry
        return entry

    def register(self, name: str) -> Callable[[Entry], Entry]:
        """Decorator version of :meth:`add`."""
        return lambda entry: self.add(name, entry)

    def find(self, name: str) -> Entry | None:
        """Return the entry called ``name``, searching plug-ins last; None if there is none."""
        asked: object = name
        if not isinstance(asked, str):  # invalid argument, for example a list, which is not hashable
            return None
        if self._by_name and name not in self._entries and name.isidentifier():
            for module in (f"{home}.{name}" for home in self._homes):
                if find_spec(module):
                    import_module(module)
        if not self._by_name or name not in self._entries:
            self.load_own()
        if name not in self._entries:
            self._load_plugins()
        return self._entries.get(name)

    def get(self, name: str) -> Entry:
        """Return the entry called ``name``, or raise an error that suggests the nearest."""
        entry = self.find(name)
        if entry is None:
            raise UnknownName(self.kind, name, self._entries)
        return entry

    def names(self) -> list[str]:
        """Return all names by module, in the order of each module; plug-ins come last.

        The order does not depend on which module was imported first.
        """
        self.load_own()
        self._load_plugins()
        return sorted(self._entries, key=lambda name: (not self._modules.get(name), self._modules.get(name, "")))

    def __iter__(self) -> Iterator[Entry]:
        return iter([self._entries[name] for name in self.names()])

    def load_own(self) -> None:
        """Import the home modules, which register rankjury's entries, without plug-ins."""
        homes, self._homes = self._homes, ()
        for home in homes:
            for module in iter_modules(getattr(import_module(home), "__path__", ())):
                import_module(f"{home}.{module.name}")

    def _load_plugins(self) -> None:
        if not self._plugins_loaded:
            self._plugins_loaded = True
            for point in entry_points(group=self._group):
                point.load()
