"""Untruths to plant in the good merged folder so that all of its files agree: only the facts give them away.

Each has words that one line of the report must contain. UNTRUTHS was written before the checks; FURTHER are kinds that a
stranger planted and that were missed at first.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from data_synthesis.interpolation import unweave, weave
from tests.merged_folder import MergedFolder, write_json
from tests.merged_records import run_record, statistics, write_rows

Plant = Callable[[MergedFolder], None]


def say(where: str, text: str, sample: int = 0) -> Plant:
    """Replaces the text of a turn, or appends to it after a "+"."""

    def plant(folder: MergedFolder) -> None:
        turn = at(folder, where, sample)
        turn["text"] = f"{turn['text']} {text[1:]}" if text[0] == "+" else text

    return plant


def ask(question_id: str, **changes: Any) -> Plant:
    """Changes a question; its accepted answers are removed unless given."""

    def plant(folder: MergedFolder) -> None:
        folder.question(question_id).update({"accepted_answers": [], **changes})

    return plant


def dated(event: str, expression: str, **since: str) -> dict[str, Any]:
    derivation = {"event": {"turn": event, "expression": expression}}
    return {
        "derivation": derivation | ({"since": {"turn": since["since"], "expression": since["words"]}} if since else {})
    }


def swap_shown(first_turn: str, second_turn: str) -> Plant:
    def plant(folder: MergedFolder) -> None:
        first, second = at(folder, first_turn), at(folder, second_turn)
        for key in ("photos", "img_url"):
            first[key], second[key] = second[key], first[key]

    return plant


def state(concept: int, **changes: Any) -> Plant:
    def plant(folder: MergedFolder) -> None:
        folder.benchmark[0]["groups"][0]["concepts"][concept].update(changes)

    return plant


def rescene(concept: int, view: int, setting: str) -> Plant:
    def plant(folder: MergedFolder) -> None:
        own = folder.benchmark[0]["groups"][0]["concepts"][concept]
        own["scenes"][own["photos"][view]]["setting"] = setting

    return plant


def swap_lists(*keys: str) -> Plant:
    def plant(folder: MergedFolder) -> None:
        first, second, _ = folder.benchmark[0]["groups"][0]["concepts"]
        for key in keys:
            first[key], second[key] = second[key], first[key]

    return plant


def both(*plants: Plant) -> Plant:
    return lambda folder: [plant(folder) for plant in plants][:0] or None


def rename_but_one_turn(folder: MergedFolder) -> None:
    text = at(folder, "D3:2")["text"]
    folder.benchmark = json.loads(json.dumps(folder.benchmark).replace("Mochi", "Momo"))
    at(folder, "D3:2")["text"] = text


def attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": value, "accepted": [], "photos": []}


G1, G2 = "conv-1/g1", "conv-2/g1"
UNTRUTHS: dict[str, tuple[Plant, str]] = {
    "evidence shows another concept": (ask(f"{G1}/8", evidence=["D3:2"]), "says 'a silver key'"),
    "evidence is small talk": (ask(f"{G1}/8", evidence=["D6:4"]), "says 'a silver key'"),
    "one of two photo turns is missing": (ask(f"{G2}/2", evidence=["D4:1"]), "says 'a heron'"),
    "photos of a concept change places": (swap_shown("D2:1", "D5:2"), "says 'a signpost'"),
    "photos of two concepts change places": (swap_shown("D2:5", "D4:1"), "it shows a photo of"),
    "photo lists of two concepts change places": (swap_lists("photos", "scenes"), "it shows a photo of"),
    "a photo turn names another concept": (
        say("D3:2", "Rosso knocked over a vase yesterday."),
        "it shows a photo of Mochi, but names Rosso",
    ),
    "on the moon": (ask(f"{G1}/10", answer="on the moon"), "says 'on the moon'"),
    "the setting of another photo": (ask(f"{G1}/10", answer="a kitchen chair"), "says 'a kitchen chair'"),
    "a wrong colour": (ask(f"{G1}/1", answer="teal"), "says 'teal'"),
    "another attribute of the concept": (
        ask(f"{G1}/8", answer="crimson", question="What is at the zip of Rosso?"),
        "says 'crimson'",
    ),
    "an attribute of another concept": (ask(f"{G2}/7", answer="a heron"), "says 'a heron'"),
    "a wrong accepted answer": (ask(f"{G1}/8", accepted_answers=["a heron"]), "'a heron' is accepted, but nothing"),
    "a name that nobody said": (ask(f"{G1}/13", answer="Norbert's garage"), "does not say"),
    "a name said elsewhere": (ask(f"{G1}/11", answer="the waistcoat"), "does not say 'the waistcoat'"),
    "the name of another concept": (ask(f"{G2}/13", answer="Flash"), "its photo shows Old Tom, not Flash"),
    "the photo turn tells": (say("D2:1", "+Crimson suits it."), "D2:1 tells 'crimson' of Rosso"),
    "the reply tells": (say("D5:3", "It seems to enjoy that signpost."), "D5:3 tells 'a signpost' of Rosso"),
    "a later turn tells": (say("D6:3", "+Rosso still has the silver key."), "D6:3 tells 'a silver key' of Rosso"),
    "a turn of the host tells": (say("D8:1", "+Rosso has a silver key."), "outside of its group tells 'a silver key'"),
    "a turn tells the class": (say("D5:5", "+A good teapot he was.", 1), "can be answered without a photo"),
    "a turn tells the look": (
        say("D2:3", "I bought the quilted thing last Saturday at the flea market."),
        "can be answered without a photo",
    ),
    "a date a day late": (ask(f"{G1}/3", answer="30 April 2023"), "must be '29 April 2023'"),
    "an expression that nobody says": (
        ask(f"{G1}/3", answer="2 May 2023", **dated("D2:3", "yesterday")),
        "does not say 'yesterday'",
    ),
    "a date of another turn": (
        ask(f"{G1}/3", answer="4 May 2023", evidence=["D2:1", "D3:2"], **dated("D3:2", "yesterday")),
        "which is not about Rosso",
    ),
    "the day of another photo": (
        ask(
            f"{G1}/4", question="When did Ann share the picture of Rosso leaning on a signpost?",
            answer="3 May 2023", evidence=["D2:1", "D5:2"], **dated("D2:1", ""),
        ),
        "which shows another photo",
    ),
    "days since something else": (
        ask(
            f"{G2}/5", answer="25 days", evidence=["D3:5", "D4:2", "D7:1"],
            **dated("D7:1", "in 3 days", since="D3:5", words="two weeks ago"),
        ),
        "which is not about Pippa",
    ),
    "other words for the date": (say("D3:2", "Mochi knocked over a vase two days ago."), "does not say 'yesterday'"),
    "no day where there are two photos": (
        ask(f"{G2}/1", question="What lies next to Pippa and next to Old Tom?"),
        "does not say which of 2 photos",
    ),
    "a setting that fits two photos": (
        both(
            rescene(1, 1, "on a zigzag blanket beside a brass lamp"),
            ask(
                f"{G1}/4", question="When did Ann share the picture of Mochi on a zigzag blanket?",
                answer="3 May 2023", evidence=["D2:5"], **dated("D2:5", ""),
            ),
        ),
        "fit another photo of Mochi",
    ),
    "a look that fits two concepts": (state(2, short_description="quilted bear"), "it fits several"),
    "nothing of a photo is asked": (
        ask(f"{G1}/9", question="Who sewed for Doctor Marmalade?", answer="Granny", evidence=["D4:3"]),
        "can be answered without a photo",
    ),
    "the answer in the question": (
        ask(f"{G1}/8", question="Which silver key hangs from the zip of Rosso?", accepted_answers=["silver key"]),
        "the question contains the answer",
    ),
    "unseen photos change places": (swap_lists("unseen_photos"), "no turn of its evidence shows"),
    "the question tells what its photo shows": (
        ask(f"{G1}/13", question="Where did Ann get the quilted one in this photo?"),
        "says in words what its photo shows",
    ),
    "the wrong option": (ask(f"{G1}/12", answer="Hat"), "says 'Hat'"),
    "a scene that its source does not have": (
        both(rescene(0, 1, "leaning on a lighthouse"), ask(f"{G1}/10", answer="a lighthouse")),
        "its source has 'leaning on a signpost'",
    ),
    "an attribute that its source does not have": (
        both(
            state(0, attributes=[attribute("main_colour", "crimson"), attribute("zip", "a golden whistle")]),
            ask(f"{G1}/8", answer="a golden whistle"),
        ),
        "is 'a golden whistle'; its source has 'a silver key'",
    ),
    "a marker used again": (
        say("D4:2", "<Doctor Marmalade> has the air of a professor."),
        "only the first message puts names in angle brackets",
    ),
    "another name everywhere but in one turn": (rename_but_one_turn, "its source has 'Mochi'"),
    "the other speaker": (
        ask(f"{G1}/10", question="What is Rosso leaning on in the picture that Ben shared on 9 May 2023?"),
        "Ben shows no photo",
    ),
    "a day without a photo": (
        ask(f"{G1}/10", question="What is Rosso leaning on in the picture that Ann shared on 8 May 2023?"),
        "nothing in its evidence is of 8 May 2023",
    ),
}  # fmt: skip

SEWN = {"question": "Who sewed for the plush bear?", "answer": "Granny"}
SEWN_BY = "It was Granny who sewed the waistcoat for him back then."
FURTHER: dict[str, tuple[Plant, str]] = {
    "another attribute than is asked": (
        both(
            state(0, attributes=[attribute("material", "felt"), attribute("zip", "a silver key")]),
            ask(f"{G1}/8", question="What is Rosso made of?", answer="a silver key"),
        ),
        "says 'a silver key'",
    ),
    "a month accepted for a day": (ask(f"{G1}/3", accepted_answers=["April 2023"]), "'April 2023' is accepted, but says"),
    "half an answer accepted": (ask(f"{G1}/8", accepted_answers=["silver"]), "'silver' is accepted, but says too little"),
    "another's name accepted": (ask(f"{G2}/13", accepted_answers=["Flash"]), "is the name of another"),
    "half an answer told": (say("D6:2", "+Those laces of leather last.", 1), "tells half of 'three laces of leather'"),
    "a speaker alone with themselves": (say("D3:3", "Oh dear, was it worth much, Ben?"), "Ben speaks to Ben"),
    "the owner's own called the other's": (
        say("D3:2", "Your Mochi knocked over a vase yesterday."),
        "it says 'Your Mochi', but Ann alone shows it",
    ),
    "snow in May": (say("D3:3", "+It's snowing here."), "it says \"It's snowing\" on 5 May 2023"),
    "another weekday": (say("D3:3", "+It's Monday again."), "on a Friday"),
    "another time of the day": (say("D3:1", "Good evening! How is your cat?"), "'Good evening' at 13 o'clock"),
    "a day to come told as past": (say("D3:4", "+On May 20, I took it to be mended."), "20 May 2023 as past"),
    "a photo taken elsewhere": (
        say("D3:2", "Here is Mochi at the beach, right before a vase broke yesterday."),
        "nothing that is stated of Mochi says 'Mochi at the beach'",
    ),
    "a thing that no photo shows": (say("D3:3", "Oh dear, with that green scarf!"), "says 'that green scarf'"),
    "a friend who becomes an aunt": (
        both(say("D3:3", "+My friend Zoe asks."), say("D5:3", "+My aunt Zoe asks.")),
        "Zoe is 'aunt' here, and 'friend' in D3:3",
    ),
    "small talk among the evidence": (ask(f"{G1}/8", evidence=["D2:1", "D6:4"]), "D6:4 says nothing about what is asked"),
    "before for after": (
        ask(
            f"{G1}/10", question="Where is Rosso in the picture that Ann shared just before the one on a kitchen chair?",
            answer="leaning on a signpost", evidence=["D2:1", "D5:2"],
        ),
        "was not shown before that one",
    ),
    "the setting of another concept": (
        ask(
            f"{G1}/10", question="Where is Rosso in the picture shared after the picture of Mochi on a kitchen chair?",
            answer="leaning on a signpost", evidence=["D2:1", "D5:2"],
        ),
        "it mentions Mochi 'on a kitchen chair', where Rosso is",
    ),
    "a speaker who does not exist": (
        ask(f"{G1}/10", question="What is Rosso leaning on in the picture that Sarah shared on 9 May 2023?"),
        "Sarah shows no photo in its evidence",
    ),
    "what was taken back": (
        both(
            say("D6:3", "I got that wrong, it was my neighbor Olga who did that."),
            ask(f"{G1}/1", **SEWN, evidence=["D4:1", "D4:3", "D6:3"]),
        ),
        "'Granny' is taken back in D6:3",
    ),
    "what a later turn tells otherwise": (
        both(
            say("D4:3", SEWN_BY),
            say("D6:3", "It was Olga who sewed the waistcoat for Doctor Marmalade back then."),
            ask(f"{G1}/1", **SEWN, evidence=["D4:1", "D4:3"]),
        ),
        "D6:3 says this about Olga, not about Granny",
    ),
    "what is told of another concept": (
        both(say("D4:3", "Granny sewed the waistcoat for Mochi."), ask(f"{G1}/1", **SEWN, evidence=["D4:1", "D4:3"])),
        "D4:3 says this about Mochi, not about Doctor Marmalade",
    ),
    "the turn that tells it is missing": (
        both(say("D4:1", "Granny says hello from here."), ask(f"{G1}/1", **SEWN, evidence=["D4:1", "D6:1"])),
        "'Granny' is said only in the turns of its photos",
    ),
}  # fmt: skip


LATER: dict[str, tuple[Plant, str]] = {
    "a turn of the other speaker": (lambda folder: at(folder, "D3:3").update(speaker="Ann"), "Ann speaks twice in a row"),
    "a stranger is greeted": (say("D3:1", "Hey Joanna! How is your cat?"), "it addresses Joanna, who is not part"),
    "the other's thing is used": (say("D3:3", "+I take Rosso to work."), "Ben calls Rosso their own, but Ann shows it"),
    "the other's thing lives here": (say("D3:3", "+Rosso now lives with me."), "Ben calls Rosso their own"),
    "another class": (say("D3:4", "+So my suitcase Rosso was safe."), "it says 'my suitcase Rosso', but Rosso is a backpack"),
    "another animal": (say("D3:2", "+That dog!"), "it says 'That dog' of Mochi, which is a cat"),
    "the nickname of another": (
        both(say("D3:3", "+I call Mochi 'General Fluff'."), say("D5:3", "+Rosso or 'General Fluff', as we say.")),
        "General Fluff is 'Rosso' here, and 'Mochi' in D3:3",
    ),
    "shown, and said to be never shown": (
        say("D6:3", "+I have never shown you a picture of Rosso."),
        "D2:1 shows a picture of Rosso",
    ),
    "thanks for what is still to come": (say("D2:4", "+Thanks for the picture of Mochi."), "of Mochi was shown to Ben before"),
    "the weekday after another date": (say("D3:3", "+We met on May 9, a Monday."), "May 9 is no Monday"),
    "a date that is not": (say("D3:3", "+We meet on February 30."), "there is no February 30"),
    "the model's own words": (say("D3:3", "+As an AI I own no cat."), "'As an AI' is nothing that people type"),
    "the model's announcement": (
        say("D3:3", "Sure, here is Ben's next message: I like the yellow collar."),
        "\"here is Ben's next message:\" is nothing that people type",
    ),
    "a stage direction": (say("D3:3", "+*laughs and leans back*"), "'*laughs and leans back*' is nothing that people"),
    "a broken encoding": (say("D3:3", "+I was at the CafÃ© Petrel."), "'Ã©' is nothing that people type"),
    "letters of two alphabets": (say("D3:3", "+I miss Mосhi."), "'Mосhi' is nothing that people type"),
    "a file": (say("D3:3", "+Look at b5a307e0.jpg."), "'b5a307e0.jpg' is nothing that people type"),
    "the speaker's name before the words": (say("D3:3", "Ben: I like the yellow collar."), "begins with the name of a speaker"),
    "the weekday of another date": (say("D3:3", "+We meet on Monday, May 9."), "May 9 is no Monday"),
    "what a concept has not": (say("D3:3", "+Mochi has green fur."), "nothing that is stated of Mochi says 'green fur'"),
    "a picture of elsewhere": (
        say("D6:2", "+That picture of Rosso on the beach!"),
        "nothing that is stated of Rosso says 'picture of Rosso on the beach'",
    ),
    "what is not around it": (say("D5:3", "+All that snow!"), "says 'All that snow'"),
    "breakfast in the afternoon": (say("D3:3", "+I'm having breakfast."), "it says 'having breakfast' at 13 o'clock"),
    "the contrary accepted": (
        ask(f"{G1}/8", accepted_answers=["not a silver key"]),
        "'not a silver key' is accepted, but nothing that is stated of its photos says 'not'",
    ),
    "false knowledge of a class": (
        ask(
            f"{G1}/6", question="What is the Italian word for the kind of thing that Rosso is?",
            answer="mochila", evidence=["D2:1"],
        ),
        "it must be 'zaino'",
    ),
    "knowledge of another class": (
        ask(
            f"{G1}/6", question="What is the Italian word for the kind of thing that Mochi is?",
            answer="zaino", evidence=["D3:2"],
        ),
        "it asks of another class of things than that of Mochi, a cat",
    ),
    "a wrong day of the week": (
        ask(
            f"{G1}/6", question="On which day of the week did Ann first share a picture of the quilted backpack?",
            answer="Thursday", evidence=["D2:1", "D5:2"],
        ),
        "nothing in its evidence is of Thursday",
    ),
    "the second picture called the first": (
        ask(
            f"{G1}/11", question="On which day was a picture of the one in this photo first shared?",
            answer="5 May 2023", evidence=["D2:5", "D3:2"], **dated("D3:2", ""),
        ),
        "D3:2 is not where Mochi was first shown",
    ),
    "a name from nowhere": (
        ask(f"{G1}/8", question="What hangs from the zip of Rosso, who came through Beth?"),
        "nothing in its evidence says 'Beth'",
    ),
    "the other speaker's deed": (
        ask(f"{G1}/3", question="On which day did Ben buy the quilted backpack?", **dated("D2:3", "last saturday")),
        "Ben says nothing in its evidence",
    ),
    "the photo of another among the evidence": (
        ask(f"{G1}/8", evidence=["D2:1", "D3:2"]),
        "D3:2 shows Mochi, which it is not about",
    ),
    "a day that was taken back": (
        say("D5:4", "+I told you the wrong day, I bought Rosso on April 28."),
        "the day of D2:3 is taken back in D5:4",
    ),
    "a number told otherwise": (
        both(
            say("D4:3", "Granny sewed the waistcoat for him in three weeks."),
            say("D6:3", "Granny sewed the waistcoat of Doctor Marmalade in five weeks."),
            ask(
                f"{G1}/1", question="How many weeks did Granny sew for the plush bear?", answer="three weeks",
                evidence=["D4:1", "D4:3"],
            ),
        ),
        "D6:3 says this about five weeks, not about three weeks",
    ),
    "shared on the day it was taken": (
        ask(
            f"{G1}/4", question="When did Ann share the picture of Mochi beside a brass lamp?", answer="4 May 2023",
            evidence=["D3:2"], **dated("D3:2", "yesterday"),
        ),
        "what is shared in D3:2 is shared on its own day",
    ),
    "an answer to who asks about it tells": (
        both(say("D6:2", "And how is Rosso?"), say("D6:3", "It still has the silver key.")),
        "D6:3 tells 'a silver key' of Rosso",
    ),
    "the same day once more": (
        say("D5:4", "+I told you the wrong day, I bought Rosso at the flea market on April 29."),
        "the day of D2:3 is taken back in D5:4",
    ),
    "a day that had not come when it was told as past": (
        say("D5:4", "+I told you the wrong day, I bought Rosso at the flea market on May 8."),
        "the day of D2:3 is taken back in D5:4",
    ),
    "what nobody said is taken back": (
        say("D5:4", "+I was wrong, it was Olga who sold me Rosso, not Norbert!"),
        "it takes back 'Norbert', which Ann has not said of this",
    ),
    "another than was asked for": (
        say("D3:1", "Do you have a new picture of Rosso?"),
        "it shows Mochi, and was asked for Rosso",
    ),
    "delight in what was not shown": (
        say("D2:4", "+I can't get over that one of Mochi."),
        "no picture of Mochi was shown to Ben before",
    ),
    "another material": (say("D2:1", "+The metal zip suits it."), "says 'The metal zip'"),
    "deep snow in May": (say("D3:3", "+I walk through all this deep snow now."), "it says 'all this deep snow now'"),
    "taken elsewhere, without the name": (
        say("D3:2", "This is Mochi. I took it at the zoo, right before a vase broke yesterday."),
        "nothing that is stated of Mochi says 'took it at the zoo'",
    ),
}  # fmt: skip


ALONE = "the turns say this about {} only, so the photo is not needed"
# The photo of a question must tell which of several things is meant
NEEDLESS: dict[str, tuple[Plant, str]] = {
    "only one thing was bought": (say("D6:3", "He looked lost up there."), ALONE.format("Rosso")),
    "only one thing broke something": (say("D5:4", "More than my knees did."), ALONE.format("Mochi")),
    "only one thing holds something": (say("D5:2", "Can it be glued?", 1), ALONE.format("Flash")),
    "only one thing has a nickname": (
        both(
            say("D3:3", "+I call Mochi 'General Fluff'."),
            ask(
                f"{G1}/11", question="By what nickname is the one in this photo known?", answer="General Fluff",
                evidence=["D3:2", "D3:3"],
            ),
        ),
        ALONE.format("Mochi"),
    ),
    "all pictures of it are of one day": (
        both(
            lambda folder: at(folder, "D2:3").update(photos=at(folder, "D5:2").pop("photos")),
            lambda folder: at(folder, "D5:2").pop("img_url"),
            ask(
                f"{G1}/4", question="When did Ann share the picture of Rosso leaning on a signpost?",
                answer="3 May 2023", evidence=["D2:3"], **dated("D2:3", ""),
            ),
        ),
        ALONE.format("Rosso"),
    ),
}  # fmt: skip


def at(folder: MergedFolder, where: str, sample: int = 0) -> dict[str, Any]:
    """The turn of this id."""
    session, turn = where.removeprefix("D").split(":")
    result: dict[str, Any] = folder.session(int(session), sample)[int(turn) - 1]
    return result


def make_consistent(folder: MergedFolder) -> None:
    """Rewrites every file from the changed benchmark, so that all computed parts agree."""
    samples = []
    for sample in folder.benchmark:
        numbers = {new: int(old) for old, new in folder.id_map[sample["sample_id"]]["sessions"].items()}
        woven, id_map = weave(*unweave(sample, numbers), Path.as_posix)
        folder.id_map[sample["sample_id"]] = id_map
        samples.append(woven)
    folder.benchmark = samples
    folder.run, folder.statistics = run_record(samples), statistics(samples)
    folder.save()
    write_rows(folder.path, samples)


def write_source(folder: Path, merged: MergedFolder) -> Path:
    """Writes the concepts that the good folder was made from."""
    subjects = []
    for group in (group for sample in merged.benchmark for group in sample["groups"]):
        for c in group["concepts"]:
            images = []
            for name in (*c["photos"], *c["unseen_photos"]):
                path = f"{c['subject']}/{Path(name).name}"
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes((merged.path / name).read_bytes())
                images.append({"path": path, **c["scenes"].get(name, {})})
            subjects.append(
                {"subject": c["subject"], "alias": c["name"], "class_name": c["class_name"], "images": images}
                | {"short_description": c["short_description"]}
                | {"attributes": [{"key": own["key"], "value": own["value"]} for own in c["attributes"]]}
            )
    write_json(folder / "concepts.json", {"subjects": subjects})
    return folder
