"""The plan file: one TOML that describes an evaluation, and its execution."""

from pydantic import BaseModel

from rankjury.core.registry import Registry

GOLD_KINDS: Registry[type[BaseModel]] = Registry("kind of gold", home="rankjury.plan.gold", group="rankjury.plan.golds")
"""By ``kind``: a table of the plan that loads a gold (``plan.context.GoldTable``), one of each in ``plan/gold/``."""
SYSTEM_KINDS: Registry[type[BaseModel]] = Registry(
    "kind of system", home="rankjury.plan.systems", group="rankjury.plan.systems"
)
"""By ``kind``: a table of the plan that makes a ranking (``plan.context.SystemTable``), in ``plan/systems/``."""
