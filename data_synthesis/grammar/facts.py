"""What a script tells and shows: lines of talk, and the facts that were put into them."""

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from data_synthesis.classes import class_words
from data_synthesis.grammar.concept_looks import is_place, tells_apart
from data_synthesis.grammar.plan import Member
from data_synthesis.group import ConceptPhoto, TurnPlace
from data_synthesis.wording import whole_words


@dataclass(slots=True, eq=False)
class Line:
    """What one speaker says in one go. `opening`, `extras` and `tail` are those of its template.

    `place` is known once the turns are laid out. `led` is whether something that is no part of it leads to it.
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
        assert self.place is not None, "a fact was told in a line that was left out"
        return self.place


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A photo and the line it came with. `expression` dates its taking or finding; `asked` is what went on meanwhile."""

    member: Member
    photo: ConceptPhoto
    line: Line
    day: date
    asked: str
    told: str
    expression: str = ""
    found: bool = False

    @property
    def quotable(self) -> bool:
        """Whether questions may name the photo by its setting. Then no question asks for that setting."""
        photos = self.member.concept.photos
        first = next((photo for photo in photos if tells_apart(photo, photos)), None)
        hidden = class_words(self.member.concept) & set(whole_words(self.photo.setting))
        return first is self.photo and not hidden

    @property
    def place_asked(self) -> bool:
        """Whether questions may ask for the place it shows."""
        return is_place(self.photo) and not self.quotable


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """Something said of a concept. `ask` has {N} for its name."""

    kind: str
    member: Member
    ask: str
    answer: str
    lines: tuple[Line, ...]
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Happened:
    """An event that `line` dates by `expression`; `earlier` are lines that gave it another date."""

    member: Member
    ask: str
    line: Line
    expression: str
    earlier: tuple[Line, ...] = ()


@dataclass(slots=True)
class Facts:
    """`nicknamed` are the lines that together say what a concept of that name is also called."""

    shown: list[Shown] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    happened: list[Happened] = field(default_factory=list)
    nicknamed: dict[str, tuple[Line, ...]] = field(default_factory=dict)
