"""What is nothing but thanks, and what says more."""

from datetime import UTC, datetime

import pytest

from m2a.agents.courtesies import only_thanks
from m2a.types import Message, Role


def message(text: str, role: Role = "user", photos: tuple[str, ...] = ()) -> Message:
    return Message(1, "owner", "chat", role, role, text, photos, datetime(2026, 3, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    "text",
    [
        "Thanks!",
        "thank you so much 🙏",
        "Thanks a lot for your help.",
        "Thx",
        "Vielen Dank!",
        "Danke dir sehr",
        "merci beaucoup",
        "¡Muchas gracias!",
        "dziękuję bardzo",
    ],
)
def test_thanks_in_several_languages_say_nothing_else(text: str) -> None:
    assert only_thanks(message(text), [message("Here you are.", "assistant")])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Thanks, Bobo is fine.",
        "Thanks to Anna I found the key.",
        "Great, thanks, let's do the second one.",
        "Yes, thanks.",
        "Thanks for all you do for my mother",
        "Thanks, at 7",
        "Thank you?",
        "no thanks",
        "Perfect, thank you!",
        "Danke, ich nehme den Zug.",
    ],
)
def test_whatever_else_is_said_counts(text: str) -> None:
    assert not only_thanks(message(text), [])


def test_thanks_with_a_photo_or_after_a_question_may_say_more() -> None:
    assert not only_thanks(message("Thanks!", photos=("a",)), [])
    assert not only_thanks(message("Thanks!"), [message("Shall I note Tuesday?", "assistant")])
