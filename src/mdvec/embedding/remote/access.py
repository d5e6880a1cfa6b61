"""Where the key of a service comes from: the environment, when it is needed. It is kept nowhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from mdvec.errors import EmbedderUnavailableError


@dataclass(frozen=True, slots=True)
class Access:
    """The key of a service.

    Attributes:
        service: Who wants it, for people.
        variables: Names of the variables that may hold it, the first one to be set counts.
        needed: Whether the service wants one at all.
        obtain: Where to get one, for people.
        environment: Where the variables are.
    """

    service: str
    variables: tuple[str, ...]
    needed: bool = True
    obtain: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    @property
    def hint(self) -> str:
        """What to run to set a key."""
        obtain = f" ({self.obtain})" if self.obtain else ""
        return f"Run 'export {self.variables[0]}=KEY' with your key{obtain}, then the command again."

    @property
    def key(self) -> str:
        """The key; empty when there is none."""
        values = (self.environment.get(variable, "").strip() for variable in self.variables)
        return next((value for value in values if value), "")

    @property
    def problem(self) -> EmbedderUnavailableError | None:
        """Why there is no usable key; None when there is one, or none is needed."""
        key = self.key
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            msg = f"the key of {self.service} has characters that no key has"
            return EmbedderUnavailableError(msg, hint=self.hint)
        if not key and self.needed:
            msg = f"{self.service} needs a key, and {' or '.join(self.variables)} is not set"
            return EmbedderUnavailableError(msg, hint=self.hint)
        return None


def variables(own: str | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return where to look for a key: in the variable of one's own choice alone, else in the usual ones."""
    return (own,) if own else usual
