"""Lines of talk, and the facts that they tell and show."""

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

from data_synthesis.classes import class_words
from data_synthesis.grammar.concept_looks import has_unique_setting, is_place
from data_synthesis.grammar.plan import Member
from data_synthesis.group import ConceptPhoto, TurnPlace
from data_synthesis.wording import whole_words


@dataclass(slots=True, eq=False)
class Line:
    """What one speaker says without a break. `opening`, `extras`, `tail` and `led` are those of its template.

    `place` is set when the turns are laid out. `secret` are words that its turn may not add.
    """

    speaker: int
    text: str
    photo: Path | None = None
    place: TurnPlace | None = None
    opening: str = ""
    extras: list[str] = field(default_factory=list)
    tail: str = ""
    led: bool = False
    secret: frozenset[str] = frozenset()

    @property
    def at(self) -> TurnPlace:
        assert self.place is not None, "a fact refers to a line that was left out"
        return self.place


@dataclass(frozen=True, slots=True, eq=False)
class ShownPhoto:
    """A photo and the line that it came with. `expression` dates when it was taken or found.

    `occasion` is what was going on then, as a question names it, and `occasion_told` as the line tells it; "" if not told.
    """

    member: Member
    photo: ConceptPhoto
    line: Line
    day: date
    occasion: str
    occasion_told: str
    expression: str = ""
    found: bool = False

    @property
    def quotable(self) -> bool:
        """Whether questions may identify the photo by its setting. Then no question asks for that setting."""
        photos = self.member.concept.photos
        first = next((photo for photo in photos if has_unique_setting(photo, photos)), None)
        hidden = class_words(self.member.concept) & set(whole_words(self.photo.setting))
        return first is self.photo and not hidden

    @property
    def asks_for_place(self) -> bool:
        """Whether questions may ask for the place that it shows."""
        return is_place(self.photo) and not self.quotable


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """Who gave the concept to its owner, by name or profession, and the lines that say so.

    `told_of` are the kinds of concepts that this story fits.
    """

    kind: Literal["origin", "job"]
    member: Member
    answer: str
    lines: tuple[Line, ...]
    told_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """An event that `line` dates with `expression`; `earlier` are lines that gave it another date.

    `noun` is what its owner calls it, with {N} for the concept's name.
    """

    member: Member
    noun: str
    line: Line
    expression: str
    earlier: tuple[Line, ...] = ()


@dataclass(slots=True)
class Facts:
    """All facts of a script. `nicknames` has, by the name of a concept, the lines that together tell its nickname."""

    shown: list[ShownPhoto] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    nicknames: dict[str, tuple[Line, ...]] = field(default_factory=dict)

    def ambiguous_origins(self) -> list[Statement]:
        """Returns the origin stories that would also fit another concept of the same owner whose origin is told.

        A question about one of them must say which concept it means.
        """
        origins = [statement for statement in self.statements if statement.kind == "origin"]

        def fits_another(origin: Statement) -> bool:
            member = origin.member
            return any(
                other is not origin and other.member.owner == member.owner and member.kind in other.told_of
                for other in origins
            )

        return list(filter(fits_another, origins))

    def ambiguous_nicknames(self) -> dict[str, tuple[Line, ...]]:
        """Returns the nicknames, if there are several."""
        return self.nicknames if len(self.nicknames) > 1 else {}
