"""A tool call in place of a reply, from a model that can only write: the first thing that it writes is a JSON object."""

from collections.abc import Sequence

from models.chat_model import MalformedReplyError, TokenUsage, Tool, ToolCall
from models.json_reply import parse_call

_OPENINGS = ("{", "<tool_call", "```")
_MARKS = ('"tool"', "<tool_call")


class RequestLine:
    """Takes a reply piece by piece and gives back what may be shown; what may be a call is held until it is known.

    Once `call` is set, nothing more of the reply counts.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools
        self._held = ""
        self._is_text = not tools
        self.call: ToolCall | None = None

    def feed(self, piece: str) -> str:
        """The visible text that this piece completes, perhaps none."""
        if self._is_text:
            return piece
        self._held += piece
        begun = self._held.lstrip()
        if begun and not any(opening.startswith(begun) or begun.startswith(opening) for opening in _OPENINGS):
            return self.finish()
        if "}" in piece:
            self._read()
        return ""

    def finish(self) -> str:
        """What was held back and is no call. Raises `MalformedReplyError` for a call that cannot be carried out."""
        if self.call is not None:
            return ""
        if not self._is_text and any(mark in self._held for mark in _MARKS):
            parse_call(self._held, self._tools)
        held, self._held, self._is_text = self._held, "", True
        return held

    def _read(self) -> None:
        try:
            self.call = ToolCall(*parse_call(self._held, self._tools), TokenUsage())
        except MalformedReplyError:
            return
