"""What connecting an agent does to its settings, and what takeback can do for it then."""

from __future__ import annotations

from takeback.model.value import Value


class Capabilities(Value):
    """What takeback can do with an agent, as data for the table in the README and ``doctor``."""

    files: str = "exact"
    shell: str = "yes"
    conversation: str = "new session"
    inside: str = ""
    resumes: str = ""
    tested: str = ""


class Silencer(Value):
    """A file of a project's that tries to keep an agent from being heard.

    ``what`` it does and what comes of it, in words. One that ``stops`` it has no hook run;
    ``sets`` is the variable that it sets for hooks.
    """

    path: str
    what: str
    stops: bool = False
    sets: str = ""

    def __str__(self) -> str:
        return f"{self.path} {self.what}"


class FileEdit(Value):
    """One file before and after; None stands for "not there".

    ``real`` is where the path leads through links: that file is shown and written.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o600
    real: str = ""

    @property
    def changes(self) -> bool:
        return self.before != self.after
