"""PhotoStore: one row, one outbox row and one pair of files a photo, whatever happens in between."""

import io
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from PIL import Image
from sqlalchemy import delete, select

from m2a.memory import schema
from m2a.memory.database import Database
from m2a.memory.photo_decoder import PhotoRefusedError
from m2a.memory.photo_store import PhotoAudit, PhotoDamagedError, PhotoNotFoundError, PhotoStore
from tests.hostile_photos import encode, picture

# For tests of pixels and files, where it does not matter which database holds the row.
on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
OWNER, OTHER = "a" * 32, "b" * 32
CLEAN = PhotoAudit((), (), (), ())
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class _Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def store(database: Database, tmp_path: Path, clock: _Clock) -> PhotoStore:
    return PhotoStore(database, tmp_path / "photos", clock)


@pytest.fixture
def jpeg() -> bytes:
    return encode(picture(Random(1), 800, 600), "JPEG")


def _rows(database: Database) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    outbox = schema.outbox.c
    with database.snapshot() as connection:
        photos = connection.execute(select(schema.photo.c.owner, schema.photo.c.photo_id)).all()
        records = connection.execute(select(outbox.owner, outbox.record, outbox.record_id)).all()
    return [tuple(row) for row in photos], [tuple(row) for row in records]


def test_a_photo_comes_back_as_it_was_stored(store: PhotoStore, database: Database, jpeg: bytes) -> None:
    photo = store.add(OWNER, jpeg)
    assert (photo.owner, photo.media_type, photo.width, photo.height) == (OWNER, "image/jpeg", 800, 600)
    assert photo.added_at == NOON
    assert store.get(OWNER, photo.photo_id) == photo
    assert store.path(OWNER, photo.photo_id).read_bytes() == store.data(OWNER, photo.photo_id)
    assert len(store.data(OWNER, photo.photo_id)) == photo.size
    assert store.image(OWNER, photo.photo_id).size == (800, 600)
    assert _size(store.thumbnail(OWNER, photo.photo_id)) == (320, 240)
    assert _rows(database) == ([(OWNER, photo.photo_id)], [(OWNER, "photo", photo.photo_id)])


def test_the_same_photo_is_stored_once(store: PhotoStore, database: Database, clock: _Clock, jpeg: bytes) -> None:
    first = store.add(OWNER, jpeg)
    clock.now += timedelta(days=1)
    assert store.add(OWNER, jpeg) == first
    assert store.add(OWNER, jpeg + b"another tail") == first
    assert len(_rows(database)[0]) == len(_rows(database)[1]) == 1
    assert store.add(OTHER, jpeg).photo_id == first.photo_id
    assert store.path(OTHER, first.photo_id) != store.path(OWNER, first.photo_id)
    assert len(_rows(database)[0]) == 2


@on_sqlite
def test_the_same_pixels_are_the_same_photo_in_every_lossless_format(store: PhotoStore) -> None:
    grey = picture(Random(2)).convert("L").quantize(32).convert("L")
    forms = [
        encode(grey, "PNG"),
        encode(grey.convert("RGB"), "PNG"),
        encode(grey.convert("RGBA"), "PNG"),
        encode(grey.quantize(32), "PNG"),
        encode(grey.convert("RGB"), "WEBP", lossless=True),
        encode(grey.convert("RGB"), "PNG", compress_level=0, dpi=(300, 300)),
    ]
    assert len({store.add(OWNER, form).photo_id for form in forms}) == 1


@on_sqlite
@pytest.mark.parametrize(("image_format", "orientations"), [("JPEG", range(1, 9)), ("PNG", [6]), ("WEBP", [6])])
def test_a_photo_is_stored_upright(store: PhotoStore, image_format: str, orientations: Sequence[int]) -> None:
    upright = Image.new("RGB", (80, 40), "white")
    upright.paste("red", (0, 0, 40, 20))
    turns = Image.Transpose
    back = {
        2: turns.FLIP_LEFT_RIGHT,
        3: turns.ROTATE_180,
        4: turns.FLIP_TOP_BOTTOM,
        5: turns.TRANSPOSE,
        6: turns.ROTATE_90,
        7: turns.TRANSVERSE,
        8: turns.ROTATE_270,
    }
    for orientation in orientations:
        exif = Image.Exif()
        exif[0x0112] = orientation
        as_taken = upright.transpose(back[orientation]) if orientation in back else upright
        photo = store.add(OWNER, encode(as_taken, image_format, exif=exif.tobytes()))
        stored = store.image(OWNER, photo.photo_id)
        assert stored.size == (80, 40), orientation
        corners = [stored.getpixel(at) for at in ((5, 5), (75, 5), (5, 35), (75, 35))]
        assert [_is_red(corner) for corner in corners] == [True, False, False, False], orientation


def _is_red(pixel: object) -> bool:
    assert isinstance(pixel, tuple)
    return bool(pixel[0] > 200 and pixel[1] < 60)


@on_sqlite
def test_every_mode_keeps_its_brightness(store: PhotoStore) -> None:
    dark_and_light = Image.new("L", (64, 32), 0)
    dark_and_light.paste(255, (32, 0, 64, 32))
    images = [dark_and_light.convert("RGB").convert(mode) for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK")]
    images.append(dark_and_light.convert("I").point(lambda value: value * 257).convert("I;16"))
    for image in images:
        photo = store.add(OWNER, encode(image, "JPEG" if image.mode == "CMYK" else "PNG"))
        stored = store.image(OWNER, photo.photo_id).convert("L")
        left, right = stored.getpixel((10, 16)), stored.getpixel((54, 16))
        assert isinstance(left, int) and isinstance(right, int)
        assert left < 40 and right > 225, image.mode


@on_sqlite
def test_transparent_parts_become_white(store: PhotoStore) -> None:
    clear = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
    for data in (encode(clear, "PNG"), encode(clear, "WEBP"), encode(Image.new("P", (40, 40)), "GIF", transparency=0)):
        pixel = store.image(OWNER, store.add(OWNER, data).photo_id).getpixel((20, 20))
        assert isinstance(pixel, tuple) and min(pixel) > 250


@on_sqlite
def test_colours_are_converted_to_srgb(store: PhotoStore) -> None:
    """By the profile of a camera that swaps red and blue: were it only dropped, the colours would stay swapped."""
    from PIL import ImageCms

    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    red, blue = profile.index(b"rXYZ"), profile.index(b"bXYZ")
    profile[red : red + 4], profile[blue : blue + 4] = b"bXYZ", b"rXYZ"
    photo = store.add(OWNER, encode(Image.new("RGB", (32, 32), "blue"), "PNG", icc_profile=bytes(profile)))
    pixel = store.image(OWNER, photo.photo_id).getpixel((16, 16))
    assert isinstance(pixel, tuple) and pixel[0] > 240 and pixel[2] < 20


@on_sqlite
def test_a_large_photo_is_stored_with_4096_pixels_a_side(store: PhotoStore) -> None:
    photo = store.add(OWNER, encode(Image.new("RGB", (6_000, 3_000), "teal"), "JPEG"))
    assert (photo.width, photo.height) == (4_096, 2_048)
    twelve = store.add(OWNER, encode(Image.new("RGB", (4_032, 3_024), "teal"), "JPEG"))
    assert (twelve.width, twelve.height) == (4_032, 3_024)


@on_sqlite
def test_a_photo_of_pure_noise_stays_within_ten_megabytes(store: PhotoStore) -> None:
    noise = Image.frombytes("RGB", (4_096, 4_096), Random(3).randbytes(3 * 4_096**2))
    photo = store.add(OWNER, encode(noise, "JPEG", quality=60))
    assert 3_000_000 < photo.size <= 10_000_000


@on_sqlite
def test_what_is_not_there_is_not_found(store: PhotoStore, jpeg: bytes) -> None:
    photo_id = store.add(OWNER, jpeg).photo_id
    for method in (store.get, store.path, store.data, store.thumbnail, store.image):
        for owner, requested_id in (
            (OTHER, photo_id),
            (OWNER, "0" * 64),
            (OWNER, "../" + photo_id),
            (OWNER, photo_id.upper()),
        ):
            with pytest.raises(PhotoNotFoundError):
                method(owner, requested_id)


@on_sqlite
@pytest.mark.parametrize("owner", ["", "..", "a" * 31, "A" * 32, "a" * 32 + "\n", "../" + "a" * 29, "bob"])
def test_an_owner_is_a_key_of_ours(store: PhotoStore, jpeg: bytes, owner: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not an owner key"):
        store.add(owner, jpeg)
    with pytest.raises(ValueError, match="is not an owner key"):
        store.remove_files(owner, [])
    assert not (tmp_path / "photos").exists()


def test_a_photo_is_written_within_the_callers_transaction(
    store: PhotoStore, database: Database, jpeg: bytes, tmp_path: Path
) -> None:
    photo = store.write_blob(OWNER, jpeg)
    assert _rows(database) == ([], [])
    with pytest.raises(RuntimeError), database.write(OWNER) as unit:
        store.insert(unit, photo)
        raise RuntimeError("the message could not be recorded")
    assert _rows(database) == ([], [])
    assert {path.name for path in store.audit().files_without_row} == {
        f"{photo.photo_id}.jpg",
        f"{photo.photo_id}.thumbnail.jpg",
    }
    with database.write(OWNER) as unit:
        assert store.insert(unit, photo) == store.insert(unit, photo) == photo
    assert len(_rows(database)[0]) == len(_rows(database)[1]) == 1
    assert store.audit() == CLEAN


def test_a_crash_before_the_row_leaves_files_that_repair_removes(
    store: PhotoStore, database: Database, jpeg: bytes, tmp_path: Path
) -> None:
    kept = store.add(OWNER, jpeg)
    lost = store.write_blob(OWNER, encode(picture(Random(9)), "PNG"))
    unfinished = tmp_path / "photos" / OWNER / "0123456789abcdef.part"
    unfinished.write_bytes(b"half a photo")
    assert len(store.audit().files_without_row) == 2  # it may still be being written
    os.utime(unfinished, (0, 0))
    assert unfinished in store.audit().files_without_row
    assert store.remove_unreferenced() == 3
    assert store.audit() == CLEAN
    assert store.data(OWNER, kept.photo_id)
    assert not unfinished.exists()
    with pytest.raises(PhotoDamagedError, match="add the photo again"), database.write(OWNER) as unit:
        store.insert(unit, lost)


def test_repair_leaves_the_file_of_a_photo_that_is_being_recorded(
    store: PhotoStore, database: Database, jpeg: bytes, tmp_path: Path
) -> None:
    """Repair sees the file without a row, waits for the write lock, and looks again."""
    photo = store.write_blob(OWNER, jpeg)
    inserted, seen = threading.Event(), threading.Event()

    def record() -> None:
        with database.write(OWNER) as unit:
            store.insert(unit, photo)
            inserted.set()
            seen.wait(10)

    recorder = threading.Thread(target=record)
    recorder.start()
    assert inserted.wait(10)
    assert len(store.audit().files_without_row) == 2
    removed: list[int] = []
    repair = threading.Thread(target=lambda: removed.append(store.remove_unreferenced()))
    repair.start()
    repair.join(0.3)
    assert repair.is_alive()
    seen.set()
    recorder.join()
    repair.join()
    assert removed == [0]
    assert store.data(OWNER, photo.photo_id)


@on_sqlite
def test_damage_is_found_told_and_healed_by_sending_the_photo_again(store: PhotoStore, jpeg: bytes) -> None:
    damaged = store.add(OWNER, jpeg)
    missing = store.add(OWNER, encode(picture(Random(8)), "PNG"))
    path = store.path(OWNER, damaged.photo_id)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    store.path(OWNER, missing.photo_id).unlink()
    audit = store.audit()
    assert audit.rows_with_damaged_file == ((OWNER, damaged.photo_id),)
    assert audit.rows_without_file == ((OWNER, missing.photo_id),)
    for method in (store.data, store.image):
        for photo in (damaged, missing):
            with pytest.raises(PhotoDamagedError, match="send the photo again"):
                method(OWNER, photo.photo_id)
    assert store.add(OWNER, jpeg) == damaged
    assert store.add(OWNER, encode(picture(Random(8)), "PNG")) == missing
    assert store.audit() == CLEAN


def _size(photo: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(photo)).size


@on_sqlite
@pytest.mark.parametrize("unsealed", [False, True])
def test_a_thumbnail_that_is_missing_or_altered_is_made_again(
    store: PhotoStore, jpeg: bytes, tmp_path: Path, unsealed: bool
) -> None:
    photo = store.add(OWNER, jpeg)
    [path] = (tmp_path / "photos").rglob("*.thumbnail.jpg")
    other = store.add(OTHER, encode(picture(Random(8), 800, 600), "JPEG"))
    another = store.thumbnail(OTHER, other.photo_id)
    path.unlink()
    thumbnail = store.thumbnail(OWNER, photo.photo_id)
    assert _size(thumbnail) == (320, 240) and path.exists() and thumbnail != another
    # Of an M2A that sealed none; and another's, seal and all.
    path.write_bytes(another if unsealed else next(path.parent.parent.glob(f"{OTHER}/*.thumbnail.jpg")).read_bytes())
    assert (store.audit() == CLEAN) is unsealed
    assert store.thumbnail(OWNER, photo.photo_id) == thumbnail
    assert store.audit() == CLEAN


def _link_to(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link_the_folder(path: Path) -> None:
    """Moves the folder, and leaves a link to it in its place."""
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.symlink_to(path.parent.with_name("elsewhere"))


def _copy(path: Path) -> None:
    copy = path.parent.parent / "copy"
    copy.write_bytes(path.read_bytes())
    _link_to(path, copy)


REPLACED = {
    "a link to another file": lambda path: _link_to(path, Path("/etc/passwd")),
    "a link to itself": lambda path: _link_to(path, path),
    "a link to a copy": _copy,
    "a pipe": _pipe,
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "its folder by a link": _link_the_folder,
}


@on_sqlite
@pytest.mark.parametrize("fault", REPLACED)
def test_what_lies_in_a_photos_place_is_not_followed(
    store: PhotoStore, jpeg: bytes, tmp_path: Path, fault: str
) -> None:
    photo = store.add(OWNER, jpeg)
    REPLACED[fault](store.path(OWNER, photo.photo_id))
    for method in (store.data, store.image):
        with pytest.raises(PhotoDamagedError, match="send the photo again"):
            method(OWNER, photo.photo_id)
    assert store.audit().rows_with_damaged_file == ((OWNER, photo.photo_id),)


@on_sqlite
def test_files_go_only_with_their_rows(store: PhotoStore, database: Database, jpeg: bytes, tmp_path: Path) -> None:
    photo_id = store.add(OWNER, jpeg).photo_id
    store.add(OTHER, jpeg)
    store.remove_files(OWNER, [photo_id])
    assert store.data(OWNER, photo_id)
    with database.transaction() as connection:
        connection.execute(delete(schema.photo).where(schema.photo.c.owner == OWNER))
    store.remove_files(OWNER, [photo_id, "../" + OTHER + "/" + photo_id])
    assert not list((tmp_path / "photos" / OWNER).iterdir())
    assert store.data(OTHER, photo_id)
    assert store.audit() == CLEAN


@on_sqlite
@pytest.mark.parametrize("step", ["file", "fsync", "rename"])
def test_a_full_disk_leaves_nothing_behind(
    store: PhotoStore, database: Database, jpeg: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    opens = os.open

    def full(path: object, *rest: Any, **named: Any) -> int:
        if step != "file" or str(path).endswith(".part"):
            raise OSError(28, "No space left on device")
        return opens(path, *rest, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        target, name = {"file": (os, "open"), "fsync": (os, "fsync"), "rename": (os, "replace")}[step]
        patch.setattr(target, name, full)
        with pytest.raises(OSError, match="No space left"):
            store.add(OWNER, jpeg)
    assert _rows(database) == ([], [])
    assert not list((tmp_path / "photos").rglob("*.*"))
    assert store.add(OWNER, jpeg).width == 800


def test_many_threads_add_the_same_and_other_photos(store: PhotoStore, database: Database) -> None:
    uploads = [encode(picture(Random(number % 4)), "PNG") for number in range(12)]
    ids: list[str] = []
    threads = [
        threading.Thread(target=lambda data=data: ids.append(store.add(OWNER, data).photo_id)) for data in uploads
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 12 and len(set(ids)) == 4
    assert len(_rows(database)[0]) == len(_rows(database)[1]) == 4
    assert store.audit() == CLEAN


def test_a_kill_at_any_moment_leaves_whole_photos_only(tmp_path: Path) -> None:
    """Three kill -9 while another process adds photos: each acknowledged one is there, each file has a row after repair."""
    database = Database(f"sqlite:///{tmp_path / 'killed.db'}")
    program = f"""
import sys, random
from datetime import UTC, datetime
from pathlib import Path
from m2a.memory.database import Database
from m2a.memory.photo_store import PhotoStore
from tests.hostile_photos import encode, picture
store = PhotoStore(Database("sqlite:///{tmp_path / "killed.db"}"), Path("{tmp_path / "photos"}"), lambda: datetime.now(UTC))
rng = random.Random(int(sys.argv[1]))
while True:
    print(store.add("{OWNER}", encode(picture(rng), "PNG")).photo_id, flush=True)
"""
    acknowledged: set[str] = set()
    for trial in range(3):
        with subprocess.Popen([sys.executable, "-c", program, str(trial)], stdout=subprocess.PIPE, text=True) as adder:
            assert adder.stdout is not None
            acknowledged.add(adder.stdout.readline().strip())
            threading.Event().wait(Random(trial).uniform(0, 0.25))
            adder.kill()
            acknowledged.update(line.strip() for line in adder.stdout if line.endswith("\n"))
    store = PhotoStore(database, tmp_path / "photos", lambda: NOON)
    for unfinished in (tmp_path / "photos").rglob("*.part"):
        os.utime(unfinished, (0, 0))
    assert not store.audit().rows_without_file and not store.audit().rows_with_damaged_file
    store.remove_unreferenced()
    assert store.audit() == CLEAN
    photos, records = _rows(database)
    assert acknowledged <= {str(photo_id) for _, photo_id in photos}
    assert len(acknowledged) >= 3
    assert {photo_id for _, photo_id in photos} == {photo_id for _, _, photo_id in records}
    for _, photo_id in photos:
        assert store.image(OWNER, str(photo_id)).size == (240, 180)
    database.close()


@on_sqlite
@pytest.mark.skipif(sys.platform != "linux", reason="Counts descriptors in /proc.")
def test_no_descriptor_and_no_process_is_left_behind(store: PhotoStore, jpeg: bytes) -> None:
    store.add(OWNER, jpeg)
    before = len(os.listdir("/proc/self/fd"))
    children = _children()
    for _ in range(3):
        store.add(OWNER, jpeg)
        with pytest.raises(PhotoRefusedError):
            store.add(OWNER, jpeg[:3_000])
    assert len(os.listdir("/proc/self/fd")) == before
    assert _children() <= children


def _children() -> set[str]:
    """Every child of this process, those that other tests started among them."""
    return {
        child
        for thread in Path("/proc/self/task").iterdir()
        for child in (thread / "children").read_text(encoding="ascii").split()
    }


def test_importing_the_decoder_costs_no_pillow() -> None:
    program = "import sys, m2a.memory.photo_store; print([name for name in sys.modules if name.startswith('PIL')])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@on_sqlite
def test_heic_is_read_with_the_extra_and_explained_without(store: PhotoStore) -> None:
    try:
        import pillow_heif
    except ImportError:
        with pytest.raises(PhotoRefusedError, match=r"`m2a doctor` says how.*export it as a JPEG"):
            store.add(OWNER, b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(200))
        return
    pillow_heif.register_heif_opener()
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "M2A-MARKER"
    data = encode(Image.new("RGB", (80, 40), "red"), "HEIF", exif=exif.tobytes())
    photo = store.add(OWNER, data)
    assert (photo.width, photo.height) == (40, 80)
    assert b"M2A-MARKER" not in store.data(OWNER, photo.photo_id)


@on_sqlite
def test_the_decoder_runs_under_an_asyncio_server(store: PhotoStore, jpeg: bytes) -> None:
    """As the app calls it: from worker threads of a running loop."""
    import asyncio

    async def serve() -> list[str]:
        photos = await asyncio.gather(*(asyncio.to_thread(store.add, OWNER, jpeg) for _ in range(4)))
        return [photo.photo_id for photo in photos]

    assert len(set(asyncio.run(serve()))) == 1
