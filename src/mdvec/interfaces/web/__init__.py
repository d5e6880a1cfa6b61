"""The page: search, read and see the state of the index in a browser.

Read ``routes.py`` first. Three modules are the pages, ``frame.py`` is what these share, and ``strings.py``
has the words in English and Japanese.
"""
