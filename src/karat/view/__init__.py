"""The page that explores: a local server over the archive, read-only, for one person on this machine."""

from karat.view.listing import Shelf
from karat.view.pages import Pages
from karat.view.server import Server

__all__ = ["Pages", "Server", "Shelf"]
