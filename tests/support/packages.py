"""Packages that are installed beside takeback, in a directory of the test's own."""

from __future__ import annotations

import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import takeback
from tests.support.cli import Cli

EXAMPLE = Path(__file__).parents[2] / "examples" / "takeback-scribe"
_RUN = "import sys; sys.path.insert(0, {!r}); from takeback.__main__ import main; main()"


def install(folder: Path, name: str, points: dict[str, str], modules: dict[str, str]) -> None:
    """Installs a package as a wheel's installer leaves it: modules, metadata, entry points."""
    for module, text in modules.items():
        (folder / module).parent.mkdir(parents=True, exist_ok=True)
        (folder / module).write_text(text)
    about = folder / f"{name.replace('-', '_')}-0.1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    lines = ["[takeback.agents]", *(f"{key} = {value}" for key, value in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")


def install_example(folder: Path) -> None:
    """Installs the example package, by what its pyproject.toml says."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    sources = (EXAMPLE / "takeback_scribe").glob("*.py")
    modules = {f"takeback_scribe/{path.name}": path.read_text() for path in sources}
    install(folder, project["name"], project["entry-points"]["takeback.agents"], modules)


def install_takeback(folder: Path) -> None:
    """Installs takeback itself there, so that its launcher runs that one."""
    shutil.copytree(Path(takeback.__file__).parent, folder / "takeback")


@dataclass(frozen=True, slots=True)
class InstalledCli(Cli):
    """The takeback that is installed in a folder."""

    folder: Path = Path()

    def argv(self, *args: str | bytes) -> list[str | bytes]:
        return [sys.executable, "-I", "-c", _RUN.format(str(self.folder)), *args]
