"""Registry of plug-ins by name: metrics, dialects, engines, sections and writers are found in one."""

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
        kind: What an entry is called in messages.
        home: The module whose import registers rankjury's own entries, or a package, each of whose modules does; or
            several. They are imported on first use, so that a registry costs nothing until it is asked.
        group: The entry points by which third parties add theirs; loaded only when a name is not found otherwise.
        by_name: Whether to look for an entry in the module of its name first, so that the others are not imported.
    """

    def __init__(self, kind: str, *, home: str | tuple[str, ...], group: str, by_name: bool = False) -> None:
        self.kind = kind
        self._homes = (home,) if isinstance(home, str) else home
        self._prefixes = tuple(f"{place}." for place in self._homes)
        self._by_name = by_name
        self._group = group
        self._entries: dict[str, Entry] = {}
        self._modules: dict[str, str] = {}
        """The module of this registry's packages that registered an entry; empty for others."""
        self._plugins_loaded = False

    def add(self, name: str, entry: Entry) -> Entry:
        """Register ``entry``; a name is given once."""
        if name in self._entries:
            raise UsageError(f"{self.kind} {name!r} is registered twice", hint="Choose another name for the plug-in's.")
        frame = sys._getframe(1)
        while frame.f_back is not None and not frame.f_globals.get("__name__", "").startswith(self._prefixes):
            frame = frame.f_back
        module = frame.f_globals.get("__name__", "")
        self._modules[name] = module if module.startswith(self._prefixes) else ""
        self._entries[name] = entry
        return entry

    def register(self, name: str) -> Callable[[Entry], Entry]:
        """Decorator form of :meth:`add`."""
        return lambda entry: self.add(name, entry)

    def find(self, name: str) -> Entry | None:
        """Return the entry called ``name``, looking among plug-ins last; None where there is none."""
        asked: object = name
        if not isinstance(asked, str):  # a caller's mistake, perhaps a list, which a dict cannot look up
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
        """The entry called ``name``, or an error that suggests the nearest."""
        entry = self.find(name)
        if entry is None:
            raise UnknownName(self.kind, name, self._entries)
        return entry

    def names(self) -> list[str]:
        """Return all names by module, in the order of each module; plug-ins come last.

        Which module was imported first makes no difference.
        """
        self.load_own()
        self._load_plugins()
        return sorted(self._entries, key=lambda name: (not self._modules.get(name), self._modules.get(name, "")))

    def __iter__(self) -> Iterator[Entry]:
        return iter([self._entries[name] for name in self.names()])

    def load_own(self) -> None:
        """Import the homes, which register rankjury's own entries; plug-ins are not loaded."""
        homes, self._homes = self._homes, ()
        for home in homes:
            for module in iter_modules(getattr(import_module(home), "__path__", ())):
                import_module(f"{home}.{module.name}")

    def _load_plugins(self) -> None:
        if not self._plugins_loaded:
            self._plugins_loaded = True
            for point in entry_points(group=self._group):
                point.load()
