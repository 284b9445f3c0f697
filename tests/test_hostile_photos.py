"""300 hostile or broken photos, and decoders that die, hang or lie: a clear refusal, or a photo without what came with it."""

import random
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
from PIL import Image
from sqlalchemy import func, select

from m2a.memory import photo_decoder_child, schema
from m2a.memory.database import Database
from m2a.memory.photo_decoder import PhotoDecoder, PhotoRefusedError, bare_jpeg_size
from m2a.memory.photo_store import PhotoAudit, PhotoStore
from tests.hostile_photos import MARKERS, HostilePhoto, corpus, encode, picture

OWNER = "0" * 32
CLEAN = PhotoAudit((), (), (), ())


def _clock() -> datetime:
    return datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path / 'memory.db'}")
    yield database
    database.close()


@pytest.fixture(scope="module")
def photos() -> list[HostilePhoto]:
    return list(corpus())


class _PeakMemory:
    """How much this process has grown at its largest while the block ran, in bytes."""

    def __enter__(self) -> "_PeakMemory":
        self._process, self._stop = psutil.Process(), threading.Event()
        self._before = self._peak = self._process.memory_info().rss
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self._peak = max(self._peak, self._process.memory_info().rss)

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.growth = self._peak - self._before


def _assert_is_clear(sentence: str) -> None:
    """One sentence, or two short ones, that say what is wrong and what to do; no class name, no path, no bytes."""
    assert 30 < len(sentence) < 260
    assert sentence[0].isupper() and sentence.endswith(".") and sentence.isprintable()
    assert any(word in sentence for word in ("send", "JPEG")), sentence
    assert not any(word in sentence for word in ("Error", "Traceback", "PIL", "0x", "{", "/"))


def test_every_hostile_photo_is_refused_clearly_or_stored_bare(
    photos: list[HostilePhoto], database: Database, tmp_path: Path
) -> None:
    assert len(photos) >= 300 and len({photo.name for photo in photos}) == len(photos)
    store = PhotoStore(database, tmp_path / "photos", _clock)

    def add(photo: HostilePhoto) -> tuple[str, str, float]:
        began = time.monotonic()
        try:
            outcome, text = "stored", store.add(OWNER, photo.data).photo_id
        except PhotoRefusedError as refusal:
            outcome, text = "refused", str(refusal)
        return outcome, text, time.monotonic() - began

    began = time.monotonic()
    with _PeakMemory() as memory, ThreadPoolExecutor(2) as pool:
        results = list(pool.map(add, photos))
    elapsed = time.monotonic() - began

    counts: dict[str, Counter[str]] = {}
    for photo, (outcome, text, _) in zip(photos, results, strict=True):
        counts.setdefault(photo.group, Counter())[outcome] += 1
        assert photo.expected in (outcome, "either"), (photo.name, outcome, text)
        if outcome == "refused":
            _assert_is_clear(text)
            continue
        thumbnail = store.thumbnail(OWNER, text)
        for stored in (store.data(OWNER, text), thumbnail):
            assert not any(marker in stored for marker in MARKERS), photo.name
            assert bare_jpeg_size(stored) > (0, 0)
    ids = {text for outcome, text, _ in results if outcome == "stored"}
    with database.snapshot() as connection:
        assert set(connection.scalars(select(schema.photo.c.photo_id))) == ids
        assert connection.scalar(select(func.count()).select_from(schema.outbox)) == len(ids)
    assert {path.name.partition(".")[0] for path in (tmp_path / "photos" / OWNER).iterdir()} == ids
    assert store.audit() == CLEAN
    slowest = max(zip(photos, results, strict=True), key=lambda pair: pair[1][2])

    print(
        f"\n{len(photos)} hostile photos in {elapsed:.1f} s, this process grew by {memory.growth / 1e6:.0f} MB at most"
    )
    print(f"slowest: {slowest[0].name}, {slowest[1][2]:.1f} s, {slowest[1][0]}")
    for group, outcomes in counts.items():
        print(f"  {group:22} {outcomes['refused']:4} refused {outcomes['stored']:4} stored")
    refusals = Counter(text.split(";")[0].split(":")[0][:70] for outcome, text, _ in results if outcome == "refused")
    for text, count in refusals.most_common():
        print(f"  {count:4} × {text}")
    assert memory.growth < 50_000_000


_REPLY = """
import json, os, signal, struct, sys, time
out = sys.stdout.buffer

def reply(header, *bodies):
    text = json.dumps(header).encode()
    out.write(b"M2AP" + struct.pack(">I", len(text)) + text + b"".join(bodies))
    out.flush()

"""

_EVIL_CHILDREN = {
    "killed while reading": "sys.stdin.buffer.read(1000); os.kill(os.getpid(), signal.SIGKILL)",
    "segmentation fault": "sys.stdin.buffer.read(); os.kill(os.getpid(), signal.SIGSEGV)",
    "ends without a word": "sys.stdin.buffer.read()",
    "raises": "raise RuntimeError('no decoder')",
    "half a header": 'out.write(b"M2AP\\0\\0")',
    "half a reply": 'reply({"photo": 5000, "thumbnail": 5000}, b"x" * 6000)',
    "killed amid the reply": 'out.write(b"M2AP\\0\\0\\0\\x40{"); out.flush(); os.kill(os.getpid(), signal.SIGKILL)',
    "rubbish": "out.write(os.urandom(100_000))",
    "text": 'print("all is well")',
    "2 GB": "[out.write(bytes(1 << 20)) for _ in range(2000)]",
    "2 GB promised": 'reply({"photo": 2 << 30, "thumbnail": 1}, b"x")',
    "header of 4 GB": 'out.write(b"M2AP\\xff\\xff\\xff\\xff" + b" " * 5000)',
    "deep header": 'text = b"[" * 900; out.write(b"M2AP" + struct.pack(">I", 900) + text)',
    "header of lists": 'reply(["photo"])',
    "negative size": 'reply({"photo": -5, "thumbnail": -5}, JPEG)',
    "unknown reason": 'reply({"refused": "<script>"})',
    "reason without size": 'reply({"refused": "side", "width": "x", "height": []})',
    "not a JPEG": 'page = b"<html><script>" * 99; reply({"photo": len(page), "thumbnail": len(page)}, page, page)',
    "JPEG with a comment": 'bad = JPEG[:2] + b"\\xff\\xfe\\0\\x06M2A!" + JPEG[2:]; '
    'reply({"photo": len(bad), "thumbnail": len(JPEG)}, bad, JPEG)',
    "thumbnail with a tail": 'bad = JPEG + b"<script>"; reply({"photo": len(JPEG), "thumbnail": len(bad)}, JPEG, bad)',
    "thumbnail too large": 'reply({"photo": len(BIG), "thumbnail": len(BIG)}, BIG, BIG)',
    "hangs without reading": "time.sleep(60)",
    "hangs after reading": "sys.stdin.buffer.read(); time.sleep(60)",
    "hangs amid the reply": 'out.write(b"M2AP"); out.flush(); time.sleep(60)',
    "leaves a child behind": "os.fork(); sys.stdin.buffer.read(); time.sleep(60)",
    "spins": "while True: pass",
}


@pytest.fixture(scope="module")
def large() -> Image.Image:
    return picture(random.Random(1), 1_000, 800)


@pytest.fixture(scope="module")
def data(large: Image.Image) -> bytes:
    return encode(large, "PNG")


@pytest.fixture(scope="module")
def jpegs(large: Image.Image) -> str:
    return f"JPEG, BIG = {encode(large.resize((99, 99)), 'JPEG')!r}, {encode(large, 'JPEG')!r}\n"


@pytest.mark.parametrize("evil", _EVIL_CHILDREN)
def test_a_decoder_that_dies_hangs_or_lies_gives_a_clean_refusal(
    evil: str, data: bytes, jpegs: str, database: Database, tmp_path: Path
) -> None:
    program = tmp_path / "evil.py"
    program.write_text(_REPLY + jpegs + textwrap.dedent(_EVIL_CHILDREN[evil]))
    folder = tmp_path / "photos"
    hangs = "time.sleep" in _EVIL_CHILDREN[evil] or "while True" in _EVIL_CHILDREN[evil]
    decoder = PhotoDecoder([sys.executable, "-I", str(program)], seconds=0.4 if hangs else 1)
    store = PhotoStore(database, folder, _clock, decoder)
    began = time.monotonic()
    with _PeakMemory() as memory, pytest.raises(PhotoRefusedError) as refusal:
        store.add(OWNER, data)
    assert time.monotonic() - began < 5
    assert memory.growth < 50_000_000
    _assert_is_clear(str(refusal.value))
    assert store.audit() == CLEAN and not list(folder.rglob("*.*"))
    assert not [child for child in psutil.Process().children() if str(program) in child.cmdline()]


def test_a_decoder_killed_from_outside_gives_a_refusal_and_the_next_photo_works(
    database: Database, tmp_path: Path
) -> None:
    """The real child, shot while it waits for its photo by a wrapper that stands in for the kernel's OOM killer."""
    wrapper = "import os, subprocess, sys\nchild = subprocess.Popen(sys.argv[1:])\nchild.kill()\nchild.wait()\n"
    command = [sys.executable, "-I", "-c", wrapper, sys.executable, "-I", photo_decoder_child.__file__]
    data = encode(picture(random.Random(2)), "JPEG")
    with pytest.raises(PhotoRefusedError, match="stopped the decoder"):
        PhotoStore(database, tmp_path / "photos", _clock, PhotoDecoder(command)).add(OWNER, data)
    assert PhotoStore(database, tmp_path / "photos", _clock).add(OWNER, data).width == 240


def test_an_incomplete_pillow_is_not_taken_for_a_damaged_photo() -> None:
    program = (
        "import runpy, sys; sys.modules['PIL.ImageCms'] = None; "
        f"runpy.run_path({photo_decoder_child.__file__!r}, run_name='__main__')"
    )
    with pytest.raises(PhotoRefusedError, match=r"part of Pillow is missing or broken\. Install it again") as refusal:
        PhotoDecoder([sys.executable, "-c", program]).decode(encode(picture(random.Random(2)), "JPEG"))
    assert "damaged" not in str(refusal.value)


def test_a_decoder_that_cannot_be_started_is_a_refusal_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(
        PhotoRefusedError, match=r"cannot start its photo decoder \(No such file or directory\)\. Close"
    ):
        PhotoDecoder([str(tmp_path / "nowhere")]).decode(encode(picture(random.Random(2)), "JPEG"))


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's limits are tested here.")
@pytest.mark.parametrize(
    "attempt",
    [
        'open("/etc/passwd")',
        "socket.socket()",
        "os.pipe()",
        "bytearray(2 << 30)",
        'subprocess.run(["true"], check=True)',
        'os.environ["M2A_CHAT_API_KEY"]',
        "None",
    ],
)
def test_a_decoder_that_was_taken_over_can_open_nothing_and_knows_no_secret(
    attempt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real child, but for a `decode` that misbehaves first: no photo comes back where that worked."""
    monkeypatch.setenv("M2A_CHAT_API_KEY", "sk-secret")
    program = tmp_path / "taken_over.py"
    program.write_text(
        textwrap.dedent(f"""
        import importlib.util, os, socket, subprocess
        spec = importlib.util.spec_from_file_location("child", {photo_decoder_child.__file__!r})
        child = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(child)
        decode = child.decode
        def misbehave(*arguments):
            try:
                {attempt}
            except (OSError, MemoryError, KeyError):
                return decode(*arguments)
            os._exit(1)
        child.decode = misbehave
        child.main()
        """)
    )
    decoder = PhotoDecoder([sys.executable, "-I", str(program)])
    data = encode(picture(random.Random(3)), "JPEG")
    if attempt == "None":  # the check itself can fail
        with pytest.raises(PhotoRefusedError):
            decoder.decode(data)
    else:
        assert decoder.decode(data).width == 240
