"""What a search finds of a fact in English when the question is asked in another language: `python -m tests.bench languages`.

Facts stand among 500 statements of other people, and each is asked for in four languages. Next to the ten hits of the search are
the hits of each path within ten, which show the path that loses a question, and the number of questions that find nothing near,
which the reply is told.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from m2a.agents.memory_search import BOTH_LAYERS
from m2a.agents.state import SEARCH_HITS
from m2a.assistant import Assistant
from m2a.settings import Settings
from m2a.types import Hit, Query, RecordKey, RetrievalPath
from m2a.wiring import offline_rules
from tests.bench.recall import statements_and_questions

OTHERS = 500
LANGUAGES = ("English", "German", "French", "Spanish")
# A fact, and the questions for it in the order of LANGUAGES.
FACTS = """
Wren, my goddaughter in Cardiff, takes shoes in size 37. | What shoe size does Wren take? | Welche Schuhgröße hat Wren? | Quelle est la pointure de Wren ? | ¿Qué número de zapato usa Wren?
My brother-in-law Karim works nights on Fridays in a bakery. | Which night does my brother-in-law work? | In welcher Nacht arbeitet mein Schwager? | Quelle nuit travaille mon beau-frère ? | ¿Qué noche trabaja mi cuñado?
We sing in the choir every Tuesday at 8 pm in St Mark's hall. | When is choir? | Wann ist Chorprobe? | À quelle heure est la chorale ? | ¿A qué hora es el coro?
I am allergic to walnuts and hazelnuts. | What am I allergic to? | Wogegen bin ich allergisch? | À quoi suis-je allergique ? | ¿A qué soy alérgico?
My dog Pico had his left knee operated on in February. | Which of Pico's knees was operated on? | Welches Knie wurde bei Pico operiert? | Quel genou de Pico a été opéré ? | ¿Qué rodilla le operaron a Pico?
The candle for the bathroom cost 11 pounds at the harbour market. | What did the candle cost? | Was hat die Kerze gekostet? | Combien a coûté la bougie ? | ¿Cuánto costó la vela?
My dentist is Dr Okafor in Castle Street. | What is my dentist called? | Wie heißt mein Zahnarzt? | Comment s'appelle mon dentiste ? | ¿Cómo se llama mi dentista?
Our wedding was on 3 June 2011 in a lighthouse. | Where did we marry? | Wo haben wir geheiratet? | Où nous sommes-nous mariés ? | ¿Dónde nos casamos?
I parked the car on level 3 of the station car park. | Where is my car parked? | Wo steht mein Auto? | Où est garée ma voiture ? | ¿Dónde aparqué el coche?
The spare key of the flat is with Mrs Lindqvist from the music shop. | Who has the spare key? | Wer hat den Ersatzschlüssel? | Qui a la clé de secours ? | ¿Quién tiene la llave de repuesto?
My daughter Elin plays the cello and wants to study physics. | What does Elin want to study? | Was will Elin studieren? | Qu'est-ce qu'Elin veut étudier ? | ¿Qué quiere estudiar Elin?
The heating engineer comes on Monday at half past nine. | When does the heating engineer come? | Wann kommt der Heizungsmonteur? | Quand vient le chauffagiste ? | ¿Cuándo viene el técnico de la calefacción?
I prefer tea without sugar, and never coffee after noon. | How do I drink my tea? | Wie trinke ich meinen Tee? | Comment est-ce que je bois mon thé ? | ¿Cómo tomo el té?
My grandmother grew up in Trieste and spoke four languages. | Where did my grandmother grow up? | Wo ist meine Großmutter aufgewachsen? | Où a grandi ma grand-mère ? | ¿Dónde creció mi abuela?
The printer at work jams whenever I use recycled paper. | Why does the printer jam? | Warum staut sich der Drucker? | Pourquoi l'imprimante se bloque-t-elle ? | ¿Por qué se atasca la impresora?
I swim forty lengths before work on Thursdays. | On which day do I swim? | An welchem Tag gehe ich schwimmen? | Quel jour est-ce que je nage ? | ¿Qué día voy a nadar?
"""  # noqa: E501


_PATHS: tuple[RetrievalPath, ...] = ("dense", "bm25")


def main(_options: Sequence[str] = ()) -> None:
    asyncio.run(measure())


async def measure() -> None:
    facts = [[part.strip() for part in line.split(" | ")] for line in FACTS.strip().splitlines()]
    statements, _ = statements_and_questions(OTHERS)
    every = OTHERS // len(facts)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), chat_model="offline")
        async with Assistant.open(settings, policy=offline_rules()) as assistant:
            bank = assistant.memory(assistant.local_owner)
            conversation, of_fact = None, []
            for number, statement in enumerate(statements):
                texts = [statement]
                if number % every == 0 and len(of_fact) < len(facts):
                    texts.insert(0, facts[len(of_fact)][0])
                messages = [bank.record(conversation, role="user", speaker="You", text=text) for text in texts]
                conversation = messages[0].conversation_id
                of_fact += [messages[0].message_id] if len(messages) > 1 else []
            print(f"\nOf {len(facts)} facts in English among {OTHERS} statements, asked for in:")
            print(f"{'':<10} {'found':>6} {'by vector':>10} {'by words':>9} {'nothing near':>13}")
            for place, language in enumerate(LANGUAGES, start=1):
                queries = [Query(questions[place]) for questions in facts]
                near = bank.search_all(queries, BOTH_LAYERS, k=SEARCH_HITS)
                deep = bank.search_all(queries, BOTH_LAYERS, k=6 * SEARCH_HITS, relevance_floor=False)
                found_count = sum(_place(number, hits) is not None for number, hits in zip(of_fact, near, strict=True))
                ranks = [hit.ranks for number, hits in zip(of_fact, deep, strict=True) if (hit := _place(number, hits))]
                by_path = [sum(rank.get(path, OTHERS) <= SEARCH_HITS for rank in ranks) for path in _PATHS]
                nothing = sum(not hits for hits in near)
                print(f"{language:<10} {found_count:>6} {by_path[0]:>10} {by_path[1]:>9} {nothing:>13}", flush=True)


def _place(message_id: int, hits: Sequence[Hit]) -> Hit | None:
    return next((hit for hit in hits if hit.key == RecordKey("message", message_id)), None)
