"""JSON-RPC 2.0: lines on standard input and output, a Unix socket, and ``POST /rpc``.

Read ``methods.py`` first: what can be called. ``dispatcher.py`` takes messages and sends answers for any
transport, ``lines.py`` is standard input and output.
"""
