"""The plan file: one TOML that describes an evaluation, and its execution."""

from pydantic import BaseModel

from rankjury.core.registry import Registry

GOLD_KINDS: Registry[type[BaseModel]] = Registry(
    "kind of gold", home="rankjury.plan.kinds", group="rankjury.plan.golds"
)
"""By ``kind``: a table of the plan that knows how to load a gold (``plan.context.GoldTable``)."""
SYSTEM_KINDS: Registry[type[BaseModel]] = Registry(
    "kind of system", home="rankjury.plan.kinds", group="rankjury.plan.systems"
)
"""By ``kind``: a table of the plan that knows how to make a ranking (``plan.context.SystemTable``)."""
