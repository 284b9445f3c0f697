"""What a new user reads first: what M2A is, what to try, and which language model it uses."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from m2a.ui import markup

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@dataclass(frozen=True, slots=True)
class Example:
    """A message, perhaps with a drawing from `assets/examples`, that a click puts into the message box."""

    title: str
    text: str
    picture: str | None = None

    @property
    def path(self) -> Path | None:
        return ASSETS / "examples" / self.picture if self.picture else None


EXAMPLES = (
    Example("Show me someone", "This is my dog Bobo. He loves his red ball.", "dog.png"),
    Example("Tell me something", "My sister Ana moved to Lisbon in May 2023."),
    Example("Then ask me", "What toys does Bobo like?"),
)

CONNECT = "M2A_CHAT_MODEL=openai:NAME \\\nM2A_CHAT_BASE_URL=http://127.0.0.1:11434/v1 \\\nmake run"


def welcome_html(
    *, offline: bool, returning: bool, has_remote_model: bool = False, has_remote_database: bool = False
) -> str:
    """Returns the text of an empty conversation; a longer one for a user who has no conversation yet.

    `has_remote_model`: the language model is not on this computer. `has_remote_database`: the database may not be on it either.
    """
    stays = (
        "I keep everything in the database that M2A was set up with"
        if has_remote_database
        else "Everything stays on this computer"
    )
    if returning:
        return (
            '<section class="m-welcome"><h2>What is on your mind?</h2>'
            "<p>Tell me something, show me photos, or ask about what you told me before.</p></section>"
        )
    return (
        '<section class="m-welcome"><h2>Hello, I am M2A.</h2>'
        "<p>I chat with you, look at your photos and remember what you tell me. Weeks later you can ask about it, "
        "in words or with another photo, and I show you how I know it.</p>"
        f"<p>{stays}{', except for what I send to the language model that you connected' if has_remote_model else ''}.</p>"
        + (offline_html() if offline else "")
        + "<p class='m-try'>Try one of these. A click puts it into the box below, and nothing is sent until you send it.</p>"
        "</section>"
    )


def offline_html() -> str:
    return (
        '<details class="m-details m-offline" data-key="offline"><summary>I run without a language model</summary>'
        "<p>I follow rules: I remember what you say in plain sentences and quote it back, but I am no good at small talk. "
        "For a real conversation, connect a model: any server that speaks OpenAI’s protocol, such as Ollama, "
        'LM Studio, llama.cpp or vLLM on this computer. <a href="/?settings=" data-place="settings">Connect it in the '
        "settings</a>, or stop M2A and start it with the model’s name and address:</p>"
        f"<pre><code>{markup.text(CONNECT)}</code></pre>"
        "<p>Your memories stay as they are. The README has the commands for each server.</p></details>"
    )


def model_html(chat_model: str, abilities: Sequence[str]) -> str:
    """Returns the line at the foot of the side bar. What the model can do opens below it."""
    if chat_model == "offline":
        return '<p class="m-model">No language model connected</p>'
    name = f"Language model:&nbsp;<b>{markup.text(chat_model)}</b>"
    if not abilities:
        return f'<p class="m-model">{name}</p>'
    items = "".join(f"<li>{markup.text(sentence)}</li>" for sentence in abilities)
    return f'<details class="m-details m-model" data-key="model"><summary>{name}</summary><ul>{items}</ul></details>'


def loading_html(loading: Sequence[tuple[str, bool]]) -> str:
    """Returns the progress line while models load; empty once all are loaded."""
    missing = [name for name, is_loaded in loading if not is_loaded]
    if not missing:
        return ""
    number = len(loading) - len(missing) + 1
    return (
        f'<p class="m-loading" role="status">{markup.DOTS}'
        f"Loading the {markup.text(missing[0])}… {number} of {len(loading)}</p>"
    )


def examples_html() -> str:
    """Returns the examples as buttons, with their pictures."""
    buttons = "".join(_example(index, example) for index, example in enumerate(EXAMPLES))
    return f'<div class="m-examples">{buttons}</div>'


def _example(index: int, example: Example) -> str:
    picture = f'<img src="/m2a/examples/{example.picture}" alt="">' if example.picture else ""
    return (
        f'<button type="button" class="m-example" data-example="{index}">{picture}'
        f"<span><b>{markup.text(example.title)}</b>{markup.text(example.text)}</span></button>"
    )
