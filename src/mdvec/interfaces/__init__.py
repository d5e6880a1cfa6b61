"""The doors: ways to reach a workspace. No rules live here, only words and wires.

Read ``operations.py`` first: the table of all operations. ``requests.py`` and ``parsing.py`` are the
arguments, ``answers.py`` the answers as JSON, ``present.py`` as words; ``app.py`` puts the web doors
together. Each folder is a door, except ``clients/``.
"""
