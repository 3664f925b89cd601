"""The ways of splitting that karat brings: importing them registers them."""

from karat.interactions.splitting import by_chance, by_time, by_user, rolling

__all__ = ["by_chance", "by_time", "by_user", "rolling"]
