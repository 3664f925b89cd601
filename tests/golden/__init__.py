"""Golden outputs: what the commands print and write for the bundled samples, compared with stored files.

``python -m tests.golden`` (or ``make golden``) writes ``tests/golden/expected`` again and lists the files that changed;
the change is reviewed as a git diff. ``python -m tests.golden helpdesk movies`` does so for these cases only.

- ``cases.py``: one function per case: inputs, plans, commands.
- ``recording.py``: runs commands in process, with a fixed clock, date and machine.
- ``normalise.py``: turns outputs into text that is the same on every machine; long arrays become a digest.
"""
