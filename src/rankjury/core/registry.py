"""One small class behind every door: metrics, dialects, formats, report forms."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Generic, TypeVar

from rankjury.errors import UnknownName, UsageError

Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """Named things of one kind.

    ``home`` is the module whose import registers rankjury's own entries, or a package, each of whose modules does; it
    is imported on first use, so that a registry costs nothing until it is asked. Where entries are far apart and one of
    them is needed at a time, it is a table of names and places (``module:object``), each imported when it is looked
    up. ``group`` names the entry points by which third parties add theirs; they are loaded only when a name is not
    found otherwise.
    """

    def __init__(self, kind: str, *, home: str | Mapping[str, str], group: str) -> None:
        self.kind = kind
        self._home = None if isinstance(home, Mapping) else home
        self._places = dict(home) if isinstance(home, Mapping) else {}
        self._group = group
        self._entries: dict[str, Entry] = {}
        self._plugins_loaded = False

    def add(self, name: str, entry: Entry) -> Entry:
        """Register ``entry``; a name is given once."""
        if name in self._entries or name in self._places:
            raise UsageError(f"{self.kind} {name!r} is registered twice", hint="Choose another name for the plug-in's.")
        self._entries[name] = entry
        return entry

    def register(self, name: str) -> Callable[[Entry], Entry]:
        """Decorator form of :meth:`add`."""
        return lambda entry: self.add(name, entry)

    def find(self, name: str) -> Entry | None:
        """The entry called ``name``, looking among plug-ins last; None where there is none."""
        if self._home is not None:
            self.load_own()
        asked: object = name
        if not isinstance(asked, str):  # a caller's mistake, perhaps a list, which a dict cannot look up
            return None
        if asked in self._places:
            self._import(asked)
        if asked not in self._entries:
            self._load_plugins()
        return self._entries.get(asked)

    def get(self, name: str) -> Entry:
        """The entry called ``name``, or an error that suggests the nearest."""
        entry = self.find(name)
        if entry is None:
            raise UnknownName(self.kind, name, self._entries)
        return entry

    def names(self) -> list[str]:
        """All names, plug-ins included, in order of registration."""
        self.load_own()
        self._load_plugins()
        return list(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter([self._entries[name] for name in self.names()])

    def load_own(self) -> None:
        """Make rankjury's own entries known, plug-ins left aside."""
        if self._home is not None:
            home, self._home = self._home, None
            package = import_module(home)
            for module in iter_modules(getattr(package, "__path__", ())):
                import_module(f"{home}.{module.name}")
        for name in list(self._places):
            self._import(name)

    def _import(self, name: str) -> None:
        module, _, attribute = self._places.pop(name).partition(":")
        self.add(name, getattr(import_module(module), attribute))

    def _load_plugins(self) -> None:
        if not self._plugins_loaded:
            self._plugins_loaded = True
            for point in entry_points(group=self._group):
                point.load()
