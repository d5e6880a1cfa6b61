"""JSON-RPC 2.0: lines on standard input and output, and ``POST /rpc``.

Read ``methods.py`` first: the methods, and standard input and output. ``dispatcher.py`` takes messages
and sends answers for any transport.
"""
