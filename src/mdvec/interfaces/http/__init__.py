"""The HTTP server that every web door shares: its options, its guard and its life.

Read ``guard.py`` first: each request passes it. ``options.py`` has the addresses of a server and its clients,
``rights.py`` its tokens, ``server.py`` its start and end, and ``api.py`` the operations at ``/api``.
"""
