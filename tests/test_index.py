import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from pydoc_data.topics import topics
from uuid import uuid4

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from m2a.memory.index import IndexMismatchError, MemoryIndex
from m2a.memory.index_rows import IndexHit, PhotoRow, TextRow
from m2a.memory.index_schema import BM25_B, BM25_K1, IndexEncoders
from m2a.memory.milvus import IndexUnavailableError
from m2a.memory.words import finished_words
from m2a.types import RecordKey, RecordKind

ENCODERS = IndexEncoders("text-encoder", 8, "photo-encoder", 3, 4)
ALL = ("entry", "message")
SERVER = os.environ.get("M2A_TEST_MILVUS_URI")


@pytest.fixture(scope="module", params=["lite", *([SERVER] if SERVER else [])])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    """One index for the module; each test has its own owner."""
    uri = str(tmp_path_factory.mktemp("index") / "index.db") if request.param == "lite" else request.param
    opened = MemoryIndex(uri, ENCODERS)
    yield opened
    if not opened.is_lite:
        opened.drop()
    opened.close()


@pytest.fixture
def owner() -> str:
    return uuid4().hex


@pytest.fixture
def open_lite(tmp_path: Path) -> Iterator[Callable[..., MemoryIndex]]:
    """Opens the index of this test's folder, and closes every opened index at the end."""
    opened: list[MemoryIndex] = []

    def open_it(encoders: IndexEncoders = ENCODERS, **options: bool) -> MemoryIndex:
        opened.append(MemoryIndex(str(tmp_path / "index.db"), encoders, **options))
        return opened[-1]

    yield open_it
    for index in opened:
        index.close()


def unit(*numbers: float, size: int = 8) -> np.ndarray:
    vector = np.zeros(size, dtype=np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.linalg.norm(vector)


def row(record_id: int, text: str = "", vector: np.ndarray | None = None, kind="entry", version: int = 1) -> TextRow:
    return TextRow(RecordKey(kind, record_id), version, unit(1) if vector is None else vector, finished_words(text))


def photo_id(number: int) -> str:
    return f"{number:064x}"


class Okapi(BM25Okapi):
    """With Lucene's idf, which is never negative, in place of Okapi's."""

    def _calc_idf(self, nd):
        self.idf = {word: math.log((self.corpus_size - count + 0.5) / (count + 0.5) + 1) for word, count in nd.items()}


def dense(
    index: MemoryIndex, owner: str, vector: np.ndarray, kinds: Collection[RecordKind], limit: int
) -> list[IndexHit]:
    [hits] = index.search_dense(owner, vector[None], kinds, limit)
    return hits


def bm25(
    index: MemoryIndex, owner: str, words: Sequence[str], kinds: Collection[RecordKind], limit: int
) -> list[IndexHit]:
    [hits] = index.search_bm25(owner, [words], kinds, limit)
    return hits


def reference(corpus: dict[int, list[str]], query: list[str], limit: int) -> list[tuple[int, float]]:
    scores = Okapi(list(corpus.values()), k1=BM25_K1, b=BM25_B).get_scores(list(dict.fromkeys(query)))
    ranked = sorted(zip(corpus, scores, strict=True), key=lambda item: (-round(item[1], 4), item[0]))
    return [(record_id, score) for record_id, score in ranked if score > 0][:limit]


def assert_same_ranking(index: MemoryIndex, owner: str, corpus: dict[int, list[str]], query: list[str]) -> None:
    hits = bm25(index, owner, query, ["entry"], 16_000)
    expected = reference(corpus, query, len(corpus))
    by_id = {hit.key.record_id: hit.score for hit in hits}
    assert by_id == pytest.approx(dict(expected), abs=1e-3)
    found_order = [hit.key.record_id for hit in sorted(hits, key=lambda hit: (-round(hit.score, 3), hit.key.record_id))]
    expected_order = [record_id for record_id, score in sorted(expected, key=lambda x: (-round(x[1], 3), x[0]))]
    assert sum(a != b for a, b in zip(found_order, expected_order, strict=True)) <= len(expected_order) // 50


def test_dense_search_is_by_cosine(index, owner):
    index.put(owner, [row(1, vector=unit(1)), row(2, vector=unit(1, 1)), row(3, vector=unit(0, 1))])
    hits = dense(index, owner, unit(1), ALL, 10)
    assert [(*hit.key, hit.version) for hit in hits] == [
        ("entry", 1, 1),
        ("entry", 2, 1),
        ("entry", 3, 1),
    ]
    assert [hit.score for hit in hits] == pytest.approx([1, math.sqrt(0.5), 0], abs=1e-5)
    assert len(dense(index, owner, unit(1), ALL, 2)) == 2


def test_kinds_are_kept_apart(index, owner):
    index.put(owner, [row(1, "blue ball"), row(1, "blue ball", kind="message"), row(2, "blue ball", kind="message")])
    for search in (
        lambda kinds: dense(index, owner, unit(1), kinds, 10),
        lambda kinds: bm25(index, owner, ["blue"], kinds, 10),
    ):
        assert [hit.key for hit in search(["entry"])] == [("entry", 1)]
        assert [hit.key for hit in search({"message"})] == [("message", 1), ("message", 2)]
        assert [h.key for h in search(ALL)] == [("entry", 1), ("message", 1), ("message", 2)]


@pytest.mark.parametrize("kinds", [[], ["entries"], ['entry" or kind != "'], ["entry", "photo"]])
def test_unknown_kinds_are_refused(index, owner, kinds):
    with pytest.raises(ValueError, match="not kinds of records"):
        dense(index, owner, unit(1), kinds, 10)


@pytest.mark.parametrize(
    "key", ["", "x", "A" * 32, "a" * 31, "a" * 33, "a" * 32 + "\n", '" or "" == "', "../" + "a" * 29]
)
def test_only_our_own_owner_keys_are_let_in(index, key):
    for call in (
        lambda: index.put(key, [row(1)]),
        lambda: dense(index, key, unit(1), ALL, 10),
        lambda: index.delete(key, [("entry", 1)]),
        lambda: index.drop(key),
    ):
        with pytest.raises(ValueError, match="owner key"):
            call()


def test_putting_and_deleting_twice_is_putting_and_deleting_once(index, owner):
    index.delete(owner, [("entry", 1)])
    for _ in range(2):
        index.put(owner, [row(1, "blue ball"), row(2, "red ball")])
    assert index.versions(owner, "text") == {"entry:1": 1, "entry:2": 1}
    assert len(bm25(index, owner, ["ball"], ALL, 10)) == 2
    for _ in range(2):
        index.delete(owner, [("entry", 1), ("message", 2), ("entry", 99)])
    assert index.versions(owner, "text") == {"entry:2": 1}
    assert [hit.key.record_id for hit in bm25(index, owner, ["ball"], ALL, 10)] == [2]


def test_a_new_version_replaces_the_old(index, owner):
    index.put(owner, [row(1, "blue ball"), row(2, "green frog")])
    index.put(owner, [row(1, "red kite", unit(0, 1), version=2)])
    assert bm25(index, owner, ["blue"], ALL, 10) == []
    [hit] = bm25(index, owner, ["red"], ALL, 10)
    assert (hit.key.record_id, hit.version) == (1, 2)
    assert [(h.key.record_id, h.version) for h in dense(index, owner, unit(0, 1), ALL, 1)] == [(1, 2)]


def test_equal_scores_are_in_order_of_id(index, owner):
    index.put(owner, [row(i, "the same words") for i in (30, 4, 200, 1)])
    assert [hit.key.record_id for hit in dense(index, owner, unit(1), ALL, 10)] == [1, 4, 30, 200]
    assert [hit.key.record_id for hit in bm25(index, owner, ["word"], ALL, 10)] == [1, 4, 30, 200]


def test_matched_is_the_share_of_the_querys_words(index, owner):
    index.put(owner, [row(1, "blue ball"), row(2, "blue kite"), row(3, "frog")])
    hits = bm25(index, owner, finished_words("blue balls and more blue balls, sky, moon"), ALL, 10)
    assert {hit.key.record_id: hit.matched for hit in hits} == {1: 0.5, 2: 0.25}


def test_what_has_no_words_does_no_harm(index, owner):
    index.put(owner, [row(1, ""), row(2, "blue ball"), row(3, "the and of")])
    assert [hit.key.record_id for hit in bm25(index, owner, ["ball"], ALL, 10)] == [2]
    assert bm25(index, owner, [], ALL, 10) == []
    assert bm25(index, owner, ["unheard"], ALL, 10) == []


def test_many_queries_at_once_find_what_each_finds(index, owner):
    queries = [["kite", "blue"], [], ["unheard"], ["frog"], ["blue"]]
    vectors = np.array([unit(1), unit(0, 1), unit(1, 3)])
    assert index.search_bm25(owner, queries, ALL, 10) == [[]] * 5  # nothing was written yet
    assert index.search_dense(owner, vectors, ALL, 10) == [[]] * 3
    index.put(owner, [row(1, "blue ball"), row(2, "blue kite"), row(3, "frog"), row(4, "")])
    by_words = index.search_bm25(owner, queries, ALL, 10)
    assert by_words == [bm25(index, owner, words, ALL, 10) for words in queries]
    assert [len(hits) for hits in by_words] == [2, 0, 0, 1, 2]
    by_vector = index.search_dense(owner, vectors, ALL, 2)
    assert by_vector == [dense(index, owner, vector, ALL, 2) for vector in vectors]
    assert index.search_bm25(owner, [], ALL, 10) == []


def test_a_memory_emptied_again_finds_nothing(index, owner, capfd):
    index.put(owner, [row(1, "")])
    assert bm25(index, owner, ["ball"], ALL, 10) == []
    index.put(owner, [row(2, "blue ball")])
    assert [hit.key.record_id for hit in bm25(index, owner, ["ball"], ALL, 10)] == [2]
    index.delete(owner, [("entry", 1), ("entry", 2)])
    assert bm25(index, owner, ["ball"], ALL, 10) == []
    assert dense(index, owner, unit(1), ALL, 10) == []
    assert capfd.readouterr() == ("", "")


def test_a_very_long_text_is_cut_at_a_word(index, owner):
    words = [f"word{i}" for i in range(20_000)]
    long_rows = ((1, words), (2, ["狗"] * 30_000))
    index.put(owner, [TextRow(RecordKey("message", n), 1, unit(1), held) for n, held in long_rows])
    assert [hit.key.record_id for hit in bm25(index, owner, ["word17"], ALL, 10)] == [1]
    assert [hit.key.record_id for hit in bm25(index, owner, ["狗"], ALL, 10)] == [2]
    assert bm25(index, owner, ["word19999"], ALL, 10) == []


def test_photos_are_found_by_photos_and_by_words(index, owner):
    rows = [
        PhotoRow(photo_id(1), unit(1, size=3), unit(0, 1, size=4)),
        PhotoRow(photo_id(2), unit(1, 1, size=3), unit(1, 1, size=4)),
        PhotoRow(photo_id(3), unit(0, 0, 1, size=3), unit(1, size=4)),
    ]
    index.put_photos(owner, rows)
    index.put_photos(owner, rows)
    by_photo = index.search_photos(owner, np.array([unit(1, size=3)]), 2)
    assert [hit.photo_id for hit in by_photo] == [photo_id(1), photo_id(2)]
    by_words = index.search_photos_by_words(owner, unit(1, size=4), 10)
    assert [hit.photo_id for hit in by_words] == [photo_id(3), photo_id(2), photo_id(1)]
    # Two photos: each counts by the nearer of them.
    both = index.search_photos(owner, np.array([unit(1, size=3), unit(0, 0, 1, size=3)]), 10)
    assert [(hit.photo_id, hit.score) for hit in both] == [
        (photo_id(1), pytest.approx(1)),
        (photo_id(3), pytest.approx(1)),
        (photo_id(2), pytest.approx(math.sqrt(0.5), abs=1e-4)),
    ]
    index.delete_photos(owner, [photo_id(1), photo_id(99), "no id"])
    assert index.versions(owner, "photo").keys() == index.versions(owner, "photo_text").keys()
    assert index.versions(owner, "photo") == {photo_id(2): 1, photo_id(3): 1}


def test_an_owner_without_rows_finds_nothing(index, owner):
    assert dense(index, owner, unit(1), ALL, 10) == []
    assert bm25(index, owner, ["ball"], ALL, 10) == []
    assert index.search_photos(owner, np.array([unit(1, size=3)]), 10) == []
    assert index.search_photos_by_words(owner, unit(1, size=4), 10) == []
    assert not index.has_photos(owner)


RANDOM_WORDS = [f"w{i}" for i in range(60)] + ["2023", "c", "狗", "हिन्दी", "e", "x" * 100]


def random_corpus(seed: int, size: int) -> dict[int, list[str]]:
    chooser = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(RANDOM_WORDS))]
    return {i: chooser.choices(RANDOM_WORDS, weights, k=chooser.randint(1, 30)) for i in range(size)}


def real_corpus(size: int) -> dict[int, list[str]]:
    """Sentences of Python's own help."""
    sentences = re.split(r"(?<=[.!?])\s+", " ".join(topics[name] for name in sorted(topics)))
    finished = (finished_words(sentence) for sentence in sentences)
    return dict(enumerate([words for words in finished if words][:size]))


@pytest.mark.parametrize("corpus", [random_corpus(1, 400), real_corpus(1500)], ids=["random", "real"])
def test_bm25_ranks_as_rank_bm25_does(index, owner, corpus):
    corpus = dict(corpus)
    chooser = random.Random(5)
    vocabulary = sorted({word for words in corpus.values() for word in words})

    def put(ids):
        index.put(owner, [TextRow(RecordKey("entry", i), 1, unit(1), corpus[i]) for i in ids])

    def compare():
        for _ in range(12):
            assert_same_ranking(index, owner, corpus, chooser.sample(vocabulary, chooser.randint(1, 6)))

    put(corpus)
    compare()
    gone = chooser.sample(sorted(corpus), len(corpus) // 3)
    index.delete(owner, [("entry", i) for i in gone])
    for i in gone:
        del corpus[i]
    compare()
    changed = chooser.sample(sorted(corpus), len(corpus) // 4)
    for i in changed:
        corpus[i] = chooser.choices(vocabulary, k=12)
    put(changed)
    put(changed)
    compare()


def test_another_owners_rows_change_no_ranking(index, owner):
    corpus = random_corpus(2, 300)
    index.put(owner, [TextRow(RecordKey("entry", i), 1, unit(1, i % 7), words) for i, words in corpus.items()])
    index.put_photos(owner, [PhotoRow(photo_id(i), unit(1, i, size=3), unit(1, i, size=4)) for i in range(5)])

    def everything():
        return [
            dense(index, owner, unit(1, 3), ALL, 50),
            bm25(index, owner, ["w1", "w40", "狗"], ALL, 50),
            index.search_photos(owner, np.array([unit(1, 2, size=3)]), 50),
            index.search_photos_by_words(owner, unit(1, 2, size=4), 50),
        ]

    before = everything()
    other = uuid4().hex
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(10_000, 8)).astype(np.float32)
    words = random_corpus(3, 10_000)
    for start in range(0, 10_000, 2_000):
        index.put(other, [TextRow(RecordKey("entry", i), 1, vectors[i], words[i]) for i in range(start, start + 2_000)])
    index.put_photos(other, [PhotoRow(photo_id(i), unit(1, 2, size=3), unit(1, 2, size=4)) for i in range(500)])
    assert everything() == before
    assert_same_ranking(index, owner, corpus, ["w1", "w40", "狗"])
    index.drop(other)
    assert not index.has(other, "text")
    assert everything() == before


def test_threads_read_while_one_writes(index, owner):
    index.put(owner, [row(0, "ball")])
    errors: list[BaseException] = []
    done = threading.Event()

    def read():
        try:
            while not done.is_set():
                assert bm25(index, owner, ["ball"], ALL, 10)
                assert dense(index, owner, unit(1), ALL, 10)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(1, 60):
        index.put(owner, [row(i, f"ball {i}")])
        assert bm25(index, owner, [str(i)], ALL, 10)[0].key.record_id == i  # own writes are read
    done.set()
    for thread in threads:
        thread.join()
    assert errors == []


def test_rows_outlive_a_restart(open_lite, owner):
    index = open_lite()
    index.put(owner, [row(1, "blue ball"), row(2, "red kite", unit(0, 1))])
    index.put_photos(owner, [PhotoRow(photo_id(1), unit(1, size=3), unit(1, size=4))])
    before = (dense(index, owner, unit(1), ALL, 9), bm25(index, owner, ["ball"], ALL, 9))
    index.close()
    index = open_lite()
    assert (dense(index, owner, unit(1), ALL, 9), bm25(index, owner, ["ball"], ALL, 9)) == before
    assert index.has_photos(owner)
    assert len(index.search_photos(owner, np.array([unit(1, size=3)]), 9)) == 1
    index.delete(owner, [("entry", 1)])
    assert bm25(index, owner, ["ball"], ALL, 9) == []


def test_a_long_temporary_folder_does_no_harm(open_lite, owner, tmp_path, monkeypatch):
    """A socket's path has about 100 bytes, and a cluster's `TMPDIR` takes them all."""
    folder = tmp_path / "long" / ("x" * 90)
    folder.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    index = open_lite()
    index.put(owner, [row(1, "blue ball")])
    assert len(bm25(index, owner, ["ball"], ALL, 9)) == 1


def test_no_log_file_is_left_outside_the_memory(open_lite, owner, tmp_path, monkeypatch):
    logs = tmp_path / "logs"
    logs.mkdir()
    monkeypatch.setenv("GLOG_log_dir", str(logs))
    open_lite().put(owner, [row(1, "blue ball")])
    assert not list(logs.iterdir())


def test_an_index_of_other_encoders_is_refused_until_it_is_discarded(open_lite, owner):
    index = open_lite()
    index.put(owner, [row(1, "blue ball")])
    index.put_photos(owner, [PhotoRow(photo_id(1), unit(1, size=3), unit(1, size=4))])
    index.close()
    other = replace(ENCODERS, text_id="another-encoder", text_dimensions=16)
    with pytest.raises(IndexMismatchError, match=r"'text-encoder'.*'another-encoder'.*m2a reindex"):
        open_lite(other)
    with pytest.raises(IndexMismatchError, match=r"'photo-encoder'.*'siglip'.*m2a reindex"):
        open_lite(replace(ENCODERS, photo_id="siglip", word_dimensions=None))
    open_lite().close()  # a refusal changes nothing
    index = open_lite(other, discard_mismatch=True)
    assert not index.has(owner, "text")
    assert index.versions(owner, "photo") == {photo_id(1): 1}  # made by the same encoder
    index.put(owner, [row(1, "blue ball", unit(1, size=16))])
    index.close()
    open_lite(other)


def test_words_and_photos_may_share_a_space(open_lite, owner):
    index = open_lite(replace(ENCODERS, photo_id="siglip", word_dimensions=None))
    index.put_photos(owner, [PhotoRow(photo_id(1), unit(1, size=3), None)])
    assert index.has_photos(owner)
    assert [hit.photo_id for hit in index.search_photos_by_words(owner, unit(1, size=3), 9)] == [photo_id(1)]
    assert not index.has(owner, "photo_text")


def test_a_crash_before_the_indexes_were_made_is_mended(open_lite, owner, monkeypatch):
    index = open_lite()
    with monkeypatch.context() as patch:
        patch.setattr(index, "_make_ready", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            index.put(owner, [row(1, "blue ball")])
    index.close()
    index = open_lite()
    assert bm25(index, owner, ["ball"], ALL, 9) == []
    index.put(owner, [row(1, "blue ball")])
    assert [hit.key.record_id for hit in dense(index, owner, unit(1), ALL, 9)] == [1]


def test_a_second_process_is_refused_in_one_sentence_however_often_it_tries(open_lite, tmp_path, owner):
    index = open_lite()
    code = (
        "from m2a.memory.index import *; import sys\n"
        "for _ in range(3):\n"
        "    try: MemoryIndex(sys.argv[1], IndexEncoders('text-encoder', 8, 'photo-encoder', 3, 4))\n"
        "    except IndexUnavailableError as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "index.db")], capture_output=True, text=True, check=True
    )
    assert run.stdout == f"Cannot open the index {index.uri}: another process has it open.\n" * 3
    assert run.stderr == ""
    index.put(owner, [row(1, "blue ball")])


def test_a_dead_index_raises_and_is_never_an_empty_result(open_lite, owner):
    index = open_lite()
    index.put(owner, [row(1, "blue ball")])
    os.kill(int(_server_of(index).name), signal.SIGKILL)
    with pytest.raises(IndexUnavailableError, match="does not answer"):
        bm25(index, owner, ["ball"], ALL, 10)
    with pytest.raises(IndexUnavailableError, match="does not answer"):
        index.put(owner, [row(2, "red kite")])


def _server_of(index: MemoryIndex) -> Path:
    """Returns the folder of Milvus Lite's process in /proc."""
    processes = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    lines = {path: _command_line(path) for path in processes}
    [server] = [path for path in processes if index.uri.encode() in lines[path] and b"milvus" in lines[path]]
    return server


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_purge_leaves_nothing_of_what_was_deleted(open_lite, owner, tmp_path):
    index = open_lite()
    index.put(owner, [row(1, "secretbobo"), row(2, "blue ball")])
    index.delete(owner, [("entry", 1)])
    index.purge()
    # The one file: whoever opens and closes the lock file beside it in this process loses the lock (POSIX).
    assert b"secretbobo" not in (tmp_path / "index.db").read_bytes()
    assert [hit.key.record_id for hit in bm25(index, owner, ["ball"], ALL, 10)] == [2]


def test_the_file_is_free_again_once_its_process_was_killed(tmp_path, owner):
    code = (
        "from m2a.memory.index import *; import sys, numpy as np, os\n"
        "index = MemoryIndex(sys.argv[1], IndexEncoders('text-encoder', 8, 'photo-encoder', 3, 4))\n"
        "index.put(sys.argv[2], [TextRow(RecordKey('entry', 1), 1, np.ones(8, dtype=np.float32), ['ball'])])\n"
        "os.kill(os.getpid(), 9)"
    )
    uri = str(tmp_path / "index.db")
    killed = subprocess.run([sys.executable, "-c", code, uri, owner], check=False)
    assert killed.returncode == -signal.SIGKILL
    index = MemoryIndex(uri, ENCODERS)
    assert [hit.key.record_id for hit in bm25(index, owner, ["ball"], ALL, 10)] == [1]
    index.close()


def test_a_search_waits_for_a_purge(open_lite, owner):
    index = open_lite()
    index.put(owner, [row(i, "blue ball") for i in range(50)])
    hit_counts: list[int] = []
    done = threading.Event()

    def search():
        while not done.is_set():
            hit_counts.append(len(bm25(index, owner, ["ball"], ALL, 99)))

    thread = threading.Thread(target=search)
    thread.start()
    index.purge()
    index.purge()
    done.set()
    thread.join()
    assert set(hit_counts) == {50}


def test_a_search_beside_a_drop_finds_all_or_nothing(index, owner):
    rows = [row(i, "blue ball") for i in range(50)]
    results: list[object] = []
    done = threading.Event()

    def search():
        while not done.is_set():
            try:
                results.append(len(dense(index, owner, unit(1), ALL, 99)))
            except IndexUnavailableError as error:
                results.append(str(error))

    thread = threading.Thread(target=search)
    thread.start()
    for _ in range(10):
        index.put(owner, rows)
        index.drop(owner)
    done.set()
    thread.join()
    assert set(results) <= {0, 50}


def test_many_owners_in_turn_each_find_what_is_theirs(open_lite):
    index = open_lite()
    owners = [uuid4().hex for _ in range(20)]
    for number, owner in enumerate(owners):
        index.put(owner, [row(number, f"ball {number}")])
    errors: list[BaseException] = []

    def read(shift: int) -> None:
        try:
            for turn in range(40):
                number = (turn * 7 + shift) % len(owners)
                [hit] = bm25(index, owners[number], ["ball"], ALL, 9)
                assert hit.key.record_id == number
                assert [hit.key.record_id for hit in dense(index, owners[number], unit(1), ALL, 9)] == [number]
                assert index.versions(owners[number], "text") == {f"entry:{number}": 1}
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read, args=(shift,)) for shift in (0, 5, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_memory_does_not_grow_with_each_owner(open_lite):
    index = open_lite(replace(ENCODERS, text_dimensions=384))

    def megabytes(owners: int) -> float:
        for _ in range(owners):
            index.put(uuid4().hex, [row(1, "ball", unit(1, size=384))])
        resident_pages = int((_server_of(index) / "statm").read_text().split()[1])
        return resident_pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    few = megabytes(16)
    assert megabytes(16) < few + 200  # each owner takes 50 until others are used


def test_importing_the_index_does_not_import_pymilvus():
    code = "import sys, m2a.memory.index, m2a.memory.retriever, m2a.memory.indexer; print('pymilvus' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_a_process_of_milvus_lite_that_was_killed_is_waited_for_as_long_as_it_takes(open_lite, owner):
    """Milvus Lite waits three seconds, and on a busy machine closing the index ended in a traceback."""
    import milvus_lite.server

    open_lite().put(owner, [row(1, "blue ball")])
    process = milvus_lite.server.subprocess.Popen(args=["/bin/sleep", "60"], env={})
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=0) == -signal.SIGKILL
