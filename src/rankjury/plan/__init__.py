"""Plans: TOML files that describe an evaluation, and their execution."""

from pydantic import BaseModel

from rankjury.core.registry import Registry

GOLD_KINDS: Registry[type[BaseModel]] = Registry("kind of gold", home="rankjury.plan.gold", group="rankjury.plan.golds")
"""Tables of the plan that load a gold (``plan.context.GoldTable``), by ``kind``; one module each in ``plan/gold/``."""
SYSTEM_KINDS: Registry[type[BaseModel]] = Registry(
    "kind of system", home="rankjury.plan.systems", group="rankjury.plan.systems"
)
"""Tables of the plan that create a ranking (``plan.context.SystemTable``), by ``kind``, in ``plan/systems/``."""
