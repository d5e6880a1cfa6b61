"""The configuration files of MCP clients, and how mdvec is written into them."""
