"""The door for AI agents: the Model Context Protocol, over standard streams and HTTP."""
