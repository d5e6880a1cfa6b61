"""The door for AI agents: the Model Context Protocol, over standard streams and HTTP.

Read ``application.py`` first: the server, and its routes over HTTP. ``definitions.py`` lists the tools,
``tools.py`` runs them, ``wording.py`` and ``paging.py`` write their answers, and ``resources.py`` gives
documents by address. ``stdio.py`` is the other transport.
"""
