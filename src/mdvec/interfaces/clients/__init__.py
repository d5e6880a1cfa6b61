"""The configuration files of MCP clients, and how mdvec is written into them.

Read ``catalogue.py`` first: where each client keeps its servers. ``edits.py`` changes such a file.
"""
