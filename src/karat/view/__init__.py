"""The page that explores: a local server over the archive, read-only, for one person on this machine."""

from karat.view.pages import Pages
from karat.view.server import Server
from karat.view.shelf import Shelf

__all__ = ["Pages", "Server", "Shelf"]
