"""The page that explores: a local server over the archive, read-only, for one person on this machine."""

from rankjury.view.listing import Shelf
from rankjury.view.pages import Pages
from rankjury.view.server import Server

__all__ = ["Pages", "Server", "Shelf"]
