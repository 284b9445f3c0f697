"""The form that sets when memories are written, and the rule that it sends."""

from typing import Any, get_args

from m2a.types import Category, MemoryRule

_NAMES: dict[Category, str] = {
    "cards": "Card numbers",
    "secrets": "Passwords, PINs and keys",
    "accounts": "Bank accounts (IBAN)",
    "emails": "E-mail addresses",
}

_SAVED = '<div class="m-told" role="status">Saved. It applies from the next message on.</div>'


def memory_rule_html(rule: MemoryRule, *, is_saved: bool = False) -> str:
    """Returns the form, and below it the notice that it was saved."""
    when = _choice("", "Right away", not rule.after_review) + _choice(
        "yes", "Ask me first: they wait under Review in Memory", rule.after_review
    )
    boxes = "".join(
        f'<label class="m-check"><input type="checkbox" name="never" value="{category}"'
        f"{' checked' * (category in rule.never)}> {name}</label>"
        for category, name in _NAMES.items()
    )
    return (
        '<section class="m-setting" aria-labelledby="m2a-set-rule"><h3 id="m2a-set-rule" tabindex="-1">What I remember</h3>'
        f'<form class="m-rule" data-rule><fieldset><legend>When to save memories</legend>{when}</fieldset>'
        f"<fieldset><legend>Never save, unless I confirm it</legend>{boxes}</fieldset>"
        "<small>What I leave out is listed under the answer, with a button to keep it anyway. The conversation itself keeps what "
        'you wrote.</small><button class="m-button">Save</button></form>'
        f"{_SAVED * is_saved}</section>"
    )


def rule_of(event: Any) -> MemoryRule:
    """Returns the rule that the form was sent with."""
    value = getattr(event, "never", [])
    never = value if isinstance(value, list) else []
    return MemoryRule(
        getattr(event, "after_review", "") == "yes",
        frozenset(category for category in get_args(Category) if category in never),
    )


def _choice(value: str, name: str, chosen: bool) -> str:
    checked = " checked" * chosen
    return f'<label class="m-check"><input type="radio" name="after_review" value="{value}"{checked}> {name}</label>'
