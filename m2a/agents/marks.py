"""The marks in a reply: `[photo 2]` shows a photo, and `[memory 7]` cites a memory. Users never see the marks."""

import re

_MARK = re.compile(r"[ \t]?\[(photo|memory) (\d{1,9})\]")
_LONGEST = len(" [memory 123456789]")


class MarkReader:
    """Removes the marks from a streamed text, wherever its pieces break, and remembers them."""

    def __init__(self) -> None:
        self._held = ""
        self.photos: list[int] = []
        """The photo numbers in order of first mention."""
        self.memories: list[int] = []
        """The memory ids in order of first mention."""

    def feed(self, piece: str) -> str:
        """Returns the text that can be shown now, and holds back what may be the start of a mark."""
        text = _MARK.sub(self._note, self._held + piece)
        opened = text.rfind("[", -_LONGEST)
        if opened > 0 and text[opened - 1] in " \t":
            opened -= 1
        if opened < 0 and text.endswith((" ", "\t")):
            opened = len(text) - 1
        held_from = opened if opened >= 0 and "]" not in text[opened:] else len(text)
        self._held = text[held_from:]
        return text[:held_from]

    def finish(self) -> str:
        """Returns the text that was held back and is not a mark after all."""
        held, self._held = self._held, ""
        return held

    def _note(self, mark: re.Match[str]) -> str:
        numbers, number = self.photos if mark[1] == "photo" else self.memories, int(mark[2])
        if number not in numbers:
            numbers.append(number)
        return ""
