"""python -m karat"""

from karat.cli import run

run()
