"""`<think>…</think>` in a reply: what a reasoning model thinks aloud is no part of what it says."""

_OPEN, _CLOSE = "<think>", "</think>"


class ThoughtFilter:
    """Takes a reply piece by piece and gives back what may be shown; a tag may be cut between two pieces.

    Thoughts that never end are dropped at the start of a reply (it was cut off while thinking) and kept as
    they stand after visible text (the model wrote about the tag).
    """

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._shown = False

    def feed(self, piece: str) -> str:
        """The visible text that this piece completes, perhaps none."""
        self._held += piece
        visible = ""
        while True:
            tag = _CLOSE if self._thinking else _OPEN
            before, found, after = self._held.partition(tag)
            if not found:
                break
            if not self._thinking:
                visible += self._show(before)
            self._held, self._thinking = after, not self._thinking
        if not self._thinking:
            keep = _partial_tag(self._held)
            visible += self._show(self._held[: len(self._held) - keep])
            self._held = self._held[len(self._held) - keep :]
        return visible

    def finish(self) -> str:
        """What was held back; call it once, after the last piece."""
        held, self._held = self._held, ""
        if not self._thinking:
            return self._show(held)
        return _OPEN + held if self._shown else ""

    def _show(self, text: str) -> str:
        if not self._shown:
            text = text.lstrip()
            self._shown = bool(text)
        return text


def without_thoughts(text: str) -> str:
    """A whole reply without its thoughts, also where the template had opened them and only `</think>` is seen."""
    opened, closed = text.find(_OPEN), text.find(_CLOSE)
    if closed >= 0 and not 0 <= opened < closed:
        text = text[closed + len(_CLOSE) :]
    thoughts = ThoughtFilter()
    return (thoughts.feed(text) + thoughts.finish()).strip()


def _partial_tag(text: str) -> int:
    """How many characters at the end of the text may be the beginning of `<think>`."""
    return next((n for n in range(min(len(text), len(_OPEN) - 1), 0, -1) if text.endswith(_OPEN[:n])), 0)
