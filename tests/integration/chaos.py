"""Random changes to a folder, of every kind that a watcher has to survive."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

WORDS = ("aardvark", "okapi", "quagga", "zebra", "猫", "検索", "retry", "garden")
# No .txt, whose title is its name: after a rename its text stays embedded under the old one.
_EXTENSIONS = (".md", ".md", ".md", ".markdown", ".log")


class Chaos:
    """Changes the files below a folder.

    Attributes:
        root: The folder; it may be away for a moment (see :meth:`unmount`).
    """

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self._random = random.Random(seed)
        self._away = root.with_name(f"{root.name}-away")
        self._operations: tuple[Callable[[], None], ...] = (
            *(self.create,) * 4,
            *(self.edit,) * 6,
            self.truncate,
            *(self.rename,) * 2,
            self.replace,
            self.rename_case,
            self.move_folder,
            self.delete,
            self.delete_folder,
            self.swap,
            self.link,
            self.ignore,
            self.step_clock,
            self.unmount,
        )

    def run(self, count: int) -> Iterator[int]:
        """Make so many changes, and yield after each how many were made."""
        for number in range(count):
            try:
                self._random.choice(self._operations)()
            except (FileExistsError, IsADirectoryError, NotADirectoryError, shutil.Error):
                pass  # a file where a folder is to go, or the other way round: no change
            except OSError:
                if not self.root.is_dir():
                    raise
            yield number + 1
        self.mount()

    def create(self) -> None:
        """Write a new file, perhaps in a new folder."""
        target = self._folder() / self._name()
        if self._random.random() < 0.3:
            target = target.parent / f"dir{self._random.randrange(20)}" / target.name
            target.parent.mkdir(exist_ok=True)
        target.write_text(self._text(), encoding="utf-8")

    def edit(self) -> None:
        """Write other text into a file, in place."""
        self._file().write_text(self._text(), encoding="utf-8")

    def replace(self) -> None:
        """Write a file as editors do: another one beside it, renamed over it."""
        target = self._file()
        beside = target.with_name(f".{target.name}.tmp")
        beside.write_text(self._text(), encoding="utf-8")
        beside.replace(target)

    def truncate(self) -> None:
        """Empty a file."""
        self._file().write_bytes(b"")

    def rename(self) -> None:
        """Move a file, perhaps over another one."""
        self._file().replace(self._folder() / self._name())

    def rename_case(self) -> None:
        """Change the case of a file's name."""
        target = self._file()
        target.replace(target.with_name(target.stem.swapcase() + target.suffix))

    def move_folder(self) -> None:
        """Move a folder with all that is in it."""
        source, target = self._folder(), self._folder()
        if source != self.root and not target.is_relative_to(source):
            source.rename(target / f"moved{self._random.randrange(50)}")

    def delete(self) -> None:
        """Delete a file."""
        self._file().unlink()

    def delete_folder(self) -> None:
        """Delete a folder with all that is in it."""
        folder = self._folder()
        if folder != self.root and self._random.random() < 0.3:
            shutil.rmtree(folder)

    def swap(self) -> None:
        """Exchange two files, so that both have other content under an older time."""
        first, second = self._file(), self._file()
        if first != second:
            beside = first.with_name("swapping.tmp")
            first.replace(beside)
            second.replace(first)
            beside.replace(second)

    def link(self) -> None:
        """Make a link to a file, to a folder, out of the root, or to nothing."""
        targets = (self._file, self._folder, lambda: Path("/"), lambda: Path("nowhere"))
        (self._folder() / f"link{self._random.randrange(30)}.md").symlink_to(self._random.choice(targets)())

    def ignore(self) -> None:
        """Leave something out by an ignore file, or no more."""
        rules = self._random.choice(("", "*.markdown\n", "dir1/\nnote1*\n"))
        (self._folder() / ".gitignore").write_text(rules, encoding="utf-8")

    def step_clock(self) -> None:
        """Give a file a time long ago or to come; its content and size change, or neither does."""
        target = self._file()
        if self._random.random() < 0.5:
            target.write_text(self._text(), encoding="utf-8")
        moment = self._random.choice((0, 10**9, 4 * 10**18))
        os.utime(target, ns=(moment, moment))

    def unmount(self) -> None:
        """Take the root away, or leave an empty folder in its place; the next change brings it back."""
        self.mount()
        if self._random.random() < 0.3:
            self.root.rename(self._away)
            if self._random.random() < 0.5:
                self.root.mkdir()

    def mount(self) -> None:
        """Bring the root back, if it is away."""
        if self._away.exists():
            if self.root.exists():
                self.root.rmdir()
            self._away.rename(self.root)

    def _folder(self) -> Path:
        self.mount()
        folders = sorted(each for each in self.root.rglob("*") if each.is_dir() and not each.is_symlink())
        return self._random.choice([self.root, *folders])

    def _file(self) -> Path:
        self.mount()
        files = sorted(
            each
            for each in self.root.rglob("*")
            if each.is_file() and not each.is_symlink() and not each.name.startswith(".")
        )
        return self._random.choice(files) if files else self.root / "note0.md"

    def _name(self) -> str:
        return f"note{self._random.randrange(60)}{self._random.choice(_EXTENSIONS)}"

    def _text(self) -> str:
        words = " ".join(self._random.choices(WORDS, k=self._random.randrange(1, 12)))
        return f"# {self._random.choice(WORDS)} {self._random.randrange(1000)}\n\n{words}\n"
