"""The ways of splitting that rankjury brings: importing them registers them."""

from rankjury.recsys.splitting import per_user as by_user
from rankjury.recsys.splitting import random as by_chance
from rankjury.recsys.splitting import rolling
from rankjury.recsys.splitting import temporal as by_time

__all__ = ["by_chance", "by_time", "by_user", "rolling"]
