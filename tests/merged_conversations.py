"""The words of the small merged folder: two host conversations as in LoCoMo, and what goes into each."""

from typing import Any

HOSTS: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "speakers": ("Ann", "Ben"),
        "dates": [
            "1:00 pm on 1 May, 2023",
            "1:00 pm on 13 May, 2023",
            "10:30 am on 20 May, 2023",
            "8:00 am on 2 June, 2023",
        ],
        "sessions": [
            ["Hi Ben, I took up pottery.", "Good for you, Ann!", "The wheel is harder than it looks."],
            ["We hiked up the hill on Sunday.", "I saw the picture, what a view."],
            ["My sister is moving to Oslo.", "You will miss her.", "She leaves on 1 June."],
        ],
        "qa": [
            {"question": "What did Ann take up?", "answer": "pottery", "evidence": ["D1:1"], "category": 4},
            {"question": "When did they hike?", "answer": "7 May 2023", "evidence": ["D2:1; D2:2"], "category": 2},
            {
                "question": "How many sisters were named?",
                "answer": 1,
                "evidence": ["D3:1", "D:3:03", "D"],
                "category": 1,
            },
            {"question": "Who went diving?", "adversarial_answer": "Ben", "evidence": ["D2:9"], "category": 5},
        ],
    },
    {
        "sample_id": "conv-2",
        "speakers": ("Cleo", "Dan"),
        "dates": ["7:05 pm on 20 May, 2023", "9:15 am on 1 June, 2023", "9:18 am on 13 June, 2023"],
        "sessions": [
            ["Dan, the choir has a new conductor.", "Is he strict?", "Very, and funny with it."],
            ["I passed my driving test!", "Congratulations, Cleo."],
            ["The concert went well.", "I heard it on the radio."],
        ],
        "qa": [
            {"question": "What did Cleo pass?", "answer": "a driving test", "evidence": ["D2:1"], "category": 4},
            {"question": "Would Dan enjoy choral music?", "answer": "Yes", "evidence": ["D3:2", "D1:2"], "category": 3},
        ],
    },
]

# Speaker 0 or 1, words, and the photos shown, each as its concept's place and its own. A question of category 10 that
# comes with a photo says of which concept: it is one that nobody shows. `stated` is what is known of each concept: its
# look, its attributes, the settings of its photos, and what its set asks of which photo; `seen` is what must be seen for
# each question, as concept, photo and words.
GROUPS: list[dict[str, Any]] = [
    {
        "after": 1,
        "numbers": {1: 1, 2: 7, 3: 8},
        "concepts": [
            ("bag", "Rosso", "backpack"),
            ("cat", "Mochi", "cat"),
            ("bear", "Doctor Marmalade", "stuffed animal"),
        ],
        "stated": [
            {
                "look": "quilted backpack",
                "attributes": {"main_colour": "crimson", "zip": "a silver key"},
                "settings": ["on a kitchen chair", "leaning on a signpost"],
            },
            {
                "look": "cat with one white paw",
                "attributes": {"paws": "one white paw"},
                "settings": ["on a zigzag blanket", "beside a brass lamp"],
            },
            {
                "look": "plush bear",
                "attributes": {"waistcoat_colour": "crimson"},
                "settings": ["beside a brass lamp and a pear", "on a window seat"],
                "question": (1, "What did <sks> wear on the head when I left?", ("Hat", "Crown"), "Crown"),
            },
        ],
        "seen": [
            [(0, 0, "crimson"), (2, 0, "crimson")],
            [(2, 0, "beside a brass lamp and a pear"), (1, 1, "beside a brass lamp")],
            [(0, 0, "quilted backpack")],
            [(1, 1, "cat with one white paw")],
            [(0, 0, "quilted backpack")],
            [(1, 1, "beside a brass lamp")],
            [(1, 0, "on a zigzag blanket")],
            [(0, 0, "a silver key")],
            [(2, 0, "beside a brass lamp and a pear")],
            [(0, 1, "leaning on a signpost")],
            [(1, None, "that it is Mochi")],
            [(2, 1, "Crown")],
            [(0, None, "that it is Rosso")],
        ],
        "sessions": [
            [
                (0, "Ben, meet my three treasures: <Rosso>, <Mochi> and <Doctor Marmalade>.", (0, 0)),
                (1, "What a bag that is!"),
                (0, "I bought it last Saturday at the flea market."),
                (1, "Does it come along wherever you go?"),
                (0, "It does, unless Mochi sleeps on it.", (1, 0)),
            ],
            [
                (1, "How is your cat these days?"),
                (0, "Mochi knocked over a vase yesterday.", (1, 1)),
                (1, "Oh dear, was it worth much?"),
                (0, "Only to the aunt who gave it to me."),
                (1, "That guilty look gives everything away."),
            ],
            [
                (0, "Here sits my bear where he likes it best.", (2, 0)),
                (1, "Doctor Marmalade has the air of a professor."),
                (0, "Granny sewed the waistcoat for him."),
                (1, "She must have patient hands."),
                (0, "Her eyes are still good enough for it."),
            ],
            [
                (1, "Did you take Rosso up the mountain?"),
                (0, "Yes, look how it leans there.", (0, 1)),
                (1, "It seems to enjoy the outing."),
                (0, "More than I did when it knocked me over."),
                (1, "Next time I shall carry it for you."),
            ],
            [
                (0, "One more of the bear before I go.", (2, 1)),
                (1, "He moved house, I see."),
                (0, "I bought him a wider shelf."),
                (1, "And who has the old one now?"),
                (0, "The <3 of the house, of course: the cat."),
            ],
        ],
        "qa": [
            (6, "Which colour do Rosso and the waistcoat of Doctor Marmalade share?", "crimson", ["1:1", "3:1"]),
            (
                6,
                "What stands beside Doctor Marmalade on 7 May 2023 and beside Mochi on 5 May 2023?",
                "a brass lamp",
                ["3:1", "2:2"],
            ),
            (
                7,
                "On which day did Ann buy the quilted backpack?",
                "29 April 2023",
                ["1:1", "1:3"],
                [("1:3", "last Saturday")],
            ),
            (
                7,
                "On which day did the one with one white paw break something?",
                "4 May 2023",
                ["2:2"],
                [("2:2", "yesterday")],
            ),
            (
                7,
                "How many days after the purchase of the quilted backpack did a vase break?",
                "5 days",
                ["1:1", "1:3", "2:2"],
                [("2:2", "yesterday"), ("1:3", "last Saturday")],
            ),
            (8, "Which metal besides copper is in the lamp beside Mochi?", "zinc", ["2:2"]),
            (9, "What pattern has the blanket under Mochi?", "zigzag", ["1:5"]),
            (9, "What hangs from the zip of Rosso?", "a silver key", ["1:1"]),
            (9, "Which fruit lies beside Doctor Marmalade and the brass lamp?", "a pear", ["3:1"]),
            (9, "What is Rosso leaning on in the picture that Ann shared on 9 May 2023?", "a signpost", ["4:2"]),
            (10, "What did the one in this photo break?", "a vase", ["1:5", "2:2"], 1),
            (10, "What did Doctor Marmalade wear on the head when I left? (Hat or Crown?)", "Crown", ["5:1"]),
            (10, "Where did Ann get the one in this photo?", "flea market", ["1:1", "1:3"], 0),
        ],
    },
    {
        "after": 2,
        "numbers": {1: 1, 2: 2, 3: 8},
        "concepts": [("dog", "Pippa", "dog"), ("pot", "Old Tom", "teapot"), ("shoe", "Flash", "")],
        "stated": [
            {
                "look": "spotted dog",
                "attributes": {"mouth": "a frisbee"},
                "settings": ["next to a tin whistle", "on a podium"],
                "question": (1, "What was around <sks>'s neck after the prize?", ("Collar", "Scarf"), "Scarf"),
            },
            {
                "look": "glazed teapot",
                "attributes": {"lid_shape": "a pine cone", "picture": "a heron"},
                "settings": ["on a lace cloth", "next to a tin whistle"],
            },
            {
                "look": "",
                "attributes": {"laces": "three laces of leather", "picture": "a heron"},
                "settings": ["on a doormat", "with an ostrich feather"],
            },
        ],
        "seen": [
            [(0, 0, "next to a tin whistle"), (1, 1, "next to a tin whistle")],
            [(1, 1, "a heron"), (2, 1, "a heron")],
            [(2, 0, "three laces of leather")],
            [(0, 1, "a frisbee")],
            [(0, 1, "a frisbee")],
            [(1, 0, "teapot")],
            [(0, 0, "a frisbee")],
            [(2, 0, "three laces of leather")],
            [(1, 0, "a pine cone")],
            [(2, 1, "with an ostrich feather")],
            [(2, None, "that it is Flash")],
            [(0, 1, "Scarf")],
            [(1, None, "that it is Old Tom")],
        ],
        "sessions": [
            [
                (1, "Cleo, let me show you <Pippa>, <Old Tom> and <Flash>.", (0, 0), (1, 0)),
                (0, "A dog, a pot and what is the third?"),
                (1, "Flash is a sneaker without a partner.", (2, 0)),
                (0, "How did the partner vanish?"),
                (1, "It fell into the river two weeks ago."),
            ],
            [
                (0, "Is Pippa well?"),
                (1, "She won a rosette today.", (0, 1)),
                (0, "For beauty or for speed?"),
                (1, "For stealing the judge's lunch, I fear."),
                (0, "A talent like any other."),
            ],
            [
                (1, "Old Tom fell and has a new crack.", (1, 1)),
                (0, "Does it still hold water?"),
                (1, "A man in the market mends such things."),
                (0, "I would be careful with boiling water."),
                (1, "He retires from duty then."),
            ],
            [
                (0, "Do you still keep the lonely shoe?"),
                (1, "It holds my pens.", (2, 1)),
                (0, "A second career for one that never got a prize."),
                (1, "My nephew wants to plant a cactus in it."),
                (0, "Let him, by all means."),
            ],
            [
                (1, "The potter can see us in 3 days."),
                (0, "So the crack will be history."),
                (1, "If his glue is as good as his stories."),
                (0, "And the dog stays at home this time?"),
                (1, "She guards the sneaker."),
            ],
        ],
        "qa": [
            (
                6,
                "What lies next to Pippa on 3 June 2023 and next to Old Tom on 7 June 2023?",
                "a tin whistle",
                ["1:1", "3:1"],
            ),
            (6, "Which animal is painted on the teapot and on the shoe?", "a heron", ["3:1", "4:2"]),
            (
                7,
                "On which day did the partner of the one with three laces of leather get lost?",
                "20 May 2023",
                ["1:3", "1:5"],
                [("1:5", "two weeks ago")],
            ),
            (
                7,
                "On which day did the one with the frisbee get a prize?",
                "June 5, 2023",
                ["2:2"],
                [("2:2", "")],
            ),
            (
                7,
                "How many days after the prize of the one with the frisbee is Old Tom to be mended?",
                "9 days",
                ["5:1", "2:2"],
                [("5:1", "in 3 days"), ("2:2", "today")],
            ),
            (8, "From which plant comes what is brewed in Old Tom?", "Camellia sinensis", ["1:1"]),
            (9, "What has Pippa in her mouth?", "a frisbee", ["1:1"]),
            (9, "How many laces has Flash?", "three laces of leather", ["1:3"]),
            (9, "What shape has the lid of Old Tom?", "a pine cone", ["1:1"]),
            (
                9,
                "What sticks out of Flash in the picture that Dan shared on 9 June 2023?",
                "an ostrich feather",
                ["4:2"],
            ),
            (10, "What does the one in this photo hold nowadays?", "pens", ["1:3", "4:2"], 2),
            (10, "What was around Pippa's neck after the prize? (Collar or Scarf?)", "Scarf", ["2:2"]),
            (10, "What is the one in this photo called?", "Old Tom", ["1:1", "3:1"], 1),
        ],
    },
]
