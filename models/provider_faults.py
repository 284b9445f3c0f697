"""Explains why a request to a provider failed: a sentence for the user, and what can be done about it."""

import logging
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from models.abilities import Abilities

_RETRIED_STATUS = frozenset({408, 409, 429})
_ANSWERS_NOBODY = frozenset({429, 502, 503, 504})
_ABOUT_TOOLS = re.compile(r"tool|function|response_format|json|schema|grammar|guided|structured|jinja", re.IGNORECASE)
_ABOUT_TEMPERATURE = re.compile(r"temperature", re.IGNORECASE)
_ABOUT_LIMIT = re.compile(r"max_tokens|max_completion_tokens", re.IGNORECASE)
_ABOUT_PHOTOS = re.compile(r"image|vision|multimodal|multi-modal|photo", re.IGNORECASE)
_WINDOW = re.compile(r"(?:context (?:length|window|size)|n_ctx)[^\d.]{0,30}(\d{3,})", re.IGNORECASE)
_PHOTOS_AT_MOST = re.compile(r"at most (\d+) image", re.IGNORECASE)
_QUOTED = 200

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed request. `sentence` is for the user; the other fields say what can be done."""

    sentence: str
    retry: bool = False
    retry_after: float | None = None
    status: int | None = None
    about_tools: bool = False
    about_temperature: bool = False
    about_limit: bool = False
    """The server refuses a limit for the answer, or this limit."""
    about_photos: bool = False
    final: bool = False
    """Asking for the tool in another way would not help."""
    unreachable: bool = False
    """The failure has nothing to do with this request: the server answers nobody."""
    context_window: int | None = None
    """The number of tokens that the model accepts, if the server says so."""
    photos_per_prompt: int | None = None
    """The number of photos that the server accepts, if it says so."""


class FaultError(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.sentence)
        self.fault = fault


@dataclass(frozen=True)
class FaultReader:
    """Interprets the errors of pydantic-ai, the SDKs and the network, for one model at one address."""

    model_name: str
    address: str
    key: SecretStr
    timeout: float

    @property
    def model_at(self) -> str:
        return f"The model {self.model_name!r} at {self.address}"

    def cut(self) -> Fault:
        return Fault(f"{self.model_at} broke off in the middle of its answer; try again.", retry=True)

    def nothing(self) -> Fault:
        return Fault(f"{self.model_at} answered with nothing; try again or choose another model.", retry=True)

    def too_long(self, abilities: Abilities, reply_tokens: int | None) -> Fault:
        """Returns the fault of a reply that was cut off before its answer; without `reply_tokens`, the server set the limit."""
        if reply_tokens is None:
            used, remedies = "all tokens that its server allows", ["raise the limit there"]
        else:
            quarter = abilities.longest_answer
            used = f"all {min(reply_tokens, quarter)} tokens"
            remedies = ["raise M2A_REPLY_TOKENS"] if reply_tokens <= quarter else []
            if reply_tokens >= quarter and abilities.context_window is None:
                used += ", a quarter of the assumed context window,"
                remedies.append("set M2A_CONTEXT_WINDOW")
            elif reply_tokens >= quarter:
                used += ", a quarter of its context window,"
                remedies.append("give it a longer context (M2A_CONTEXT_WINDOW)")
        sentence = f"{self.model_at} used {used} before it reached its answer"
        return Fault(f"{sentence}; {' and '.join(remedies)}, or choose a model that reasons less.", retry=True)

    def of(self, error: Exception, has_photos: bool) -> Fault:
        import httpx2
        from pydantic_ai import exceptions as failed

        where = self.address
        if isinstance(error, failed.ModelContextWindowExceededError):
            words = self._words(error)
            window = _WINDOW.search(words)
            return Fault(
                f"The prompt is longer than {self.model_name!r} at {where} accepts; "
                "set M2A_CONTEXT_WINDOW to what it takes, or serve the model with a longer context.",
                final=True,
                about_limit=bool(_ABOUT_LIMIT.search(words)),
                context_window=int(window[1]) if window else None,
            )
        if isinstance(error, failed.ModelHTTPError):
            return self._status_fault(error, has_photos)
        if isinstance(error, failed.ModelTimeoutError | TimeoutError | httpx2.TimeoutException):
            if getattr(error, "phase", None) == "connect" or isinstance(error, httpx2.ConnectTimeout):
                return Fault(f"Nothing answers at {where}; is the server running there?", retry=True, unreachable=True)
            sentence = (
                f"The server at {where} sent nothing for {self.timeout:g} seconds; it may be stuck. "
                "If it is only slow, raise M2A_CHAT_TIMEOUT."
            )
            return Fault(sentence, retry=True)
        if isinstance(error, failed.ModelConnectionError | httpx2.TransportError | OSError):
            if getattr(error, "phase", None) == "connect" or isinstance(error, httpx2.ConnectError):
                return Fault(f"Cannot connect to {where}; is the server running there?", retry=True, unreachable=True)
            return self.cut()
        if isinstance(error, failed.ModelAPIError) and error.in_stream:
            words = self._words(error)
            about_tools = bool(_ABOUT_TOOLS.search(words))
            return Fault(
                f"{self.model_at} failed{words}; try again later or look at its log.", True, about_tools=about_tools
            )
        if isinstance(error, failed.UserError):
            return Fault(f"{self.model_at} cannot take this request{self._words(error)}.", final=True)
        if not isinstance(error, failed.AgentRunError):
            # A bug in the SDK or in M2A looks the same, so its place is logged, but not its message, which may contain the key.
            place = traceback.extract_tb(error.__traceback__)[-1]
            _log.warning(
                "%s at %s:%s, while reading the answer of %s.",
                type(error).__name__,
                place.filename,
                place.lineno,
                where,
            )
        return Fault(
            f"The answer from {where} is not a chat completion; check that it is the address of an OpenAI-compatible "
            "server (M2A_CHAT_BASE_URL, which usually ends in /v1).",
            retry=True,
        )

    def _status_fault(self, error: Any, has_photos: bool) -> Fault:
        from pydantic_ai import exceptions as failed

        status, where, words = error.status_code, self.address, self._words(error)
        about_tools = bool(_ABOUT_TOOLS.search(words))
        about_photos = has_photos and bool(_ABOUT_PHOTOS.search(words))
        if status in (401, 403):
            sentence = f"The server at {where} refuses the key ({status}); set M2A_CHAT_API_KEY to one that may use this model."
            return Fault(sentence, status=status, final=True, unreachable=True)
        if isinstance(error, failed.ModelQuotaExceededError):
            sentence = f"The account at {where} has no quota left ({status}){words}."
            return Fault(sentence, status=status, final=True, unreachable=True)
        if status == 404 and not about_tools:
            if "model" in words.lower():
                sentence = f"The server at {where} has no model {self.model_name!r}; check M2A_CHAT_MODEL{words}."
            else:
                sentence = f"There is no chat server at {where} (404); M2A_CHAT_BASE_URL usually ends in /v1{words}."
            return Fault(sentence, status=status, final=True, unreachable=True)
        if status in _RETRIED_STATUS or status >= 500:
            if status == 429:
                sentence = (
                    f"The server at {where} accepts no more requests at the moment (429); try again later{words}."
                )
            else:
                sentence = f"{self.model_at} failed ({status}); try again later or look at its log{words}."
            return Fault(
                sentence,
                status != 501,
                error.retry_after,
                status,
                about_tools,
                about_photos=about_photos,
                unreachable=status in _ANSWERS_NOBODY,
            )
        sentence = f"{self.model_at} refuses the request ({status}){words}."
        if about_photos:
            sentence += " If it sees no photos, set M2A_CHAT_SEES_PHOTOS=false."
        at_most = _PHOTOS_AT_MOST.search(words)
        return Fault(
            sentence,
            status=status,
            about_tools=about_tools,
            about_temperature=bool(_ABOUT_TEMPERATURE.search(words)),
            about_limit=bool(_ABOUT_LIMIT.search(words)),
            about_photos=about_photos,
            photos_per_prompt=int(at_most[1]) if at_most else None,
        )

    def _words(self, error: Any) -> str:
        """Returns the server's message as the end of a sentence: short, on one line and without the key."""
        body = getattr(error, "body", None)
        while isinstance(body, Mapping):
            body = body.get("error") or body.get("message") or body.get("detail")
        message = " ".join(str(body or "").split()).rstrip(".")
        if key := self.key.get_secret_value():
            message = message.replace(key, "***")
        if not message or message.startswith("<"):
            return ""
        return f": {message if len(message) <= _QUOTED else message[:_QUOTED] + '…'}"
