"""Removes the thoughts of reasoning models (`<think>…</think>`) from replies."""

_OPEN, _CLOSE = "<think>", "</think>"


class ThoughtFilter:
    """Takes a reply piece by piece and returns the text to show. A tag may be split between two pieces.

    Thoughts that never end are dropped at the start of a reply, which was cut off while thinking, but kept after visible text,
    where the model just wrote about the tag. `begins_thinking` is for models whose template already opens the thoughts, so that
    the reply begins inside them. If this was not known, `met_lone_end` reports it afterwards; text before the lone `</think>`
    that was already shown cannot be taken back.
    """

    def __init__(self, *, begins_thinking: bool = False) -> None:
        self._held = ""
        self._thinking = begins_thinking
        self._shown = False
        self._unopened = begins_thinking
        self.met_lone_end = False

    def feed(self, piece: str) -> str:
        """Returns the visible text that this piece completes, which may be empty."""
        self._held += piece
        visible = ""
        while True:
            opened, closed = self._held.find(_OPEN), self._held.find(_CLOSE)
            if closed >= 0 and (self._thinking or not 0 <= opened < closed):
                self.met_lone_end = self.met_lone_end or not self._thinking
                if not self._thinking:
                    visible, self._shown = "", False
                self._unopened = False
                self._held, self._thinking = self._held[closed + len(_CLOSE) :], False
            elif opened >= 0 and not self._thinking:
                visible += self._show(self._held[:opened])
                self._held, self._thinking = self._held[opened + len(_OPEN) :], True
            else:
                break
        if not self._thinking:
            keep = _partial_tag(self._held)
            visible += self._show(self._held[: len(self._held) - keep])
            self._held = self._held[len(self._held) - keep :]
        return visible

    def finish(self, *, cut_off: bool = False) -> str:
        """Returns the text that was held back. Call it once, at the end. `cut_off` is whether the reply hit its limit."""
        held, self._held = self._held, ""
        if not self._thinking or (self._unopened and not cut_off):
            return self._show(held)
        return _OPEN + held if self._shown else ""

    def _show(self, text: str) -> str:
        if not self._shown:
            text = text.lstrip()
            self._shown = bool(text)
        return text


def without_thoughts(text: str) -> str:
    """Returns a whole reply without its thoughts, also if the template opened them and the text contains only `</think>`."""
    thoughts = ThoughtFilter()
    return (thoughts.feed(text) + thoughts.finish()).strip()


def has_lone_end(text: str) -> bool:
    """Returns whether the text ends thoughts that it did not begin."""
    thoughts = ThoughtFilter()
    thoughts.feed(text)
    return thoughts.met_lone_end


def _partial_tag(text: str) -> int:
    """Returns the number of characters at the end of the text that may be the beginning of a tag."""
    longest = min(len(text), len(_CLOSE) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith((_OPEN[:n], _CLOSE[:n]))), 0)
