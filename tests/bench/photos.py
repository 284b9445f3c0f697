"""Photos beside text: `python -m tests.bench photos`.

A memory of fifty photos of DreamBooth, each shown with a few words, and thirty facts that were told without a photo. Each fact
has a question in words, a third of them about things that photos show as well (the dog sitter, the boots at the cobbler's).
Measured is how many questions find their fact first, and in the first three; and that the photos are still found:

- by words that describe what a photo shows ("Where did I put my crimson-red backpack?"): how many of twenty find one of its
  photos among ten;
- by another photo of it: how many of twenty find a message that shows it first, and which share of those that show it are
  among ten;
- by a question about a fact that comes with a photo, which has nothing to do with it: how many find the fact among three, and
  among ten;
- strangers: how many of thirty questions about what was never told find nothing.

Encoders, floors and ranking are those of the product, over messages; the published fusion is shown beside it.
"""

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from m2a.systems.shared import Fusion, Memory, SharedStores, Utterance
from m2a.types import Query
from m2a.wiring import cache_dir
from models.image_encoder import EFFICIENTNET
from models.load import load_image_encoder, load_text_encoder
from models.text_encoder import MINILM
from tests.requirements import DREAMBOOTH

PHOTOS = 50
BEGINNING = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

# What was told, and the question about it.
FACTS = (
    ("I am allergic to hazelnuts.", "What am I allergic to?"),
    ("The dog sitter is called Henrike and charges 15 euros an hour.", "How much does the dog sitter charge?"),
    ("The vet said that the cat must not eat tuna.", "What must the cat not eat?"),
    ("I left my backpack at Tom's place on Friday.", "Where did I leave my backpack?"),
    ("My alarm clock rings at 6:40 on weekdays.", "When does my alarm clock ring?"),
    ("The boots are at the cobbler's, ready on Thursday.", "When are the boots ready?"),
    ("My prescription for glasses is minus 2.5.", "What is my prescription for glasses?"),
    ("The cartoon festival in Angoulême starts on 29 January.", "When does the cartoon festival start?"),
    ("The beer is in the cellar, behind the bicycles.", "Where is the beer?"),
    ("Grandma's candle burned a hole into the tablecloth.", "What burned a hole into the tablecloth?"),
    ("The robot vacuum needs a new filter every six months.", "How often does the robot vacuum need a filter?"),
    ("For running shoes I take size 43.", "Which size of running shoes do I take?"),
    ("My sister Olga moved to Lisbon in March.", "Where does my sister live?"),
    ("The spare key is under the blue flowerpot.", "Where is the spare key?"),
    ("The code of the garage is 4711.", "What is the code of the garage?"),
    ("My nephew Emil turns seven on 3 May.", "When is Emil's birthday?"),
    ("Our anniversary dinner is at the Osteria da Franco.", "Where do we have our anniversary dinner?"),
    ("My passport expires in November 2027.", "When does my passport expire?"),
    ("The landlord raised the rent to 940 euros.", "How much is the rent?"),
    ("I play the cello in the city orchestra.", "Which instrument do I play?"),
    ("My boss Marlene hates being called before nine.", "Before what time does Marlene not want to be called?"),
    ("The neighbour's son repairs bicycles for free.", "Who repairs bicycles?"),
    ("The plumber comes on Tuesday afternoon.", "When does the plumber come?"),
    ("I take 50 mg of sertraline every morning.", "Which medicine do I take in the morning?"),
    ("My blood type is A negative.", "What is my blood type?"),
    ("We planted two apple trees behind the house.", "What did we plant behind the house?"),
    ("The marathon in Valencia took me four hours and ten minutes.", "How long did the marathon take me?"),
    ("My dentist is Doctor Okafor in Mill Street.", "Who is my dentist?"),
    ("I promised Jonas to help him move on the 14th.", "Whom did I promise to help move?"),
    ("The wifi password is on the back of the calendar.", "Where is the wifi password?"),
)
# What was never told.
STRANGE = (
    "What is the capital of Mongolia?",
    "Which university did Bertram graduate from?",
    "How tall is my uncle Ferdinand?",
    "When did Celeste publish her second novel?",
    "What did the judge say about the lawsuit?",
    "How much did the kitchen renovation cost?",
    "Which guitar strings does Pablo recommend?",
    "Why was the flight to Reykjavik cancelled?",
    "What is Ingrid's favorite opera?",
    "How many chapters does the thesis have?",
    "Where did Samira study architecture?",
    "When is the board meeting in Zurich?",
    "Which charity did the gala raise money for?",
    "What did the therapist suggest about sleep?",
    "Who won the chess tournament in April?",
    "How does Vikram make his biryani?",
    "What kind of yoga does Petra teach?",
    "Which insurance covers the water damage?",
    "When was the wedding of Nadia and Paul?",
    "What was the salary offer from the bank?",
    "How long was the hike to the glacier?",
    "Where was the violin made?",
    "What is the title of Hugo's podcast?",
    "Which vaccine do I need for Kenya?",
    "Who painted the mural at the school?",
    "How old is the oak in the churchyard?",
    "What grade did Lily get in chemistry?",
    "When does the lease of the office end?",
    "Which camp did the twins attend?",
    "What did Gustav inherit from his father?",
)
WORDS = (
    "Look at this.",
    "Here it is again.",
    "I took this one yesterday.",
    "This is from the weekend.",
    "And one more.",
)


@dataclass(frozen=True, slots=True)
class Album:
    """The memory of the bench: the message of each fact and, by subject, the messages that show it and an unused photo."""

    memory: Memory
    facts: Sequence[int]
    by_subject: Sequence[Sequence[int]]
    spare: Sequence[str]
    descriptions: Sequence[str]


def fill(stores: SharedStores) -> Album:
    subjects = json.loads((DREAMBOOTH / "concepts.json").read_text())["subjects"]
    files = [[DREAMBOOTH / image["path"] for image in subject["images"]] for subject in subjects]
    every = [(subject, file) for subject, of_subject in enumerate(files) for file in of_subject[:-1]]
    sample = [every[i] for i in np.random.default_rng(0).permutation(len(every))[:PHOTOS]]
    rows: list[tuple[int | None, str, tuple[Path, ...]]] = [(None, fact, ()) for fact, _ in FACTS]
    rows += [(subject, WORDS[i % len(WORDS)].format(i), (file,)) for i, (subject, file) in enumerate(sample)]
    order = np.random.default_rng(1).permutation(len(rows)).tolist()
    memory = stores.fresh_memory("photos")
    memory.fusion = "best"
    messages = memory.record(
        [
            Utterance(str(i), "user", "You", rows[place][1], BEGINNING + timedelta(hours=i), rows[place][2])
            for i, place in enumerate(order)
        ]
    )
    facts = dict[str, int]()
    shown_in: list[list[int]] = [[] for _ in subjects]
    for place, message in zip(order, messages, strict=True):
        subject = rows[place][0]
        if subject is None:
            facts[message.text] = message.message_id
        else:
            shown_in[subject].append(message.message_id)
    spare = memory.add_photos([of_subject[-1] for of_subject in files])
    memory.index()
    return Album(
        memory,
        [facts[fact] for fact, _ in FACTS],
        shown_in,
        [spare[of_subject[-1]] for of_subject in files],
        [subject["short_description"] for subject in subjects],
    )


def measure(album: Album, fusion: Fusion) -> dict[str, float]:
    search = album.memory.shared.retrieval(fusion).retriever.search

    def search_ids(text: str, photos: tuple[str, ...] = ()) -> list[int]:
        return [hit.key.record_id for hit in search(album.memory.owner, Query(text, photos), ["message"], 10)]

    for_facts = [(search_ids(question), fact) for (_, question), fact in zip(FACTS, album.facts, strict=True)]
    subjects = [number for number, messages in enumerate(album.by_subject) if messages]
    described = [search_ids(f"Where did I put my {album.descriptions[number]}?") for number in subjects]
    by_photo = [search_ids("Who or what is this?", (album.spare[number],)) for number in subjects]
    of_subject = [set(album.by_subject[number]) for number in subjects]
    mixed = [
        (search_ids(question, (album.spare[place % len(album.spare)],)), fact)
        for place, ((_, question), fact) in enumerate(zip(FACTS, album.facts, strict=True))
    ]
    return {
        "fact first": _share(hits[:1] == [fact] for hits, fact in for_facts),
        "among three": _share(fact in hits[:3] for hits, fact in for_facts),
        "photo described, among ten": _share(
            not gold.isdisjoint(hits) for hits, gold in zip(described, of_subject, strict=True)
        ),
        "photo shown, first": _share(bool(gold & {*hits[:1]}) for hits, gold in zip(by_photo, of_subject, strict=True)),
        "recall of ten": float(
            np.mean([len(gold & {*hits}) / len(gold) for hits, gold in zip(by_photo, of_subject, strict=True)])
        ),
        "fact beside a photo, among three": _share(fact in hits[:3] for hits, fact in mixed),
        "among ten": _share(fact in hits for hits, fact in mixed),
        "strangers refused": _share(not search_ids(question) for question in STRANGE),
    }


def _share(right: Iterable[bool]) -> float:
    return float(np.mean(list(right)))


def main(arguments: Sequence[str] = ()) -> None:
    del arguments
    text_encoder = load_text_encoder(MINILM, cache_dir())
    image_encoder = load_image_encoder(EFFICIENTNET, text_encoder, cache_dir())
    with tempfile.TemporaryDirectory() as folder:
        stores = SharedStores(Path(folder), lambda: text_encoder, lambda: image_encoder)
        album = fill(stores)
        fusions: tuple[Fusion, ...] = ("best", "paper")
        columns = {fusion: measure(album, fusion) for fusion in fusions}
        stores.close()
    print("".join(f"{fusion:>10}" for fusion in columns))
    for title in next(iter(columns.values())):
        print("".join(f"{column[title]:>10.0%}" for column in columns.values()), "", title)


if __name__ == "__main__":
    main()
