"""karat's own renderers: importing this module registers them all."""

from importlib import import_module
from pkgutil import iter_modules

import karat.reports.sections

__all__: list[str] = []

for _module in iter_modules(karat.reports.sections.__path__):
    if _module.name != "builtin":
        import_module(f"karat.reports.sections.{_module.name}")
