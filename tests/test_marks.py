import pytest

from m2a.agents.marks import MarkReader

TEXT = "Bobo loves the ball [memory 12]. Look: [photo 2] [photo 31], [memory 12][note] a[0] end ["
READ = "Bobo loves the ball. Look:,[note] a[0] end ["


@pytest.mark.parametrize("size", [1, 2, 3, 7, 200])
def test_marks_are_taken_out_wherever_the_pieces_break(size):
    reader = MarkReader()
    pieces = [TEXT[start : start + size] for start in range(0, len(TEXT), size)]
    assert "".join(map(reader.feed, pieces)) + reader.finish() == READ
    assert (reader.photos, reader.memories) == ([2, 31], [12])


def test_text_is_not_held_back_without_need():
    reader = MarkReader()
    assert reader.feed("Hello") == "Hello"
    assert reader.feed(" [ not a mark, for it is far too long") == " [ not a mark, for it is far too long"
