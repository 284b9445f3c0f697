"""One owner's photos, with their captions and what is recognised in them."""

from collections.abc import Collection, Sequence
from pathlib import Path

from m2a.memory import concept_store, kept_back, photo_captions
from m2a.memory.photo_store import PhotoNotFoundError
from m2a.memory.stores import Stores
from m2a.memory.withheld import forgotten_photos
from m2a.types import Message, Photo, Recognition


class PhotoAlbum:
    """The photos of one owner. Every call blocks; raises `LookupError` for another owner's photo or a forgotten one."""

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
        """Returns the photo's caption, or "" if it has none."""
        return self.captions([photo_id]).get(photo_id, "")

    def captions(self, photo_ids: Sequence[str]) -> dict[str, str]:
        """Returns, by photo id, the captions of the photos that have one."""
        if not photo_ids:
            return {}
        with self._database.read(self._owner) as unit:
            return photo_captions.captions_of(unit, photo_ids)

    def set_caption(self, photo_id: str, caption: str, *, captioner_id: str = "unknown") -> None:
        """Stores a photo's caption, which may be empty, and has the messages that show the photo indexed with it."""
        with self._database.write(self._owner) as unit:
            photo_captions.set_caption(unit, photo_id, caption, captioner_id)

    def uncaptioned(self) -> list[str]:
        """Returns the ids of the photos that were never captioned, oldest first."""
        with self._database.read(self._owner) as unit:
            return photo_captions.uncaptioned(unit)

    def recognition(self, photo_id: str, shown: Message) -> Recognition:
        """Returns which named thing a photo of the message shows, and when the photo was shown before."""
        recogniser = self._retrieval().recogniser
        with self._database.read(self._owner) as unit:
            concepts = concept_store.concepts(unit)
        return Recognition(
            recogniser.recognise(self._owner, photo_id, concepts),
            recogniser.shown_at(self._owner, photo_id, shown),
        )

    def as_stored(self, picture: bytes) -> bytes:
        """Returns a picture re-encoded as for storage, without storing it. Raises `PhotoRefusedError`."""
        return self._store.decode(picture).data

    def forgotten(self, photo_ids: Collection[str]) -> set[str]:
        """Returns those of the photos that are forgotten: they are stored, and every other call refuses them."""
        with self._database.read(self._owner) as unit:
            return {
                photo_id for photo_id in forgotten_photos(unit, photo_ids) if not kept_back.has_photo(unit, photo_id)
            }

    def _check(self, photo_id: str) -> None:
        if self.forgotten([photo_id]):
            raise PhotoNotFoundError(f"There is no photo {photo_id!r}.")
