"""The page: plain files from the package, each by its name in a list."""

from __future__ import annotations

import os

from starlette.responses import Response

from takeback.ordinary import ordinary
from takeback.serve.errors import no_such, response
from takeback.serve.guard import ROUTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request

_FOLDER = os.path.join(os.path.dirname(__file__), "static")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}


async def page(request: Request) -> Response:
    """Gives the page itself."""
    request.scope[ROUTE] = "/"
    return _file("index.html")


async def part(request: Request) -> Response:
    """Gives a script, a style or a picture of the page."""
    request.scope[ROUTE] = "/static/{name}"
    return _file(request.path_params["name"])


def _file(name: str) -> Response:
    if name not in _listed():
        return response(no_such("the page has no such part"))
    with open(os.path.join(_FOLDER, name), "rb", opener=ordinary) as file:
        data = file.read()
    return Response(data, media_type=_TYPES[os.path.splitext(name)[1]])


def _listed() -> set[str]:
    """Returns the names of all parts: a name from outside is only ever compared with them."""
    return {
        os.path.relpath(os.path.join(folder, name), _FOLDER)
        for folder, _, names in os.walk(_FOLDER)
        for name in names
        if os.path.splitext(name)[1] in _TYPES
    }
