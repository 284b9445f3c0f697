"""A few words about a photo."""

from typing import Protocol


class Captioner(Protocol):
    captioner_id: str

    async def caption(self, photo: bytes) -> str:
        """A short caption of an encoded photo, or "" where nothing can be said. A guess is worded as one."""
        ...
