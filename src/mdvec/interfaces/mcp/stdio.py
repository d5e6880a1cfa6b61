"""``mdvec serve`` on the standard streams, and how it ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

import anyio

from mdvec.interfaces.mcp.application import build_server, watch_over
from mdvec.interfaces.mcp.wire import messages, private_streams

if TYPE_CHECKING:
    from mdvec.config import Config
    from mdvec.workspace import Workspace

# A thread that indexes cannot be interrupted inside a batch. What it has not committed by then goes
# with the process, which is safe at any instant: the next import does it again.
_MOST_S_TO_END = 1.5
_LOOK_FOR_PARENT_EVERY_S = 0.5
_CODE_OF_SIGNAL = {signal.SIGTERM: 0, signal.SIGINT: 130}


def serve_stdio(workspace: Workspace, config: Config, *, verbose: bool = False) -> int:
    """Serve one client on the standard streams until it goes.

    That is when it closes its end, when the parent process dies, or at SIGTERM or Ctrl-C. From then
    on the process has a second and a half to end by itself: this is for a process that does nothing
    else.

    Args:
        workspace: What to serve.
        config: Its settings.
        verbose: Whether to print where a bug was met.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.
    """
    return anyio.run(_serve, workspace, config, verbose)


class _End:
    """The end of the process, which has one reason and cannot be stopped."""

    def __init__(self) -> None:
        self.code = 0
        self.scope = anyio.CancelScope()
        self._begun = False

    def begin(self, code: int = 0) -> None:
        """Give the process a moment to end by itself."""
        if self._begun:
            return
        self._begun, self.code = True, code
        timer = threading.Timer(_MOST_S_TO_END, os._exit, (code,))
        timer.daemon = True
        timer.start()

    def stop_serving(self, code: int = 0) -> None:
        """Begin, without waiting for the client."""
        self.begin(code)
        self.scope.cancel()


async def _serve(workspace: Workspace, config: Config, verbose: bool) -> int:
    end = _End()
    server = build_server(workspace, config, on_bug=watch_over(verbose=verbose))
    with private_streams() as (wire_in, wire_out), end.scope:
        async with anyio.create_task_group() as group:
            if sys.platform != "win32":  # there a process ends at once
                group.start_soon(_end_at_signal, end)
                group.start_soon(_end_with_parent, end, os.getppid())
            async with messages(wire_in, wire_out, on_end=end.begin) as (heard, said):
                await server.run(heard, said, server.create_initialization_options())
            end.stop_serving()
    return end.code


async def _end_at_signal(end: _End) -> None:
    with anyio.open_signal_receiver(*_CODE_OF_SIGNAL) as signals:
        async for number in signals:
            end.stop_serving(_CODE_OF_SIGNAL[number])


async def _end_with_parent(end: _End, parent: int) -> None:
    """A parent that dies may leave standard input open: another child of it can have inherited it."""
    while os.getppid() == parent:
        await anyio.sleep(_LOOK_FOR_PARENT_EVERY_S)
    end.stop_serving()
