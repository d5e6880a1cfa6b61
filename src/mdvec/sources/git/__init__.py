"""Repositories on any host, read by the program git.

Read ``git_source.py`` first. ``clone.py`` holds the names of the latest commit and the contents asked for,
``directory.py`` its folder, and ``program.py`` runs git, so that nothing of a repository runs.
"""
