"""The page: search, read and see the state of the index in a browser.

Read ``routes.py`` first. Three modules are the pages, ``frame.py`` is what these share, and ``words.toml``
has the words in English and Japanese, which ``strings.py`` reads.
"""
