"""Repositories on GitHub, read over its REST interface.

Read ``github_source.py`` first; ``api.py`` has the four requests.
"""
