"""One owner's photos, with their captions and what is known of them."""

from collections.abc import Sequence
from pathlib import Path

from m2a.memory import concept_store, kept_back, photo_captions
from m2a.memory.photo_store import PhotoNotFoundError
from m2a.memory.stores import Stores
from m2a.memory.withheld import forgotten_photos
from m2a.types import Message, Photo, Recognition


class PhotoAlbum:
    """Every call blocks, and raises `LookupError` for a photo that is not this owner's, and for one that was forgotten."""

    def __init__(self, owner: str, stores: Stores) -> None:
        self._owner = owner
        self._database = stores.database
        self._store = stores.photos
        self._retrieval = stores.retrieval

    def get(self, photo_id: str) -> Photo:
        self._check(photo_id)
        return self._store.get(self._owner, photo_id)

    def data(self, photo_id: str) -> bytes:
        self._check(photo_id)
        return self._store.data(self._owner, photo_id)

    def path(self, photo_id: str) -> Path:
        self._check(photo_id)
        return self._store.path(self._owner, photo_id)

    def thumbnail(self, photo_id: str) -> bytes:
        self._check(photo_id)
        return self._store.thumbnail(self._owner, photo_id)

    def caption(self, photo_id: str) -> str:
        """The photo's caption, "" where none was made."""
        return self.captions([photo_id]).get(photo_id, "")

    def captions(self, photo_ids: Sequence[str]) -> dict[str, str]:
        """The captions of those photos that have one."""
        if not photo_ids:
            return {}
        with self._database.read(self._owner) as unit:
            return photo_captions.captions_of(unit, photo_ids)

    def set_caption(self, photo_id: str, caption: str, *, captioner_id: str = "unknown") -> None:
        """Keep a photo's caption, "" where there is nothing to say; the messages that show it are found by it."""
        with self._database.write(self._owner) as unit:
            photo_captions.set_caption(unit, photo_id, caption, captioner_id)

    def uncaptioned(self) -> list[str]:
        """The photos that nobody has looked at for a caption yet, the oldest first."""
        with self._database.read(self._owner) as unit:
            return photo_captions.uncaptioned(unit)

    def recognition(self, photo_id: str, shown: Message) -> Recognition:
        """What is known of a photo of the message: which named thing it shows, and when it was shown before."""
        recogniser = self._retrieval().recogniser
        with self._database.read(self._owner) as unit:
            concepts = concept_store.concepts(unit)
        return Recognition(
            recogniser.recognise(self._owner, photo_id, concepts),
            recogniser.shown_at(self._owner, photo_id, shown),
        )

    def as_stored(self, picture: bytes) -> bytes:
        """A picture re-encoded as it would be stored; nothing is. Raises `PhotoRefusedError`."""
        return self._store.decode(picture).data

    def _check(self, photo_id: str) -> None:
        with self._database.read(self._owner) as unit:
            gone = forgotten_photos(unit, [photo_id])
            if gone and not kept_back.has_photo(unit, photo_id):
                raise PhotoNotFoundError(f"There is no photo {photo_id!r}.")
