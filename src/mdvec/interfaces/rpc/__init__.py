"""JSON-RPC 2.0: lines on standard input and output, a Unix socket, and ``POST /rpc``."""
