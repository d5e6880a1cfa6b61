"""The command line.

Read ``main.py`` first, then ``commands.py``, which finds and runs a command; most other modules are
commands. ``session.py`` opens the workspace, ``terminal.py`` writes, and ``served.py`` runs commands inside
a daemon.
"""

EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 + SIGINT."""
