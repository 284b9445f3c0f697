"""The page's own scripts: the modules of `assets/page`, under an address that changes with any of them.

So a browser may keep them, and never has some of one version and some of another.
"""

from hashlib import sha256

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from m2a.ui.welcome import ASSETS

_FOLDER = ASSETS / "page"
_MODULES = sorted(_FOLDER.glob("*.js"))
ADDRESS = f"/m2a/page-{sha256(b''.join(one.read_bytes() for one in _MODULES)).hexdigest()[:16]}"


def script_tags() -> str:
    """The tags that load the scripts. All are named, so that a browser asks for them at once and not one after another."""
    named = "".join(f'<link rel="modulepreload" href="{ADDRESS}/{one.name}">' for one in _MODULES)
    return f'{named}<script type="module" src="{ADDRESS}/page.js"></script>'


class PageScripts(StaticFiles):
    """The files at `ADDRESS`."""

    def __init__(self) -> None:
        super().__init__(directory=_FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response
