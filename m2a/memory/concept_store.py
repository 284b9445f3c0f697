"""The people, pets, places and things that entries are about.

A name, an alias or a photo of a concept holds as long as an entry that states it is live.
"""

from collections.abc import Collection, Iterable

from sqlalchemy import ColumnElement, Table, and_, bindparam, delete, insert, or_, select, update

from m2a.memory.schema import concept, concept_alias, concept_photo, entry, entry_concept, entry_photo
from m2a.memory.sql import grouped, has_row
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.words import finished_words
from m2a.types import Concept, ConceptMention


def fold_name(name: str) -> str:
    """Returns a form that is equal for names that differ only in case and spacing."""
    return " ".join(name.casefold().split())


def concepts(unit: UnitOfWork) -> list[Concept]:
    """Returns the concepts that live entries name, in the order in which they were named."""
    of_owner = {"owner": unit.owner}
    rows = unit.execute(_CONCEPTS, of_owner).all()
    if not rows:
        return []
    aliases: dict[int, list[str]] = grouped(unit.execute(_ALIASES, of_owner))
    shown, denied = _photos(unit)
    return [
        Concept(
            row.concept_id,
            unit.owner,
            row.name,
            tuple(aliases.get(row.concept_id, ())),
            row.kind,
            shown.get(row.concept_id, ()),
            denied.get(row.concept_id, ()),
        )
        for row in rows
    ]


def _photos(unit: UnitOfWork) -> tuple[dict[int, tuple[str, ...]], dict[int, tuple[str, ...]]]:
    """Returns, by concept, the photos that show it and those that do not, oldest first; the latest statement counts."""
    rows = unit.execute(_PHOTOS, {"owner": unit.owner})
    is_denied: dict[int, dict[str, bool]] = {}
    for concept_id, photo_id, this_is_denied in rows:
        is_denied.setdefault(concept_id, {})[photo_id] = this_is_denied
    shown, denied = (
        {
            concept_id: tuple(photo_id for photo_id, denied in photos.items() if denied is is_selected)
            for concept_id, photos in is_denied.items()
        }
        for is_selected in (False, True)
    )
    return shown, denied


def link(
    unit: UnitOfWork, memory_id: int, mention: ConceptMention, photo_ids: Iterable[str], who: str, message_id: int
) -> None:
    """Links an entry to the concept that it mentions, which is created if necessary.

    Also links the photos that the mention names, or without any all `photo_ids` of the entry.
    """
    concept_id = _concept_id(unit, mention)
    for alias in mention.aliases:
        folded = fold_name(alias)
        if folded == fold_name(mention.name):
            continue
        same_alias = and_(
            unit.owns(concept_alias), concept_alias.c.concept_id == concept_id, concept_alias.c.folded_alias == folded
        )
        if unit.execute(select(concept_alias.c.alias).where(same_alias)).first() is None:
            unit.execute(
                insert(concept_alias).values(
                    owner=unit.owner, concept_id=concept_id, alias=alias, folded_alias=folded, memory_id=memory_id
                )
            )
        elif unit.execute(select(concept_alias.c.alias).where(same_alias, _is_stated(concept_alias))).first() is None:
            unit.execute(update(concept_alias).where(same_alias).values(alias=alias, memory_id=memory_id))
    _insert_once(unit, entry_concept, memory_id=memory_id, concept_id=concept_id)
    for photo_id in photo_ids if mention.photo_ids is None else mention.photo_ids:
        _insert_once(
            unit,
            concept_photo,
            {"who": who, "message_id": message_id, "is_denied": mention.denied},
            concept_id=concept_id,
            photo_id=photo_id,
            memory_id=memory_id,
        )


def all_names(unit: UnitOfWork, concept_ids: Collection[int]) -> list[str]:
    """Returns all names and aliases of the concepts, whether or not a live entry still states them."""
    names: list[str] = []
    for table, column in ((concept, concept.c.name), (concept_alias, concept_alias.c.alias)):
        of_concepts = table.c.concept_id.in_(sorted(concept_ids))
        names += unit.scalars(select(column).where(unit.owns(table), of_concepts))
    return names


def delete_names_with(unit: UnitOfWork, concept_ids: Collection[int], erased_words: Collection[str]) -> None:
    """Deletes the concepts that no entry is about, and the names that contain one of the erased words.

    If a concept that entries are about loses its name, one of its remaining aliases becomes its name; without any, the
    concept is deleted.
    """

    def remains(name: str) -> bool:
        return set(erased_words).isdisjoint(finished_words(name))

    for concept_id in sorted(concept_ids):
        of_concept = {
            table: unit.owns(table) & (table.c.concept_id == concept_id)
            for table in (concept, concept_alias, entry_concept, concept_photo)
        }
        name = unit.scalar(select(concept.c.name).where(of_concept[concept]))
        aliases = unit.scalars(select(concept_alias.c.alias).where(of_concept[concept_alias])).all()
        for alias in aliases:
            if not remains(alias):
                is_alias = concept_alias.c.folded_alias == fold_name(alias)
                unit.execute(delete(concept_alias).where(of_concept[concept_alias], is_alias))
        is_about = unit.execute(select(entry_concept.c.memory_id).where(of_concept[entry_concept])).first() is not None
        if name is None or (is_about and remains(name)):
            continue
        new_name = next((alias for alias in aliases if remains(alias)), None) if is_about else None
        if new_name is not None:
            folded = fold_name(new_name)
            unit.execute(delete(concept_alias).where(of_concept[concept_alias], concept_alias.c.folded_alias == folded))
            unit.execute(update(concept).where(of_concept[concept]).values(name=new_name, folded_name=folded))
            continue
        for table, condition in of_concept.items():
            unit.execute(delete(table).where(condition))


def _concept_id(unit: UnitOfWork, mention: ConceptMention) -> int:
    folded, name = fold_name(mention.name), mention.name.strip()
    by_name = unit.scalar(select(concept.c.concept_id).where(unit.owns(concept), concept.c.folded_name == folded))
    if by_name is not None:
        unused = (unit.owns(concept), concept.c.concept_id == by_name, ~_is_named())
        unit.execute(update(concept).where(*unused).values(name=name, kind=mention.kind))
        return int(by_name)
    by_alias = unit.scalar(
        select(concept_alias.c.concept_id)
        .where(unit.owns(concept_alias), concept_alias.c.folded_alias == folded, _is_stated(concept_alias))
        .order_by(concept_alias.c.concept_id)
    )
    if by_alias is not None:
        return int(by_alias)
    concept_id = unit.next_id("concept")
    unit.execute(
        insert(concept).values(
            owner=unit.owner, concept_id=concept_id, name=name, folded_name=folded, kind=mention.kind
        )
    )
    return concept_id


def _is_named() -> ColumnElement[bool]:
    """Returns the condition that a live entry is about the concept in the row."""
    is_alive = has_row(entry, entry_concept, "memory_id", where=entry.c.alive)
    return has_row(entry_concept, concept, "concept_id", where=is_alive)


def _is_stated(table: Table) -> ColumnElement[bool]:
    """Returns the condition that the entry of a row is live; aliases from schema version 1 name no entry and always count."""
    return or_(table.c.memory_id.is_(None), has_row(entry, table, "memory_id", where=entry.c.alive))


# Built once: every turn reads the concepts twice, and building these takes three times as long as running them.
_CONCEPTS = select(concept).where(concept.c.owner == bindparam("owner"), _is_named()).order_by(concept.c.concept_id)
_ALIASES = (
    select(concept_alias.c.concept_id, concept_alias.c.alias)
    .where(concept_alias.c.owner == bindparam("owner"), _is_stated(concept_alias))
    .order_by(concept_alias.c.alias)
)
# The entry of a link must still have the photo, because undoing a renewal may have removed it.
_PHOTOS = (
    select(concept_photo.c.concept_id, concept_photo.c.photo_id, concept_photo.c.is_denied)
    .where(
        concept_photo.c.owner == bindparam("owner"),
        _is_stated(concept_photo),
        has_row(entry_photo, concept_photo, "memory_id", "photo_id"),
    )
    .order_by(concept_photo.c.message_id, concept_photo.c.is_denied, concept_photo.c.photo_id)
)


def _insert_once(unit: UnitOfWork, table: Table, values: dict[str, object] | None = None, **key: object) -> None:
    same_key = [table.c[name] == value for name, value in key.items()]
    if unit.execute(select(table).where(unit.owns(table), *same_key)).first() is None:
        unit.execute(insert(table).values(owner=unit.owner, **key, **(values or {})))
