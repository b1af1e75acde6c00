"""The house rules that a machine can hold."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest

from scripts import layers
from tests.support.source import tree_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/takeback"
LINES_AT_MOST = 700

# A place on somebody's machine. Not after a word character: `src/work/` is a relative path.
# Nobody is called dev: that is the home in what the agents were recorded to say.
MACHINE_PATH = re.compile(r"(?<![\w.~$}-])/(?:root|work|home/(?!dev/)[\w.-]+|Users/[\w.-]+)/")
# Where packages are downloaded from. In parts, so that this file does not name them either.
REGISTRY = re.compile("|".join(["py" + r"pi\.org", "python" + "hosted", "registry" + r"\.npm"]))
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def project_files() -> list[Path]:
    """Returns the files that git tracks or would track; a copy without git is walked."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [ROOT / name.decode() for name in listed.stdout.split(b"\0") if name]
    else:
        found = [
            path
            for folder in ("src", "tests", "docs", "scripts", ".ci")
            for path in (ROOT / folder).rglob("*")
            if "__pycache__" not in path.parts
        ] + list(ROOT.glob("*.*"))
    return sorted(path for path in found if path.is_file())


def text_of(path: Path) -> str:
    """Returns the text of a file; a binary file has none."""
    data = path.read_bytes()
    return "" if b"\0" in data else data.decode("utf-8", "replace")


def places(pattern: re.Pattern[str], files: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if pattern.search(line)
    ]


def source_modules() -> list[Path]:
    return sorted((ROOT / "src").rglob("*.py"))


def rooms() -> list[Path]:
    """Returns the modules between the store and the app: what the layers call rooms."""
    names = layers.rooms()
    return [
        path
        for path in source_modules()
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in names
    ]


def markdown_pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def anchors(page: Path) -> set[str]:
    """Returns the anchors that a page's headings have on the usual forges."""
    found = set()
    for heading in re.findall(r"^#+\s+(.*?)\s*#*$", FENCE.sub("", text_of(page)), re.MULTILINE):
        kept = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(kept.replace(" ", "-"))
    return found


def test_files_name_no_path_of_a_machine() -> None:
    assert places(MACHINE_PATH, project_files()) == []


def test_files_name_no_package_registry() -> None:
    assert places(REGISTRY, project_files()) == []


def test_source_has_nothing_left_to_do() -> None:
    assert places(UNFINISHED, source_modules()) == []


def imported(tree: ast.Module) -> set[str]:
    """Returns the modules that a module imports, but for what only a type checker sees."""
    unseen = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found


def test_one_module_alone_imports_private_c_modules() -> None:
    """Their names may change with any Python: c_modules.py has the public one for each."""
    private = {"posix", *(n for n in sys.stdlib_module_names if n.startswith("_"))}
    private.remove("__future__")
    found = {
        str(path.relative_to(ROOT)): names
        for path in source_modules()
        if (names := imported(tree_of(path)) & private)
    }
    assert found == {}


def test_source_modules_are_short() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(text_of(path).splitlines()) for path in source_modules()
    }
    assert {name: lines for name, lines in lengths.items() if lines > LINES_AT_MOST} == {}


def test_refs_are_spelt_in_one_module() -> None:
    """Whoever needs the name of a ref asks ``store/namespace.py``, and so does who checks one."""
    others = [path for path in source_modules() if path.name != "namespace.py"]
    assert places(re.compile("refs/takeback"), others) == []


def test_names_are_told_apart_in_one_module() -> None:
    """Whoever asks whether a name is a turn or the newest checkpoint asks ``model/naming.py``."""
    others = [path for path in source_modules() if path.name != "naming.py"]
    assert places(re.compile(r"""(?:startswith\(\(?|[=!]= ?)["'](?:@|turn:)["']"""), others) == []


def test_answers_that_are_not_offered_are_told_so_in_one_module() -> None:
    said = places(re.compile('is not in the list[.]"'), source_modules())
    assert [line.partition(":")[0] for line in said] == ["src/takeback/cli/terminal.py"]


@pytest.mark.parametrize("page", markdown_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    broken = []
    for target in LINK.findall(FENCE.sub("", text_of(page))):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, fragment = target.partition("#")
        linked = (page.parent / unquote(name)) if name else page
        if not linked.exists() or (
            fragment and linked.suffix == ".md" and fragment not in anchors(linked)
        ):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("cd /" + "work/main", True),
        ("HOME=/" + "home/ada/x", True),
        ("HOME=/" + "home/developer/x", True),
        ("/home/dev/project", False),
        ("file:///" + "root/x", True),
        ("src/work/x", False),
        ("https://example.org/work/x", False),
        ("$HOME/work/x", False),
    ],
)
def test_machine_paths_are_told_from_relative_ones(line: str, found: bool) -> None:
    assert bool(MACHINE_PATH.search(line)) is found


def test_what_builds_takeback_is_pinned_and_what_it_runs_on_has_a_ceiling() -> None:
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))
    [backend] = project["build-system"]["requires"]
    assert re.fullmatch(r"hatchling==[0-9.]+", backend)
    assert f"\n{backend} " in text_of(ROOT / "constraints.txt")
    for dependency in project["project"]["dependencies"]:
        assert re.search(r",<[0-9]+$", dependency), dependency
    pinned = text_of(ROOT / "scripts" / "uv.txt")
    assert pinned.count("--hash=sha256:") >= 4


def test_make_says_that_it_sets_itself_up(tmp_path: Path) -> None:
    """What takes half a minute must not be silent."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    for target in ("demo", "test"):
        done = subprocess.run(
            ["make", "--dry-run", target], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        first, *rest = done.stdout.splitlines()
        assert first.startswith('echo "setting up .venv'), done.stdout
        assert any("-m venv" in line for line in rest)


def test_no_prose_says_who_holds_a_lock() -> None:
    """Who needs the lock takes it as an argument (store/lock.py); only that module makes one."""
    source = [path for path in project_files() if (ROOT / "src") in path.parents]
    promise = re.compile(
        r"caller(?:s)? (?:must )?hold|with the lock held|holds? the locks?\.$", re.I
    )
    assert places(promise, source) == []
    made = places(re.compile(r"(?<![\w.])Locked\("), source)
    assert [line.partition(":")[0] for line in made] == ["src/takeback/store/lock.py"]
    taken = places(re.compile(r"store\.lock\.(?:acquire|release)\("), source)
    assert {line.partition(":")[0] for line in taken} == {"src/takeback/store/lock.py"}


def test_no_function_of_a_room_takes_more_than_five_arguments_by_place() -> None:
    """What stands after ``*`` is named where it is given, and need not be a value of its own."""
    many = []
    for path in rooms():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                names = [a.arg for a in (*given.posonlyargs, *given.args)]
                if len([name for name in names if name not in ("self", "cls")]) > 5:
                    many.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}")
    assert many == []


def test_a_class_has_a_name_of_its_own() -> None:
    """One word, one thing; nested ones belong to their class, private ones to their module."""
    named: dict[str, list[str]] = {}
    for path in source_modules():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: places for name, places in named.items() if len(places) > 1} == {}
