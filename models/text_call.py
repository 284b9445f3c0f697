"""Detects a tool call instead of a reply from a model without tool calls: its text starts with a JSON object."""

from collections.abc import Sequence

from models.chat_model import MalformedReplyError, TokenUsage, Tool, ToolCall
from models.json_reply import parse_call

_OPENINGS = ("{", "<tool_call", "```")
_MARKS = ('"tool"', "<tool_call")


class TextCallDetector:
    """Takes a reply piece by piece and returns the text to show. What may be a call is held back until that is certain.

    Once `call` is set, the rest of the reply does not count.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools
        self._held = ""
        self._is_text = not tools
        self.call: ToolCall | None = None

    def feed(self, piece: str) -> str:
        """Returns the visible text that this piece completes, which may be empty."""
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
        """Returns the text that was held back and is not a call. Raises `MalformedReplyError` for an invalid call."""
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
