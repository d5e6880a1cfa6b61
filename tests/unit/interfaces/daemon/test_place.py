"""Where a daemon keeps its files."""

from pathlib import Path

from mdvec.interfaces.daemon.place import socket_path


def test_daemons_of_one_database_with_folders_of_their_own_do_not_share_a_socket(tmp_path: Path) -> None:
    """Such as two accounts' homes on one machine: each removes what lies where its socket should be."""
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    one, other = (socket_path(Path(home, "0123456789abcdef"), env) for home in ("/a", "/b"))
    assert one is not None
    assert other is not None
    assert one.parent == other.parent
    assert one != other
