"""python -m karat"""

from karat.cli import main

main()
