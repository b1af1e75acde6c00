"""What changed, line by line."""

from __future__ import annotations

from tests.serve.served import InProcess
from tests.support.cli import Cli
from tests.support.host import Host


def test_diff_gives_hunks_with_lines_numbers_and_colours(host: Host, served: InProcess) -> None:
    one = served.workspace
    host.turn("python", {"x.py": b"import os\nx = 'a'"})
    [change] = served.get(f"{one}/checkpoints/turn:3/diff").ok()["changes"]
    assert (change["path"], change["kind"], change["number"]) == ("a.txt", "modified", 0)
    [hunk] = change["hunks"]
    assert hunk["header"] == "@@ -1,3 +1,3 @@"
    assert [(line["kind"], line["old"], line["new"], line["text"]) for line in hunk["lines"]] == [
        (" ", 1, 1, "one"),
        ("-", 2, None, "two"),
        ("+", None, 2, "2"),
        (" ", 3, 3, "three"),
    ]
    [added] = served.get(f"{one}/checkpoints/turn:4/diff?colour=true").ok()["changes"]
    lines = added["hunks"][0]["lines"]
    assert [line["no_newline"] for line in lines] == [False, True]
    assert lines[0]["tokens"][0] == ["keyword", "import"]
    assert all("".join(text for _, text in line["tokens"]) == line["text"] for line in lines)


def test_the_directions_of_a_diff(host: Host, served: InProcess, cli: Cli) -> None:
    one = served.workspace

    def paths(name: str, to: str) -> list[tuple[str, str]]:
        found = served.get(f"{one}/checkpoints/{name}/diff?to={to}").ok()["changes"]
        return [(f["path"], f["kind"]) for f in found]

    assert paths("turn:2", "after") == [("b.txt", "added")]
    assert paths("turn:2", "now") == [("a.txt", "modified"), ("b.txt", "deleted")]
    assert paths("turn:1", "turn:3") == [("a.txt", "added"), ("b.txt", "added")]
    (cli.directory / "mine").write_bytes(b"")
    host.turn("four", {})
    assert paths("turn:4", "previous") == [("mine", "added")]
    assert served.get(f"{one}/checkpoints/turn:4/diff?to=nothing").status == 404


def test_a_large_diff_has_lines_only_where_asked(host: Host, served: InProcess) -> None:
    one = served.workspace
    host.turn("many", {f"f{number:02}": b"x\n" for number in range(25)})
    found = served.get(f"{one}/checkpoints/turn:4/diff").ok()["changes"]
    assert len(found) == 25
    assert {f["hunks"] is None for f in found} == {True}
    [f] = served.get(f"{one}/checkpoints/turn:4/diff?path=f07").ok()["changes"]
    assert (f["number"], len(f["hunks"])) == (7, 1)
    assert served.get(f"{one}/checkpoints/turn:4/diff?path=nope").ok()["changes"] == []


def test_files_come_as_bytes_that_no_browser_shows(host: Host, served: InProcess) -> None:
    one = served.workspace
    host.turn("page", {"evil.html": b"<script>1</script>", "a.bin": b"\0\1"})
    reply = served.get(f"{one}/checkpoints/turn:4/files/1?side=new")
    assert reply.body == b"<script>1</script>"
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-disposition"] == 'attachment; filename="file"'
    assert "sandbox" in reply.headers["content-security-policy"]
    assert served.get(f"{one}/checkpoints/turn:4/files/1?side=old").status == 404
    assert served.get(f"{one}/checkpoints/turn:4/files/9").status == 404
    assert served.get(f"{one}/checkpoints/turn:4/files/-1").status == 400
    binary = served.get(f"{one}/checkpoints/turn:4/diff?path=a.bin").ok()["changes"][0]
    assert (binary["hunks"], binary["tickable"], binary["added"]) == ([], False, None)


def test_search(host: Host, served: InProcess, cli: Cli) -> None:
    one = served.workspace
    found = served.get(f"{one}/search?q=write+b").ok()["found"]
    assert [f["text"] for f in found] == ["write b"]
    [found] = served.get(f"{one}/search?q=b.txt&limit=5").ok()["found"]
    assert found["command"][-2:] == ["--", "b.txt"]
    content = served.get(f"{one}/search?q=three&content=true").ok()["found"]
    assert {f["what"] for f in content} == {"content"}
    assert served.get(f"{one}/search?q=+").status == 400
    assert served.get(f"{one}/search").status == 400
