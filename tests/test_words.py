from concurrent.futures import ThreadPoolExecutor

import pytest

from m2a.memory.quotations import sentence_spans
from m2a.memory.words import STOP_WORDS, finished_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Bobo loves the BLUE ball!", ["bobo", "love", "blue", "ball"]),
        ("What toys does Bobo like?", ["toy", "bobo"]),
        ("Who is this, and where, when, why and how?", []),
        ("T-shirt, e-mail, blue-eyed", ["shirt", "e", "mail", "blue", "eye"]),
        ("Bobo's ball; Bobo’s ball", ["bobo", "ball", "bobo", "ball"]),
        ("I don't, can't, won't, we'll, you've, I'm", []),
        (
            "O'Brien's café in Málaga, Łódź, Tromsø, Straße",
            ["o", "brien", "cafe", "malaga", "lodz", "tromso", "strass"],
        ),
        ("2023-05-07, 3.5 kg and ½", ["2023", "05", "07", "3", "5", "kg", "1", "2"]),
        ("vitamin C", ["vitamin", "c"]),
        ("in May", ["may"]),
        ("snake_case @home #tag a/b", ["snake", "case", "home", "tag", "b"]),
        ("我的狗 Bobo", ["我", "的", "狗", "bobo"]),
        ("東京がギター", ["東", "京", "が", "ギ", "タ", "ー"]),
        ("한국어", ["한", "국", "어"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("Ёлка и Й", ["елка", "и", "и"]),
        ("dogs 🐕 running\u200b\n\tran", ["dog", "run", "ran"]),
        ("", []),
        ("'' -- ?!", []),
    ],
)
def test_finished_words(text, words):
    assert finished_words(text) == words


def test_a_question_and_a_statement_share_their_words():
    assert set(finished_words("Which hobbies has Anna been practising?")) <= set(
        finished_words("Anna's hobby is to practise the violin")
    )


def test_finished_words_hold_letters_digits_and_marks_alone():
    text = "".join(map(chr, [*range(32, 0x3000), *range(0xA000, 0xA100), 0x1F600, 0x20000]))
    for word in finished_words(text):
        assert word.split() == [word]
        assert "_" not in word and "'" not in word and '"' not in word


def test_finishing_a_question_is_not_lossy_for_what_is_no_stop_word():
    assert all(finished_words(word) for word in ("xylophone", "7", "é", "你"))
    assert not any(finished_words(word) for word in STOP_WORDS)


def test_threads_get_the_same_words():
    texts = [[f"running{part} hobbies{part} flies{part}" for part in range(200)] for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        words = list(threads.map(lambda part: [finished_words(text) for text in part], texts))
    assert words == [[[f"running{part}", f"hobbies{part}", f"flies{part}"] for part in range(200)]] * 4


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I met Dr. Hale. She is kind.", ["I met Dr. Hale.", "She is kind."]),
        ("Pepita hat am 19. Mai Geburtstag. Ich auch.", ["Pepita hat am 19. Mai Geburtstag.", "Ich auch."]),
        ("Festen er den 3. maj. Kom!", ["Festen er den 3. maj.", "Kom!"]),
        ("I am 34. Sam is 29.", ["I am 34.", "Sam is 29."]),
    ],
)
def test_a_full_stop_within_a_sentence_does_not_end_it(text, sentences):
    assert [text[first:last] for first, last in sentence_spans(text)] == sentences
