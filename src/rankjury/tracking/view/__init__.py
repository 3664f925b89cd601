"""The page that explores: a local server over the archive, read-only, for one person on this machine."""

from rankjury.tracking.view.listing import Shelf
from rankjury.tracking.view.pages import Pages
from rankjury.tracking.view.server import Server

__all__ = ["Pages", "Server", "Shelf"]
