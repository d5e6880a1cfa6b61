"""The composition root: wires configuration to implementations, and is all that a door calls."""

from mdvec.workspace.workspace import Workspace, open_workspace

__all__ = ["Workspace", "open_workspace"]
