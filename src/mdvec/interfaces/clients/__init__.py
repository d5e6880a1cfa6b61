"""The configuration files of MCP clients, and how mdvec is written into them.

Read ``catalogue.py`` first: the file and the entries of each client. ``edits.py`` changes these files.
"""
