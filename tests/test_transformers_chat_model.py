"""`TransformersChatModel` on models of a few kilobytes, made here.

Without layers, a Llama's next token depends on its last one alone, so the weights can spell a script: each token's
embedding is a unit vector, and the head points from every token to its successor.

torch and transformers are imported where they are used: every process of the suite collects this file, and one runs it.
"""

import asyncio
import io
import itertools
import json
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import huggingface_hub.constants
import pytest
from PIL import Image
from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers import models as token_models

from models.availability import PackageMissingError
from models.chat_model import ChatMessage, ChatModelError, MalformedReplyError, PhotoPart, TokenUsage, Tool
from models.load import load_chat_model, load_image_encoder
from models.transformers_chat_model import TransformersChatModel

if TYPE_CHECKING:
    import torch
    from transformers import LlamaConfig, PreTrainedTokenizerFast

SPECIAL = ["<unk>", "</s>", "<image>", "<|system|>", "<|user|>", "<|assistant|>"]
TOOL = Tool("search", "Search the memory.", {"type": "object", "properties": {"query": {"type": "string"}}})
PROMPT = (ChatMessage("system", ("Be",)), ChatMessage("user", ("Rex",)))
TEXT_TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + TEXT_TEMPLATE
PHOTO_TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{% for c in m.content %}"
    "{% if c.type == 'image' %}<image>{% else %}{{ c.text }}{% endif %}{% endfor %}{% endfor %}<|assistant|>"
)


def tokenizer_of(script: list[str], template: str | None) -> "PreTrainedTokenizerFast":
    """A tokenizer that knows the script's tokens and nothing else."""
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: n for n, token in enumerate([*SPECIAL, *dict.fromkeys(script)])}
    tokenizer = Tokenizer(token_models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s"), "merged_with_next")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        eos_token="</s>",
        pad_token="</s>",
        extra_special_tokens={"image_token": "<image>", "user": "<|user|>", "assistant": "<|assistant|>"},
        chat_template=template,
    )


def llama_config(tokenizer: "PreTrainedTokenizerFast", context: int = 4096) -> "LlamaConfig":
    from transformers import LlamaConfig

    size = 64
    assert len(tokenizer) <= size
    return LlamaConfig(
        vocab_size=size,
        hidden_size=size,
        num_hidden_layers=0,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=context,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def write_script(model: "torch.nn.Module", tokenizer: "PreTrainedTokenizerFast", script: list[str]) -> None:
    """After `<|assistant|>` the model says the script; a token that comes twice makes it say that part for ever."""
    import torch

    spoken = tokenizer.convert_tokens_to_ids(["<|assistant|>", *script, "</s>"])
    head = torch.zeros_like(model.get_output_embeddings().weight)
    for now, after in itertools.pairwise(spoken):
        if not head[:, now].any():
            head[after, now] = 1.0
    model.get_input_embeddings().weight.data = torch.eye(len(head))
    model.get_output_embeddings().weight.data = head


def text_model(folder: Path, script: list[str], *, template: str | None = TEXT_TEMPLATE, context: int = 4096) -> str:
    from transformers import LlamaForCausalLM

    tokenizer = tokenizer_of(script, template)
    model = LlamaForCausalLM(llama_config(tokenizer, context))
    write_script(model, tokenizer, script)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def photo_model(folder: Path, script: list[str]) -> str:
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    tokenizer = tokenizer_of(script, PHOTO_TEMPLATE)
    eyes = CLIPVisionConfig(
        hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8, image_size=16, patch_size=8
    )
    config = LlavaConfig(
        text_config=llama_config(tokenizer),
        vision_config=eyes,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    model = LlavaForConditionalGeneration(config)
    write_script(model, tokenizer, script)
    model.save_pretrained(folder)
    LlavaProcessor(
        image_processor=CLIPImageProcessorPil(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}),
        tokenizer=tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=PHOTO_TEMPLATE,
    ).save_pretrained(folder)
    return str(folder)


def photo(colour: str) -> PhotoPart:
    data = io.BytesIO()
    Image.new("RGB", (24, 32), colour).save(data, "PNG")
    return PhotoPart(f" {colour}:", data.getvalue(), "image/png")


async def pieces_of(model: TransformersChatModel, prompt=PROMPT) -> list[str | TokenUsage]:
    return [piece async for piece in model.stream(prompt)]


async def is_free(model: TransformersChatModel) -> None:
    """Waits until the model's one thread generates the next reply."""
    async with aclosing(model.stream(PROMPT)) as reply:
        assert await asyncio.wait_for(anext(reply), 10) == "tick "


async def test_a_reply_comes_in_pieces_and_then_its_usage(tmp_path):
    model = TransformersChatModel(text_model(tmp_path, ["Rex ", "is ", "a ", "dog."]))
    assert await pieces_of(model) == ["Rex ", "is ", "a ", "dog.", TokenUsage(4, 5)]
    assert not model.sees_photos


async def test_greedy_decoding_overrides_the_models_sampling_settings(tmp_path):
    from transformers import GenerationConfig

    folder = text_model(tmp_path, ["Rex ", "is ", "a ", "dog."])
    settings = GenerationConfig.from_pretrained(folder)
    settings.update(do_sample=True, temperature=1e6, top_k=0, max_new_tokens=12)
    settings.save_pretrained(folder)
    alike = [TransformersChatModel(folder, greedy=True), TransformersChatModel(folder, greedy=True)]
    replies = [await pieces_of(model) for model in alike]
    assert "".join(replies[0][:-1]) == "Rex is a dog." and replies[0] == replies[1]


async def test_thoughts_are_not_shown(tmp_path):
    model = TransformersChatModel(text_model(tmp_path, ["<think>", "Hm ", "</think>", "Rex."]))
    assert "".join(p for p in await pieces_of(model) if isinstance(p, str)) == "Rex."


async def test_a_tool_call_is_read_out_of_the_text(tmp_path):
    text = json.dumps({"tool": "search", "arguments": {"query": "Rex"}})
    model = TransformersChatModel(text_model(tmp_path, ["I ", "choose ", text]))
    call = await model.choose(PROMPT, [TOOL])
    assert (call.name, call.arguments) == ("search", {"query": "Rex"})
    assert call.usage.output_tokens == 4


async def test_text_that_is_no_call_goes_back_to_the_model(tmp_path):
    model = TransformersChatModel(text_model(tmp_path, ["Rex ", "is ", "a ", "dog."]))
    with pytest.raises(MalformedReplyError, match="Rex is a dog"):
        await model.choose(PROMPT, [TOOL])


async def test_the_prompt_of_a_choice_lists_the_tools(tmp_path):
    model = TransformersChatModel(text_model(tmp_path, ["{}"]))
    model.load()
    prompts = []
    render = model._loaded.reader.apply_chat_template
    model._loaded.reader.apply_chat_template = lambda turns, **options: (
        prompts.append(turns) or render(turns, **options)
    )
    with pytest.raises(MalformedReplyError):
        await model.choose(PROMPT, [TOOL])
    system, user = prompts[0]
    assert system["content"].startswith("Be\n\nYou have these tools:\n- search: Search the memory.")
    assert user == {"role": "user", "content": "Rex"}


async def test_a_template_that_refuses_system_messages_gets_them_in_the_first_turn(tmp_path):
    model = TransformersChatModel(text_model(tmp_path, ["Rex."], template=NO_SYSTEM))
    assert await pieces_of(model) == ["Rex.", TokenUsage(5, 2)]


async def test_photos_reach_the_eyes_of_the_model_in_order(tmp_path):
    model = TransformersChatModel(photo_model(tmp_path, ["A ", "dog."]))
    assert model.sees_photos, "the config says so before anything is loaded"
    model.load()
    assert model.sees_photos
    images = []
    eyes = model._loaded.model.model.vision_tower
    eyes.register_forward_pre_hook(
        lambda _, args, kwargs: images.append(kwargs.get("pixel_values", args[0] if args else None)), with_kwargs=True
    )
    reply = await pieces_of(model, [ChatMessage("user", ("Look:", photo("red"), photo("blue"), " Who?"))])
    assert "".join(p for p in reply if isinstance(p, str)) == "A dog."
    red, blue = images[0].mean(dim=(2, 3))
    assert images[0].shape == (2, 3, 16, 16)
    assert red.argmax() == 0
    assert blue.argmax() == 2


async def test_a_photo_stays_out_where_photos_are_switched_off(tmp_path):
    model = TransformersChatModel(photo_model(tmp_path, ["A ", "dog."]), sees_photos=False)
    assert not model.sees_photos
    model.load()
    assert not model.sees_photos
    # The template of this model lists parts; given plain text it says nothing of the photo, and the model replies.
    assert (await pieces_of(model, [ChatMessage("user", (photo("red"),))]))[:-1] == ["A ", "dog."]


async def test_closing_the_iterator_stops_the_generation(tmp_path):
    endless = ["tick ", "tock ", "tick "]
    folder = text_model(tmp_path, endless, context=10**9)
    model = TransformersChatModel(folder, reply_tokens=10**8)
    reply = model.stream(PROMPT)
    assert await anext(reply) == "tick "
    assert await anext(reply) == "tock "
    await reply.aclose()
    await is_free(model)  # a hundred million tokens early


async def test_cancelling_the_task_stops_the_generation(tmp_path):
    model = TransformersChatModel(text_model(tmp_path, ["tick ", "tock ", "tick "], context=10**9), reply_tokens=10**8)
    first = asyncio.Event()

    async def listen() -> None:
        async for _ in model.stream(PROMPT):
            first.set()

    task = asyncio.ensure_future(listen())
    await first.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await is_free(model)


async def test_replies_and_calls_have_a_limit_within_a_quarter_of_the_window(tmp_path):
    folder = text_model(tmp_path, ["tick ", "tock ", "tick "], context=2000)
    long_tool = replace(TOOL, longest=900)

    async def lengths(tool: Tool = TOOL, **settings: int) -> list[int | None]:
        model = TransformersChatModel(folder, **settings)
        with pytest.raises(MalformedReplyError) as malformed:
            await model.choose(PROMPT, [tool])
        return [(await pieces_of(model))[-1].output_tokens, malformed.value.usage.output_tokens]

    assert await lengths() == [500, 500]
    assert await lengths(context_window=1024) == [256, 256]
    assert await lengths(reply_tokens=64) == [64, 500]
    assert await lengths(long_tool) == [500, 500]
    assert await lengths(context_window=4000) == [1000, 768]
    assert await lengths(long_tool, context_window=4000) == [1000, 900], "a tool says itself how long its call may be"


async def test_replies_at_the_same_time_do_not_mix(tmp_path):
    model = TransformersChatModel(text_model(tmp_path, ["Rex ", "is ", "a ", "dog."]))
    replies = await asyncio.gather(*(pieces_of(model) for _ in range(4)))
    assert replies == [["Rex ", "is ", "a ", "dog.", TokenUsage(4, 5)]] * 4


async def test_a_prompt_that_is_too_long_is_named(tmp_path):
    model = TransformersChatModel(text_model(tmp_path, ["Rex."], context=8))
    with pytest.raises(ChatModelError, match=r"has \d+ tokens and .* takes 8; set M2A_CONTEXT_WINDOW=8"):
        await pieces_of(model, [ChatMessage("user", ("word " * 20,))])
    assert (await pieces_of(model))[0] == "Rex.", "the model goes on"


async def test_a_reply_without_text_is_a_failure(tmp_path):
    model = TransformersChatModel(text_model(tmp_path, ["<think>", "Hm "]))
    with pytest.raises(ChatModelError, match="answered with nothing"):
        await pieces_of(model)


async def test_a_model_without_a_chat_template_is_named(tmp_path):
    model = TransformersChatModel(text_model(tmp_path, ["Rex."], template=None))
    with pytest.raises(ChatModelError, match="has no chat template"):
        await pieces_of(model)


async def test_a_missing_folder_is_named(tmp_path):
    model = TransformersChatModel(str(tmp_path / "nowhere"))
    assert not model.sees_photos
    with pytest.raises(ChatModelError, match=r"The folder .*nowhere' does not exist"):
        await pieces_of(model)


async def test_an_incomplete_folder_is_named_and_never_looked_up_on_the_hub(tmp_path):
    (tmp_path / "config.json").write_text("{")
    for model in (TransformersChatModel(str(tmp_path)), TransformersChatModel(str(tmp_path.parent))):
        assert not model.sees_photos
        with pytest.raises(ChatModelError, match="is it the complete folder of a chat model"):
            model.load()


def test_a_hub_out_of_reach_is_named(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    model = TransformersChatModel("no-such-org/no-such-model")
    assert not model.sees_photos
    with pytest.raises(
        ChatModelError, match=r"'no-such-org/no-such-model' cannot be loaded.*connection to the hub"
    ) as raised:
        model.load()
    assert "\n" not in str(raised.value)


def test_a_processor_that_needs_torchvision_names_the_extra(tmp_path):
    from transformers import Qwen2VLConfig

    Qwen2VLConfig().save_pretrained(tmp_path)
    tokenizer_of(["Rex."], PHOTO_TEMPLATE).save_pretrained(tmp_path)
    kinds = {"image_processor_type": "Qwen2VLImageProcessor", "processor_class": "Qwen2VLProcessor"}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(kinds))
    with pytest.raises(ChatModelError, match=r"needs torchvision.*pip install -e '\.\[vision\]'"):
        TransformersChatModel(str(tmp_path)).load()


async def test_the_factory_makes_one_without_loading_it(tmp_path):
    model = load_chat_model(f"transformers:{text_model(tmp_path, ['Rex.'])}", sees_photos=False)
    assert model.name == f"transformers:{tmp_path}"
    assert repr(model) == f"TransformersChatModel({str(tmp_path)!r})"


@pytest.mark.parametrize("load", [lambda: load_chat_model("transformers:x"), lambda: load_siglip("x")])
def test_without_torch_the_remedy_is_named(load, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(PackageMissingError, match=r"'.*:x' needs torch and transformers: .*pip install torch"):
        load()


def load_siglip(name: str) -> None:
    load_image_encoder(f"siglip:{name}", None, Path())
