"""The composition root: wires configuration to implementations, and is all that a door calls."""

from mdvec.workspace.facade import Workspace
from mdvec.workspace.opening import open_workspace

__all__ = ["Workspace", "open_workspace"]
