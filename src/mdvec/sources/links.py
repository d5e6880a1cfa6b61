"""Follows symbolic links to each file at most once, and out of the root only where the user chose so."""

from __future__ import annotations

import errno
import heapq
import os
import stat
from pathlib import Path

from mdvec.errors import UnreadableFileError
from mdvec.files import inside, irregular, resolved, system_path
from mdvec.sources.files import reason
from mdvec.sources.scan import IGNORE_FILES, Folder, Scan, SymbolicLink
from mdvec.text.folding import nfc


def follow_links(scan: Scan) -> None:
    """Follow every link that a scan found, and the links behind them, in the order of their paths.

    A link out of the root is excluded, unless the selection names it. A link to something listed is, as is a
    link to something that an ignore rule, ``--exclude`` or an excluded folder name leaves out. Each folder is
    entered at most once, so this terminates.

    Args:
        scan: The scan; it already has all real files and folders, each under its own name.
    """
    scan.start_following()
    waiting: list[tuple[str, SymbolicLink]] = []
    while scan.links or waiting:
        for link in scan.links:
            heapq.heappush(waiting, (link.path, link))
        scan.links.clear()
        _, link = heapq.heappop(waiting)
        try:
            rule = _follow(scan, link)
        except (OSError, UnreadableFileError) as error:
            scan.fail(link.path, reason(error))
        else:
            if rule is not None:
                scan.exclude(link.path, rule)


def _follow(scan: Scan, link: SymbolicLink) -> str | None:
    """List the target of a link, or return the reason not to."""
    try:
        real = resolved(f"{scan.root}/{link.folder.locator}{link.name}")
        status = Path(system_path(real)).stat()
    except OSError as error:
        match error.errno:
            case errno.ENOENT | errno.ENOTDIR:
                return "dangling link"
            case errno.ELOOP:
                return "link that leads to itself"
            case _:
                raise
    target = inside(real, scan.root)
    if target is None:
        return _follow_outside(scan, link, real, status)
    is_folder = stat.S_ISDIR(status.st_mode)
    if not (is_folder or stat.S_ISREG(status.st_mode)):
        return irregular(status.st_mode)
    return _follow_inside(scan, link, f"{target}/" if is_folder and target else target, status)


def _follow_outside(scan: Scan, link: SymbolicLink, real: str, status: os.stat_result) -> str | None:
    """List what a link that leaves the root leads to, if the user chose it; links in there are not chosen."""
    if link.path not in scan.selection.follow:
        return "link that leaves the folder"
    is_folder = stat.S_ISDIR(status.st_mode)
    rule = scan.rule(link.name, f"{link.path}/" if is_folder else link.path, link.folder)
    if rule is not None or not is_folder:
        if rule is None:
            scan.take(link.path, status, locator=link.folder.locator + link.name, real=real)
        return rule
    if inside(scan.root, real) is not None:
        return "link back to a folder above it"
    try:
        outside = f"{os.path.relpath(real, scan.root).replace(os.sep, '/')}/"
    except ValueError:  # on Windows
        return "link to another drive"
    if outside in scan.entered:
        return f"same folder as {scan.entered[outside].path}"
    scan.walk(Folder(f"{link.path}/", f"{link.folder.locator}{link.name}/", outside))
    return None


def _follow_inside(scan: Scan, link: SymbolicLink, real: str, status: os.stat_result) -> str | None:
    """List the target of a link in the root; that of a folder ends in ``/`` or is empty."""
    slash = "/" if stat.S_ISDIR(status.st_mode) else ""
    if slash and link.folder.real.startswith(real):
        return "link back to a folder above it"
    if slash and real in scan.entered:
        return f"same folder as {scan.entered[real].path}"
    if not slash and scan.listed is not None and real in scan.listed:
        return f"same file as {scan.listed[real]}"
    rule = scan.rule(link.name, link.path + slash, link.folder)
    if rule is not None:
        return rule
    rule, parent = _judge_target(scan, real.removesuffix("/"), is_folder=bool(slash))
    if rule is not None:
        return f"link to {_shown(real)}, which is left out ({rule})"
    locator = f"{link.folder.locator}{link.name}{slash}"
    if slash:
        scan.walk(Folder(f"{link.path}/", locator, real, parent.rules))
    else:
        scan.take(link.path, status, locator=locator, real=real)
    return None


def _judge_target(scan: Scan, target: str, *, is_folder: bool) -> tuple[str | None, Folder]:
    """Apply the exclusion rules on the way from the root down to a target.

    Globs of ``--include`` are not applied to the target, but to the link.

    Returns:
        The rule that excludes it or a folder above it, and the folder it is in.
    """
    folder = scan.entered[""]
    *above, last = target.split("/")
    for name in above:
        known = scan.entered.get(f"{folder.real}{name}/")
        if known is None:
            rule = _leaving_out(scan, name, folder, is_folder=True)
            if rule is not None:
                return rule, folder
            real = f"{folder.real}{name}/"
            known = scan.with_ignore_files(Folder(_shown(real), real, real, folder.rules), IGNORE_FILES)
        folder = known
    return _leaving_out(scan, last, folder, is_folder=is_folder), folder


def _leaving_out(scan: Scan, name: str, folder: Folder, *, is_folder: bool) -> str | None:
    real = folder.real + name
    return (
        (scan.selection.name_rule(name) if is_folder else None)
        or (folder.rules and folder.rules.rule(real, is_folder=is_folder))
        or scan.selection.exclude_rule(_shown(f"{real}/" if is_folder else real))
    )


def _shown(real: str) -> str:
    """Return a readable form of a target that has no path of its own."""
    return nfc(os.fsencode(real).decode("utf-8", "backslashreplace"))
