"""The guard that every request and response passes: only this machine's own page may talk to the server.

- Another site cannot reach the server under its own name (DNS rebinding): the Host header must be ours.
- A page of another site or another local port cannot change anything: a request that could, and names an Origin, must name
  ours. It cannot read responses either: none admits another origin.
- Another site's own requests are refused; only a link to our page works.
- No request makes the server fetch an address, and a failed request leaves only its place in the log.
- Bodies have a limit, uploads have a quota, and the response policy lets the page load nothing from another host. Gradio's
  page needs `unsafe-eval` (it compiles templates in the browser) but no inline script: its own scripts get a nonce.
"""

import logging
import re
import secrets
from collections.abc import Iterable
from contextlib import ExitStack

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from m2a.sentences import location_of
from m2a.ui.file_references import names_elsewhere, path_fetches
from m2a.ui.photo_route import TEMPORARY
from m2a.ui.uploads import NoRoomError, Uploads

UPLOAD_PATH = "/gradio_api/upload"
MAX_UPLOAD_BYTES = 200_000_000
MAX_BODY_BYTES = 2_000_000
MAX_PHOTO_BYTES = 30_000_000  # for one photo of a temporary chat; the decoder has a lower limit and a better message

_GRADIO = "/gradio_api/"
_ELSEWHERE = "M2A accepts uploaded files only; it does not fetch files from other addresses."
_OTHER_PAGES = "Requests from other pages are refused."
_TOO_MUCH = "This is larger than M2A accepts at once."

_log = logging.getLogger(__name__)

_SCRIPT = re.compile(rb"<script(?=[\s>])")
# Gradio's template refers to pictures and fonts on other hosts; we need none of them.
_FOREIGN = re.compile(rb"<(?:meta|link)\b[^>]*\b(?:content|href)=\"https?://[^\"]*\"[^>]*>")


class LocalGuard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], uploads: Uploads) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._uploads = uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        if refusal := self._refusal(scope, headers):
            await refusal(scope, receive, send)
            return
        with ExitStack() as room:
            if _is_upload(scope) and scope["method"] == "POST":
                try:
                    room.enter_context(self._uploads.room_for(int(headers.get("content-length", MAX_UPLOAD_BYTES))))
                except NoRoomError as error:
                    await PlainTextResponse(str(error), 413)(scope, receive, send)
                    return
            elif scope["method"] not in ("GET", "HEAD"):
                body = await _whole_body(receive, _limit(scope))
                if refusal := self._refused_body(scope, headers, body):
                    await refusal(scope, receive, send)
                    return
                receive = _replay(body or b"", receive)
            await _Exchange(self._app, scope, receive, send).run()

    def _refusal(self, scope: Scope, headers: Headers) -> PlainTextResponse | None:
        host = headers.get("host", "")
        if host not in self._hosts:
            return PlainTextResponse("This server only answers requests to 127.0.0.1 or localhost.", 421)
        site = headers.get("sec-fetch-site", "same-origin")
        if scope["method"] not in ("GET", "HEAD"):
            origin = headers.get("origin")
            if (origin is not None and origin != f"{scope['scheme']}://{host}") or site not in ("same-origin", "none"):
                return PlainTextResponse(_OTHER_PAGES, 403)
        elif site not in ("same-origin", "none") and not _is_visit(scope, headers):
            return PlainTextResponse(_OTHER_PAGES, 403)
        if path_fetches(scope["path"]):
            return PlainTextResponse(_ELSEWHERE, 403)
        length = headers.get("content-length", "0")
        if not length.isdigit() or (int(length) > _limit(scope) and not _is_upload(scope)):
            return PlainTextResponse(_TOO_MUCH, 413)
        return None

    def _refused_body(self, scope: Scope, headers: Headers, body: bytes | None) -> PlainTextResponse | None:
        """Returns the refusal of a body, if any. Gradio reads JSON whatever the content type says; forms are for uploads only."""
        if body is None:
            return PlainTextResponse(_TOO_MUCH, 413)
        if not body or not scope["path"].startswith(_GRADIO):
            return None
        if headers.get("content-type", "").lower().startswith("multipart/"):
            return PlainTextResponse(_ELSEWHERE, 403)
        try:
            return PlainTextResponse(_ELSEWHERE, 403) if names_elsewhere(body, self._hosts) else None
        except ValueError:
            return PlainTextResponse("This request is not JSON.", 400)


class _TooMuchError(Exception):
    pass


class _Exchange:
    """One request and its response."""

    def __init__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        self._app, self._receive, self._send = app, receive, send
        self._is_page = scope["method"] == "GET" and scope["path"] == "/"
        self._nonce = secrets.token_urlsafe(16)
        self._limit = _limit(scope)
        self._received = 0
        self._start: Message | None = None
        self._is_begun = self._is_answered = False
        self._body = b""
        # The page is rewritten, so it must not be compressed.
        headers = [
            (name, value) for name, value in scope["headers"] if not (self._is_page and name == b"accept-encoding")
        ]
        self._scope = {**scope, "headers": headers}

    async def run(self) -> None:
        try:
            await self._app(self._scope, self._counted_receive, self._guarded_send)
        except Exception as error:  # Starlette would log the error's message, which may contain a user's words
            await self._fail(error)

    async def _fail(self, error: Exception) -> None:
        """Logs the error, and sends a short response if none has begun."""
        if not _is_http_refusal(error):
            _log.error("%s %s failed: %s", self._scope["method"], self._scope["path"], location_of(error))
        if self._is_answered:
            return
        if self._is_begun:
            await self._send({"type": "http.response.body", "body": b""})
        elif isinstance(error, _TooMuchError):
            await PlainTextResponse(_TOO_MUCH, 413)(self._scope, self._receive, self._send)
        else:
            response = PlainTextResponse("Something went wrong inside M2A; please try again.", 500)
            await response(self._scope, self._receive, self._send)

    async def _counted_receive(self) -> Message:
        message = await self._receive()
        self._received += len(message.get("body", b""))
        if self._received > self._limit:
            raise _TooMuchError
        return message

    async def _guarded_send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._add_headers(MutableHeaders(scope=message))
            if self._is_page:
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body"):
                return
            body = _FOREIGN.sub(b"", self._body)
            body = _SCRIPT.sub(b'<script nonce="%s"' % self._nonce.encode(), body)
            MutableHeaders(scope=self._start)["content-length"] = str(len(body))
            await self._send(self._start)
            self._start = None
            message = {"type": "http.response.body", "body": body}
        self._is_begun = True
        self._is_answered = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    def _add_headers(self, headers: MutableHeaders) -> None:
        for name in set(headers):  # Gradio lets pages of other local ports read its responses
            if name.lower().startswith("access-control-"):
                del headers[name]
        headers.setdefault("Content-Security-Policy", _policy(self._nonce))
        headers["X-Content-Type-Options"] = "nosniff"
        headers["X-Frame-Options"] = "DENY"
        headers["Referrer-Policy"] = "same-origin"
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        headers["Permissions-Policy"] = "camera=(), microphone=(), geolocation=()"
        if self._is_page:
            headers["Cache-Control"] = "no-store"
        elif self._scope["path"].startswith(_GRADIO):  # answers are streamed here, and no browser may keep them
            headers.setdefault("Cache-Control", "no-store")


def _policy(nonce: str) -> str:
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' 'nonce-{nonce}' 'unsafe-eval'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


def _is_upload(scope: Scope) -> bool:
    return bool(scope["path"].rstrip("/") == UPLOAD_PATH)


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Returns whether the request follows a link from another page."""
    return bool(scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate")


def _limit(scope: Scope) -> int:
    if scope["path"].startswith(f"{TEMPORARY}/"):
        return MAX_PHOTO_BYTES
    return MAX_UPLOAD_BYTES if _is_upload(scope) else MAX_BODY_BYTES


async def _whole_body(receive: Receive, limit: int) -> bytes | None:
    """Returns the body, or None if it is longer than the limit."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if sum(map(len, parts)) > limit:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Returns a receiver of the body that was already read, then of what follows."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again


def _is_http_refusal(error: BaseException | None) -> bool:
    """Returns whether the error began as a plain HTTP refusal such as "not found", which needs no log line."""
    while error is not None:
        if isinstance(error, HTTPException | _TooMuchError):
            return True
        if isinstance(error, BaseExceptionGroup):
            return all(_is_http_refusal(part) for part in error.exceptions)
        error = error.__cause__ or error.__context__
    return False
