"""The ways of splitting that rankjury brings: importing them registers them."""

from rankjury.interactions.splitting import by_chance, by_time, by_user, rolling

__all__ = ["by_chance", "by_time", "by_user", "rolling"]
