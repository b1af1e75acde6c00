"""Random work on a tree: edits, moves, links, directories that come, go and change places."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path


class Churn:
    """Plays some random changes at a time; the same seed plays the same ones."""

    def __init__(self, root: Path, outside: Path, seed: int) -> None:
        self._root = root
        self._outside = outside
        self._chance = random.Random(seed)
        self._number = 0
        self._away: list[Path] = []
        self._deeds: list[Callable[[], object]] = [
            self._edit,
            self._edit,
            self._write_in_place,
            self._remove,
            self._make,
            self._make_directory,
            self._move,
            self._move_directory,
            self._swap,
            self._remake,
            self._send_away,
            self._bring_back,
            self._chmod,
            self._link,
        ]

    def play(self, changes: int = 4) -> None:
        for _ in range(self._chance.randrange(1, changes + 1)):
            self._number += 1
            self._chance.choice(self._deeds)()

    def _files(self) -> list[Path]:
        return sorted(path for path in self._all() if path.is_file() and not path.is_symlink())

    def _directories(self) -> list[Path]:
        return sorted(path for path in self._all() if path.is_dir() and not path.is_symlink())

    def _all(self) -> list[Path]:
        return [path for path in self._root.rglob("*") if ".git" not in path.parts]

    def _file(self) -> Path:
        if not self._files():
            self._make()
        return self._chance.choice(self._files())

    def _directory(self) -> Path:
        return self._chance.choice([self._root, *self._directories()])

    def _some(self, count: int) -> list[Path]:
        """Returns so many directories, none of them in another; none if there are too few."""
        found = self._directories()
        chosen = self._chance.sample(found, count) if len(found) >= count else []
        nested = any(one in other.parents for one in chosen for other in chosen)
        return [] if nested else chosen

    def _free_name(self, directory: Path) -> Path:
        return directory / f"n{self._number}"

    def _edit(self) -> None:
        self._file().write_text(f"edit {self._number}")

    def _write_in_place(self) -> None:
        path = self._file()
        status = path.stat()
        with path.open("r+b") as file:
            file.write(b"%d" % self._number)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _remove(self) -> None:
        self._file().unlink()

    def _make(self) -> None:
        self._free_name(self._directory()).write_text(f"new {self._number}")

    def _make_directory(self) -> None:
        place = self._free_name(self._directory()) / "in" / "deep"
        place.mkdir(parents=True)
        for name in "abc":
            (place / name).write_text(f"{name} {self._number}")

    def _move(self) -> None:
        self._file().rename(self._free_name(self._directory()))

    def _move_directory(self) -> None:
        into = self._directory()
        for moved in self._some(1):
            if moved != into and moved not in into.parents:
                moved.rename(self._free_name(into))

    def _swap(self) -> None:
        if not (chosen := self._some(2)):
            return
        one, other = chosen
        aside = self._free_name(self._root)
        one.rename(aside)
        other.rename(one)
        aside.rename(other)

    def _remake(self) -> None:
        for place in self._some(1):
            names = sorted(path.name for path in place.iterdir())
            shutil.rmtree(place)
            place.mkdir()
            for name in names[:3]:
                (place / name).write_text(f"again {self._number}")

    def _send_away(self) -> None:
        for goes in self._some(1) if len(self._away) < 4 else ():
            self._away.append(goes.rename(self._free_name(self._outside)))

    def _bring_back(self) -> None:
        if not self._away:
            return
        comes = self._away.pop(self._chance.randrange(len(self._away)))
        for path in sorted(comes.rglob("*")):
            if path.is_file() and not path.is_symlink() and self._chance.random() < 0.5:
                path.write_text(f"outside {self._number}")
        comes.rename(self._free_name(self._directory()))

    def _chmod(self) -> None:
        path = self._chance.choice([self._file(), *self._directories()])
        path.chmod(0o755 if path.stat().st_mode & 0o777 != 0o755 else 0o700)

    def _link(self) -> None:
        self._free_name(self._directory()).symlink_to(self._chance.choice("abc"))
