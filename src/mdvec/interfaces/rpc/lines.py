"""``mdvec rpc``: JSON-RPC on standard input and output, one message a line."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial

from mdvec.interfaces.errors import bug_listener
from mdvec.interfaces.rpc.dispatcher import RpcClient
from mdvec.interfaces.rpc.methods import all_methods
from mdvec.interfaces.streams import EXIT_CODES, exit_soon, private_streams, read_lines, write_all
from mdvec.workspace import Workspace

# What was sent before the end of the input is answered, however long the model takes to load.
_LAST_ANSWERS_S = 30.0
_LOOK_EVERY_S = 0.5


def serve_rpc_stdio(workspace: Workspace, *, verbose: bool = False) -> int:
    """Serve one client on the standard streams.

    It ends when the client closes its end, when the parent process dies, at SIGTERM or at Ctrl-C. From then
    on the process ends at once, even if threads are running: use it only in a process that does nothing else.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.
    """
    codes: list[int] = []  # the first one counts
    ended = threading.Event()

    def end(code: int = 0, *_: object) -> None:
        codes.append(code)
        ended.set()

    for number, code_after in EXIT_CODES.items():
        signal.signal(number, partial(end, code_after))
    with private_streams() as (wire_in, wire_out):

        def send(message: bytes) -> None:
            try:
                write_all(wire_out, message + b"\n")
            except OSError:  # the client has gone
                end()

        def read() -> None:
            for line in read_lines(wire_in):
                client.receive(line)
            client.wait(_LAST_ANSWERS_S)
            end()

        workspace.sections.resume()
        on_bug = bug_listener(verbose=verbose)
        client = RpcClient(all_methods(workspace), send, on_bug, around=workspace.explaining)
        threading.Thread(target=read, name="mdvec-stdin", daemon=True).start()
        # Standard input may stay open: another child of the parent can have inherited it.
        parent = os.getppid()
        while not ended.wait(_LOOK_EVERY_S) and os.getppid() == parent:
            pass
        code = codes[0] if codes else 0
        exit_soon(code)
        client.close()
    return code
