"""Chat models that run in this process through transformers, from a folder or by name from the hub or its cache."""

import asyncio
import io
import itertools
import json
import os
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models import json_reply
from models.abilities import Abilities, Probe
from models.availability import VISION, install_command
from models.chat_model import (
    REPLY_TOKENS,
    ChatMessage,
    ChatModelError,
    MalformedReplyError,
    PhotoPart,
    TokenUsage,
    Tool,
    ToolCall,
    in_words,
)
from models.text_call import TextCallDetector
from models.thoughts import ThoughtFilter, has_lone_end

# Enough for the longest tool call, a memory of 2,000 characters; small models may otherwise never stop.
_CALL_TOKENS = 768


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A loaded model. `reader` is its processor if it is given photos, or else its tokenizer."""

    model: Any
    reader: Any
    tokenizer: Any
    reads_photos: bool


class TransformersChatModel:
    """`name_or_folder` is loaded on first use or by `load`; a folder is never looked up on the hub.

    One thread does all the work, so calls queue. `choose` parses JSON out of the model's text, which is sampled
    greedily there; a reply uses the generation settings of the model, unless `greedy` is set.
    """

    def __init__(
        self,
        name_or_folder: str,
        *,
        sees_photos: bool = True,
        reply_tokens: int = REPLY_TOKENS,
        greedy: bool = False,
        context_window: int | None = None,
    ) -> None:
        self.name = f"transformers:{name_or_folder}"
        self._where = name_or_folder
        self._show_photos = sees_photos
        self.reply_tokens = reply_tokens
        self._context_window = context_window
        self._thinks_unopened = False
        self._sampling: dict[str, Any] = {"do_sample": False} if greedy else {}
        self._jobs = ThreadPoolExecutor(1, thread_name_prefix="chat-model")
        self._loaded: _Loaded | None = None

    def __repr__(self) -> str:
        return f"TransformersChatModel({self._where!r})"

    @property
    def sees_photos(self) -> bool:
        """Whether it is a vision model. Before it is loaded, its config file says so."""
        if self._loaded:
            return self._loaded.reads_photos
        return self._show_photos and "vision_config" in _config_on_disk(self._where)

    @property
    def known_abilities(self) -> Abilities:
        """See `ChatModel.known_abilities`. The model's config contains all of them."""
        return Abilities(
            sees_photos=self.sees_photos,
            calls_tools=False,
            follows_schema=False,
            context_window=self._context_window or _window(_config_on_disk(self._where)),
        )

    async def abilities(self, probe: tuple[Probe, ...] = ()) -> Abilities:
        """See `ChatModel.abilities`."""
        return self.known_abilities

    def load(self) -> None:
        """Loads the weights now. Raises `ChatModelError`."""
        self._jobs.submit(self._load).result()

    async def choose(self, messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> ToolCall:
        """Returns one tool call, parsed from the model's text; see `ChatModel.choose`."""
        prompt = [*messages, ChatMessage("system", (json_reply.instruction(tools),))]
        text, usage = "", TokenUsage()
        longest = max((tool.longest or _CALL_TOKENS for tool in tools), default=_CALL_TOKENS)
        limit = self.known_abilities.answer_tokens(longest)
        async with aclosing(self._generate(prompt, limit, do_sample=False)) as pieces:
            async for piece in pieces:
                if isinstance(piece, TokenUsage):
                    usage = piece
                else:
                    text += piece
        self._thinks_unopened = self._thinks_unopened or has_lone_end(text)
        try:
            name, arguments = json_reply.parse_call(text, tools)
        except MalformedReplyError as error:
            raise MalformedReplyError(str(error), text=text, usage=usage) from None
        return ToolCall(name, arguments, usage)

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | ToolCall | TokenUsage]:
        """Yields the reply, then its usage; see `ChatModel.stream`."""
        thoughts, detector = ThoughtFilter(begins_thinking=self._thinks_unopened), TextCallDetector(tools)
        empty = True
        prompt = [*messages, ChatMessage("system", (json_reply.choice(tools),))] if tools else messages
        limit = self.known_abilities.answer_tokens(self.reply_tokens)
        async with aclosing(self._generate(prompt, limit, **self._sampling)) as pieces:
            async for piece in pieces:
                if isinstance(piece, TokenUsage):
                    visible = thoughts.finish(cut_off=piece.output_tokens == limit)
                else:
                    visible = thoughts.feed(piece)
                self._thinks_unopened = self._thinks_unopened or thoughts.met_lone_end
                visible = detector.feed(visible) + (detector.finish() if isinstance(piece, TokenUsage) else "")
                if visible:
                    empty = False
                    yield visible
                if detector.call is not None:
                    yield detector.call
                    yield piece if isinstance(piece, TokenUsage) else TokenUsage()
                    return
                if isinstance(piece, TokenUsage):
                    if empty:
                        raise ChatModelError(
                            f"{self._name_in_sentence} answered with nothing; try again or choose another model."
                        )
                    yield piece

    # In the event loop

    async def _generate(
        self, messages: Sequence[ChatMessage], limit: int, **settings: Any
    ) -> AsyncGenerator[str | TokenUsage]:
        """Yields the raw text as it is generated, then the usage. Closing it stops the thread at the next token."""
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | TokenUsage | Exception] = asyncio.Queue()
        stopped = threading.Event()

        def emit(item: str | TokenUsage | Exception) -> None:
            with suppress(RuntimeError):  # the loop is closed, so nobody is listening
                loop.call_soon_threadsafe(pieces.put_nowait, item)

        settings["max_new_tokens"] = limit
        job = self._jobs.submit(self._run, messages, settings, stopped, emit)
        try:
            while True:
                item = await pieces.get()
                if isinstance(item, Exception):
                    raise item
                yield item
                if isinstance(item, TokenUsage):
                    return
        finally:
            stopped.set()
            job.cancel()

    # In the thread

    def _run(
        self,
        messages: Sequence[ChatMessage],
        settings: dict[str, Any],
        stopped: threading.Event,
        emit: Callable[[str | TokenUsage | Exception], None],
    ) -> None:
        try:
            if not stopped.is_set():
                emit(self._answer(self._load(), messages, settings, stopped, emit))
        except ChatModelError as error:
            emit(error)
        except Exception as error:
            # Models come with their own code and can raise any error; the loop waits until something is emitted.
            reason = "there is not enough memory" if _is_out_of_memory(error) else _first_line(error)
            emit(ChatModelError(f"{self._name_in_sentence} failed: {reason}."))

    def _answer(
        self,
        loaded: _Loaded,
        messages: Sequence[ChatMessage],
        settings: dict[str, Any],
        stopped: threading.Event,
        emit: Callable[[str | TokenUsage | Exception], None],
    ) -> TokenUsage:
        import torch
        from transformers import StoppingCriteriaList

        inputs = self._inputs(loaded, messages).to(loaded.model.device)
        length = inputs["input_ids"].shape[1]
        limit = getattr(loaded.model.config.get_text_config(), "max_position_embeddings", None)
        room = min(
            settings["max_new_tokens"], loaded.model.generation_config.max_new_tokens or settings["max_new_tokens"]
        )
        room = min(room, limit - length) if limit else room
        if room < 1:
            raise ChatModelError(
                f"The prompt has {length} tokens and {self._name_in_sentence} takes {limit}; set M2A_CONTEXT_WINDOW={limit}."
            )
        streamer = _streamer(loaded.tokenizer, emit)
        with torch.inference_mode():
            output = loaded.model.generate(
                **inputs,
                **{**settings, "max_new_tokens": room},
                streamer=streamer,
                stopping_criteria=StoppingCriteriaList([lambda *_, **__: stopped.is_set()]),
            )
        return TokenUsage(length, output.shape[1] - length)

    def _inputs(self, loaded: _Loaded, messages: Sequence[ChatMessage]) -> Any:
        from jinja2 import TemplateError

        if loaded.reader.chat_template is None:
            raise ChatModelError(f"{self._name_in_sentence} has no chat template; choose a model tuned for chat.")
        turns = _turns(messages)
        options = {} if loaded.reads_photos else {"enable_thinking": False}
        try:
            text = _render(loaded, turns, options)
        except TemplateError:
            # Some templates refuse a system message, so its text moves to the first turn.
            text = _render(loaded, _without_system(turns), options)
        if not loaded.reads_photos:
            return loaded.tokenizer(text, add_special_tokens=False, return_tensors="pt")
        photos = [_picture(part) for _, parts in turns for part in parts if isinstance(part, PhotoPart)]
        starts = bool(loaded.tokenizer.bos_token) and text.startswith(loaded.tokenizer.bos_token)
        return loaded.reader(text=[text], images=photos or None, add_special_tokens=not starts, return_tensors="pt")

    def _load(self) -> _Loaded:
        if self._loaded is None:
            self._loaded = self._from_pretrained()
        return self._loaded

    def _from_pretrained(self) -> _Loaded:
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        is_folder = Path(self._where).is_dir()
        if not is_folder and (Path(self._where).is_absolute() or self._where.startswith((".", "~"))):
            raise ChatModelError(f"The folder {self._where!r} does not exist; check M2A_CHAT_MODEL.")
        try:
            return _load_from(self._where, is_folder, self._show_photos)
        except ImportError as error:
            if "torchvision" not in str(error).lower():
                raise ChatModelError(f"{self._name_in_sentence} cannot be loaded: {_first_line(error)}.") from None
            raise ChatModelError(
                f"{self._name_in_sentence} needs torchvision to read photos: install the vision extra with "
                f"{install_command(VISION)} in the folder of M2A, or set M2A_CHAT_SEES_PHOTOS=false."
            ) from None
        except Exception as error:
            # A damaged folder causes OSError, ValueError, KeyError, SafetensorError or JSONDecodeError.
            if is_folder:
                remedy = "is it the complete folder of a chat model?"
            else:
                remedy = "check the name and the connection to the hub, or name a folder on this machine."
            reason = "there is not enough memory" if _is_out_of_memory(error) else _first_line(error)
            raise ChatModelError(f"{self._name_in_sentence} cannot be loaded: {reason}; {remedy}") from None

    @property
    def _name_in_sentence(self) -> str:
        return f"The model {self._where!r}"


def _load_from(where: str, is_folder: bool, show_photos: bool) -> _Loaded:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

    config = AutoConfig.from_pretrained(where, local_files_only=is_folder)
    has_vision = hasattr(config, "vision_config")
    reads_photos = has_vision and show_photos
    # Load the reader first: it is small, and it is what fails if torchvision is missing.
    if reads_photos:
        # Without torchvision this picks the image processor that runs on Pillow.
        load_processor: Any = AutoProcessor.from_pretrained
        reader = load_processor(where, local_files_only=is_folder)
        tokenizer = reader.tokenizer
        reader.chat_template = reader.chat_template or tokenizer.chat_template
    else:
        reader = tokenizer = AutoTokenizer.from_pretrained(where, local_files_only=is_folder)
    on_gpu = torch.cuda.is_available()
    build: Any = AutoModelForImageTextToText if has_vision else AutoModelForCausalLM
    # Half precision is slow or missing on many CPUs.
    model = build.from_pretrained(where, local_files_only=is_folder, dtype="auto" if on_gpu else torch.float32)
    return _Loaded(model.to("cuda" if on_gpu else "cpu").eval(), reader, tokenizer, reads_photos)


def _config_on_disk(where: str) -> dict[str, Any]:
    """Returns the model's config.json from its folder or the hub's cache, or {} if it is in neither."""
    path: Any = Path(where) / "config.json"
    if not path.is_file():
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError

        try:
            path = try_to_load_from_cache(where, "config.json")
        except HFValidationError:
            return {}
        if not isinstance(path, str):
            return {}
    try:
        config = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def _window(config: dict[str, Any]) -> int | None:
    own = config.get("text_config")
    window = (own if isinstance(own, dict) else config).get("max_position_embeddings")
    return window if type(window) is int and window > 0 else None


def _streamer(tokenizer: Any, emit: Callable[[str], None]) -> Any:
    """Returns a streamer that passes finished words to `emit`, since transformers' own iterators hang on failures."""
    from transformers import TextStreamer

    class Words(TextStreamer):
        def on_finalized_text(self, text: str, stream_end: bool = False) -> None:
            if text:
                emit(text)

    return Words(tokenizer, skip_prompt=True, skip_special_tokens=True)


_Turn = tuple[str, list[str | PhotoPart]]


def _turns(messages: Sequence[ChatMessage]) -> list[_Turn]:
    """Returns one system turn followed by alternating turns, since many chat templates accept nothing else."""
    ordered = sorted(in_words(messages), key=lambda message: message.role != "system")
    return [
        (role, [part for message in group for part in message.parts if isinstance(part, str | PhotoPart)])
        for role, group in itertools.groupby(ordered, key=lambda message: message.role)
    ]


def _without_system(turns: Sequence[_Turn]) -> list[_Turn]:
    if len(turns) < 2 or turns[0][0] != "system":
        return list(turns)
    (_, instructions), (role, parts), *rest = turns
    return [(role, [*instructions, *parts]), *rest]


def _render(loaded: _Loaded, turns: Sequence[_Turn], options: dict[str, Any]) -> str:
    if loaded.reads_photos:
        conversation: list[dict[str, Any]] = [{"role": role, "content": _parts(parts)} for role, parts in turns]
    else:
        conversation = [
            {"role": role, "content": "\n\n".join(p if isinstance(p, str) else p.label for p in parts)}
            for role, parts in turns
        ]
    rendered: str = loaded.reader.apply_chat_template(
        conversation, add_generation_prompt=True, tokenize=False, **options
    )
    return rendered


def _parts(parts: Sequence[str | PhotoPart]) -> list[dict[str, Any]]:
    """Returns the content parts for a template, with each photo after its label."""
    content: list[dict[str, Any]] = []
    for part in parts:
        content.append({"type": "text", "text": part if isinstance(part, str) else part.label})
        if isinstance(part, PhotoPart):
            content.append({"type": "image"})
    return content


def _picture(photo: PhotoPart) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(photo.data)).convert("RGB")


def _is_out_of_memory(error: Exception) -> bool:
    import torch

    return isinstance(error, MemoryError | torch.cuda.OutOfMemoryError)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200].rstrip(".")
