"""The settings as HTML: the language model, the theme, cost and time, the data, and erasing for good."""

from collections.abc import Sequence
from datetime import date

from m2a.sentences import IN_THE_PAGE, with_names
from m2a.types import ChatConnection, CostSum, DataSize
from m2a.ui import markup
from m2a.ui.costs import days_html
from m2a.ui.erase_button import erase_button

_MAX_LINES = 50
_OFFLINE = "offline"
_THEMES = (("system", "System"), ("light", "Light"), ("dark", "Dark"))
_HERE = {"`m2a repair`": "“Fix what can be fixed”"}


def head_html() -> str:
    return (
        f'<div class="m-memory-head">{markup.menu()}<h2 tabindex="-1">Settings</h2><p>For this computer</p>'
        '<button type="button" class="m-icon" data-place="chat" aria-label="Close the settings">✕</button></div>'
    )


def connection_html(connection: ChatConnection) -> str:
    """Returns the form for the chat model. A field that the environment sets is disabled and names its variable."""
    model = "" if connection.chat_model == _OFFLINE else connection.chat_model
    key = "A key is saved; it is never shown. Leave this empty to keep it" if connection.has_key else "No key is saved"
    now = f"In use: <b>{markup.text(model)}</b>" if model else "In use: <b>none</b>. I answer with built-in rules"
    if connection.sent_to:
        now += f". Your messages and photos are sent to {markup.text(connection.sent_to)}"
    off = '<button type="button" class="m-button" data-settings-act="offline">Use no language model</button>'
    return (
        f'<section class="m-setting" aria-labelledby="m2a-set-model"><h3 id="m2a-set-model">Language model</h3><p>{now}.</p>'
        "<form data-connect>"
        + _field(
            "Model",
            "chat_model",
            model,
            "openai:NAME for your own server, or another provider such as anthropic:NAME",
            connection,
            placeholder="For example: openai:llama3.2",
        )
        + _field(
            "Address of the server",
            "chat_base_url",
            connection.chat_base_url or "",
            "Leave empty for the provider’s own. For Ollama on this computer: http://127.0.0.1:11434/v1",
            connection,
            placeholder="For example: http://127.0.0.1:11434/v1",
        )
        + _field("Key", "chat_api_key", "", key, connection, kind="password")
        + f'<div class="m-acts"><button class="m-button">Test and use it</button>{off if model else ""}</div>'
        "<small>With a provider, or a server on another computer, what you write, your photos and what I remember for an answer "
        "are sent there.</small>"
        f"<small>M2A tests the model first, and saves these settings only if the model answers. They are saved in "
        f"{markup.text(connection.file)}, which only you can read. A key is sent only to the server that you entered it for: "
        "for another provider or address, enter its key again.</small></form></section>"
    )


def theme_html() -> str:
    """Returns the choice of the theme, which the browser remembers."""
    choices = "".join(
        f'<label><input type="radio" name="theme" value="{value}" data-theme> {name}</label>' for value, name in _THEMES
    )
    return (
        f'<section class="m-setting"><fieldset class="m-choices"><legend>Theme</legend>{choices}</fieldset></section>'
    )


def costs_html(days: Sequence[CostSum], total: CostSum, *, shown_days: int, today: date) -> str:
    """Returns the section of cost and time by day."""
    table = days_html(days, total, today=today)
    return (
        '<section class="m-setting" aria-labelledby="m2a-set-cost"><h3 id="m2a-set-cost">Cost and time</h3>'
        f"<p>The last {shown_days} days, day by day. What a single answer took is shown below it.</p>{table}</section>"
    )


def data_html(size: DataSize, *, is_reindexing: bool) -> str:
    """Returns the size of the data, and the buttons that check it and rebuild the index."""
    reindex = "Show the progress" if is_reindexing else "Rebuild the search index"
    rows = [
        ("Conversations", f"{size.conversations:,}"),
        ("Messages", f"{size.messages:,}"),
        ("Memories", f"{size.memories:,}"),
        ("Photos", f"{size.photos:,} · {_bytes(size.photo_bytes)}"),
        ("Database", _bytes(size.database_bytes)),
        ("Search index", _bytes(size.index_bytes)),
    ]
    facts = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    waiting = (
        f"<p>{markup.plural(size.waiting, 'record')} {'is' if size.waiting == 1 else 'are'} not in the search index yet. The "
        "next search adds what is missing.</p>"
        if size.waiting
        else ""
    )
    return (
        '<section class="m-setting" aria-labelledby="m2a-set-data"><h3 id="m2a-set-data">Data</h3>'
        f'<dl class="m-facts">{facts}</dl>{waiting}<p class="m-when">Everything is stored in {markup.text(size.folder)}.</p>'
        '<div class="m-acts">'
        '<button type="button" class="m-button" data-settings-act="verify">Check the stored data</button>'
        f'<button type="button" class="m-button" data-settings-act="reindex">{reindex}</button></div>'
        "<small>Rebuilding the index loses nothing, and carries on if you leave this page. If you cancel it, the next search "
        "finishes it.</small></section>"
    )


def erasing_html() -> str:
    """Returns the section that erases all that was forgotten, or everything, and lists past erasures."""
    return (
        '<section class="m-setting m-erase-offers" aria-labelledby="m2a-set-erase"><h3 id="m2a-set-erase">Erase for good</h3>'
        "<p>You can erase a message, a photo, a memory or a conversation wherever you see it. Here you can erase more at "
        "once. You always see what will be erased before it happens.</p>"
        f"<div>{erase_button('forgotten', None, 'Erase what was forgotten…')}"
        f"{erase_button('everything', None, 'Erase everything…', style='m-button m-warned')}"
        '<button type="button" class="m-button" data-receipts>Past erasures</button></div></section>'
    )


def reindexing_html(done: int, total: int, *, is_cancelled: bool) -> str:
    """Returns the progress of the rebuild, with a button that cancels it."""
    words = f"{done:,} of {total:,} records are in the new index…" if total else "Rebuilding the search index…"
    if is_cancelled:
        return working_html("Stopping…", done, total)
    cancel = '<button type="button" class="m-button" data-settings-act="cancel" data-focus="cancel">Cancel</button>'
    return working_html(words, done, total, button=cancel)


def reindexed_html(records: int, left: int) -> str:
    """Returns the report after the rebuild; `left` records are not in the index yet."""
    if not left:
        return report_html([f"The search index is rebuilt. It holds {markup.plural(records, 'record')}."])
    return report_html(
        [
            f"Cancelled. {records - left:,} of {records:,} records are in the index. The next search adds the rest, so it "
            "takes longer."
        ]
    )


def working_html(words: str, done: int = 0, total: int = 0, *, button: str = "") -> str:
    """Returns the display of work in progress; a `button` may cancel it."""
    bar = f'<progress max="{total}" value="{done}" aria-label="{markup.text(words)}"></progress>' if total else ""
    return f'<div class="m-report" role="status"><p class="m-thinking">{markup.DOTS}{markup.text(words)}</p>{bar}{button}</div>'


def report_html(sentences: Sequence[str], *, mark: str = "") -> str:
    """Returns a report. The `mark` is for the page's script."""
    return f'<div class="m-report" role="status"{mark}>{_lines(sentences)}</div>'


def connected_html(sentences: Sequence[str]) -> str:
    """Returns what the newly connected language model can do. The page's script then clears the key from the form."""
    return report_html(sentences, mark=" data-connected")


def failed_html(sentence: str) -> str:
    return f'<div class="m-failure" role="alert">{markup.text(sentence)}</div>'


def faults_html(faults: Sequence[str], fixed: Sequence[str] | None = None) -> str:
    """Returns the problems found, with a button that fixes them; after a repair, what was fixed and what is left."""
    if fixed is None:
        if not faults:
            return report_html(["No problems found: messages, memories, photos and the search index are consistent."])
        button = '<button type="button" class="m-button" data-settings-act="repair">Fix what can be fixed</button>'
        title = f"{markup.plural(len(faults), 'problem')} found."
        return (
            f'<div class="m-report" role="status"><p><b>{title}</b> Fixing loses nothing that you said.</p>'
            f"{_lines([with_names(fault, _HERE) for fault in faults])}{button}</div>"
        )
    report = list(fixed) or ["There was nothing to fix."]
    left = (
        f"<p><b>Could not be fixed:</b></p>{_lines([with_names(fault, IN_THE_PAGE) for fault in faults])}"
        if faults
        else "<p>Everything is consistent now.</p>"
    )
    return f'<div class="m-report" role="status">{_lines(report)}{left}</div>'


def _lines(sentences: Sequence[str]) -> str:
    if len(sentences) == 1:
        return f'<p dir="auto">{markup.text(sentences[0])}</p>'
    items = "".join(f'<li dir="auto">{markup.text(sentence)}</li>' for sentence in sentences[:_MAX_LINES])
    more = len(sentences) - _MAX_LINES
    return f"<ul>{items}{f'<li>And {more} more.</li>' if more > 0 else ''}</ul>"


def _field(
    label: str,
    name: str,
    value: str,
    hint: str,
    connection: ChatConnection,
    *,
    kind: str = "text",
    placeholder: str = "",
) -> str:
    variable = connection.fixed.get(name)
    state = ""
    if variable:
        hint = f"Set by {variable}; start M2A without it to change this here."
        state = " disabled"
        value = value or ("set, not shown" if kind == "password" else "")
    complete = "new-password" if kind == "password" else "off"
    return (
        f'<label>{label}<input type="{"text" if variable else kind}" name="{name}" value="{markup.text(value)}" '
        f'placeholder="{placeholder}" maxlength="2000" autocomplete="{complete}" spellcheck="false" '
        f'aria-describedby="m2a-hint-{name}"{state}></label><small id="m2a-hint-{name}">{markup.text(hint)}</small>'
    )


def _bytes(number: int | None) -> str:
    if number is None:
        return "on a server"
    size = float(number)
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
