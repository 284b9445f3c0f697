"""Decides which memories of an update are written, which wait for the owner's review, and which are never remembered."""

from collections.abc import Container
from dataclasses import replace

from m2a.memory.sensitive import category_of
from m2a.types import Addition, Category, Change, EntryDraft, Held, MemoryRule, Refusal, Replacement, Update

_NAMES: dict[Category, str] = {
    "cards": "card numbers",
    "secrets": "passwords and keys",
    "accounts": "bank accounts",
    "emails": "e-mail addresses",
}


def admitted(update: Update, rule: MemoryRule, known: Container[str] = ()) -> Update:
    """Returns the update with the changes that the owner's rule holds back as refusals.

    Only new memories are held back; forgetting and restoring happen at once, and so does adding one of the `known` texts, which
    only renews a memory.
    """
    changes: list[Change] = []
    refusals: list[Refusal] = []
    for change in update.changes:
        is_known = isinstance(change, Addition) and change.draft.text in known
        refusal = None if is_known else _refused(change, rule)
        if refusal is None:
            changes.append(change)
        else:
            refusals.append(refusal)
    return replace(update, changes=tuple(changes), refusals=(*refusals, *update.refusals))


def _refused(change: Change, rule: MemoryRule) -> Refusal | None:
    if not isinstance(change, Addition | Replacement):
        return None
    if category := category_of(_words_of(change.draft), rule.never):
        reason = f"Your settings keep {_NAMES[category]} out of my memory."
        return _refusal(change, reason, "category")
    return _refusal(change, "", "review") if rule.after_review else None


def _refusal(change: Addition | Replacement, reason: str, held: Held) -> Refusal:
    return Refusal(change.draft.text, reason, change, held)


def _words_of(draft: EntryDraft) -> str:
    names = [name for concept in draft.concepts for name in (concept.name, *concept.aliases)]
    return "\n".join((draft.text, draft.caption, *names))
