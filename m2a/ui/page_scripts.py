"""The page's own scripts: the modules in `assets/page`, at an address that changes when any of them changes.

So a browser can cache them, and never mixes two versions.
"""

from hashlib import sha256

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from m2a.ui.welcome import ASSETS

_FOLDER = ASSETS / "page"
_MODULES = sorted(_FOLDER.glob("*.js"))
ADDRESS = f"/m2a/page-{sha256(b''.join(module.read_bytes() for module in _MODULES)).hexdigest()[:16]}"


def script_tags() -> str:
    """Returns the tags that load the scripts. They name every module, so that a browser requests all of them at once."""
    preloads = "".join(f'<link rel="modulepreload" href="{ADDRESS}/{module.name}">' for module in _MODULES)
    return f'{preloads}<script type="module" src="{ADDRESS}/page.js"></script>'


class PageScripts(StaticFiles):
    """The files at `ADDRESS`."""

    def __init__(self) -> None:
        super().__init__(directory=_FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response
