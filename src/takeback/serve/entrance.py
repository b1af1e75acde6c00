"""The entrance: an address with a code leads a browser in, mostly from a file of the user's.

No secret is on a command line, in a history, in a log or in a Referer: the code stands behind the
``#`` of the address, which browsers keep to themselves, and is good once, and not for long.
"""

from __future__ import annotations

from html import escape
from threading import Timer

from takeback.app.opener import open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.app.private_files import PrivateFiles
    from takeback.serve.server import Server

_NAME = "open.html"
_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>takeback</title>
<meta http-equiv="refresh" content="0; url={url}">
<p><a href="{url}">takeback</a></p>
</html>
"""


def address(server: Server, seconds: float, workspace: str | None) -> str:
    """Returns the address of the page with a new code; it begins with a workspace, if one is named.

    Both are words of letters, digits, ``-`` and ``_``.
    """
    place = "" if workspace is None else f"&w={workspace}"
    return f"{server.origin}/#code={server.secrets.new_code(seconds)}{place}"


class Entrance:
    """The file, from when it is made until a code was used, or until its own is too old."""

    def __init__(self, server: Server, files: PrivateFiles, url: str) -> None:
        self._files = files
        self.path = files.write(_NAME, _PAGE.format(url=escape(url)).encode())
        server.secrets.entered = self.close
        self._timer = Timer(server.settings.code_seconds, self.close)
        self._timer.daemon = True
        self._timer.start()

    def open(self, environ: Mapping[str, str]) -> bool:
        """Opens it in the browser; False if the system has nothing to open it with."""
        return open_file(self.path, environ)

    def close(self) -> None:
        """Removes it."""
        self._timer.cancel()
        self._files.remove(_NAME)
