"""What every request and every response passes: only this machine's own page may talk to the server.

- A page of another site cannot reach it under a name of its own (DNS rebinding): the Host header must be ours.
- A page of another site, or of another local port, cannot make it do something: a request that changes anything and
  names an Origin must name ours. Nor can it read what is answered: no response lets another origin in.
- Bodies have a limit, responses a policy that lets the page load nothing from another host. Gradio's page needs
  `unsafe-eval` (its templates are compiled in the browser) but no inline script: those it ships carry a nonce.
"""

import re
import secrets
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

UPLOAD_PATH = "/gradio_api/upload"
MAX_UPLOAD_BYTES = 200_000_000
MAX_BODY_BYTES = 2_000_000

_SCRIPT = re.compile(rb"<script(?=[\s>])")
# Gradio's template names pictures and fonts of other hosts; nothing of ours needs them.
_FOREIGN = re.compile(rb"<(?:meta|link)\b[^>]*\b(?:content|href)=\"https?://[^\"]*\"[^>]*>")


class LocalGuard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

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
        await _Exchange(self._app, scope, receive, send).run()

    def _refusal(self, scope: Scope, headers: Headers) -> PlainTextResponse | None:
        host = headers.get("host", "")
        if host not in self._hosts:
            return PlainTextResponse("This server answers under its own name alone.", 421)
        if scope["method"] not in ("GET", "HEAD"):
            origin = headers.get("origin")
            if origin is not None and origin != f"{scope['scheme']}://{host}":
                return PlainTextResponse("Requests from other pages are refused.", 403)
            if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return PlainTextResponse("Requests from other pages are refused.", 403)
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > _limit(scope):
            return PlainTextResponse("This is more than M2A takes at once.", 413)
        return None


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
        self._body = b""
        # The page is rewritten, so it must not come compressed.
        kept = [(name, value) for name, value in scope["headers"] if not (self._is_page and name == b"accept-encoding")]
        self._scope = {**scope, "headers": kept}

    async def run(self) -> None:
        try:
            await self._app(self._scope, self._counted_receive, self._guarded_send)
        except _TooMuchError:
            response = PlainTextResponse("This is more than M2A takes at once.", 413)
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
        await self._send(message)

    def _add_headers(self, headers: MutableHeaders) -> None:
        for name in set(headers):  # Gradio lets pages of other local ports read its answers
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


def _limit(scope: Scope) -> int:
    return MAX_UPLOAD_BYTES if scope["path"].rstrip("/") == UPLOAD_PATH else MAX_BODY_BYTES
