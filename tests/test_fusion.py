import pytest

from m2a.memory.fusion import reciprocal_rank_fusion, with_photos


def test_scores_are_sums_of_reciprocal_ranks():
    fused = dict(reciprocal_rank_fusion([["a", "b"], ["b", "c"], ["b"]]))
    assert fused == {
        "b": pytest.approx(1 / 62 + 1 / 61 + 1 / 61),
        "a": pytest.approx(1 / 61),
        "c": pytest.approx(1 / 62),
    }


def test_what_more_paths_find_comes_first():
    rankings = [["a", "b", "c"], ["d", "b", "e"], ["f", "g", "b"]]
    assert reciprocal_rank_fusion(rankings)[0][0] == "b"


def test_equal_scores_keep_the_order_in_which_they_were_seen():
    assert [item for item, _ in reciprocal_rank_fusion([["z", "y"], ["x", "w"], []])] == ["z", "x", "y", "w"]


def test_the_same_ranks_score_the_same_on_whichever_path():
    rankings = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    scores = {score for _, score in reciprocal_rank_fusion(rankings)}
    assert len(scores) == 1


def test_k_flattens_the_ranks():
    rankings = [["a", "b", "c"], ["x", "b", "y"]]
    assert reciprocal_rank_fusion(rankings, k=0)[0][0] == "a"
    assert reciprocal_rank_fusion(rankings, k=60)[0][0] == "b"


def test_nothing_gives_nothing():
    assert reciprocal_rank_fusion([[], [], []]) == []


def test_photos_join_a_ranking_of_text():
    text, photos = ["a", "b", "c", "d", "e", "f", "g"], ["x", "d", "y"]
    # One photo to five of text, and what is near in both further up; as equals they take turns, the photo first.
    assert [item for item, _ in with_photos(text, photos, as_equals=False)] == list("abcdexfgy")
    assert [item for item, _ in with_photos(text, photos, as_equals=False, near={"d"})] == list("abdcexfgy")
    assert [item for item, _ in with_photos(text, photos, as_equals=True)] == list("xadbycefg")
    for as_equals in (True, False):
        assert with_photos([], ["x", "y"], as_equals=as_equals) == reciprocal_rank_fusion([["x", "y"]])
        assert [item for item, _ in with_photos(["a", "b"], [], as_equals=as_equals)] == ["a", "b"]


def test_a_photo_of_something_else_is_not_put_before_the_answer():
    """In a small memory every item is ranked by its text, far down though it is."""
    text = ["the key", "the code", "my dogs", "a teapot"]
    assert with_photos(text, ["my dogs", "a teapot"], as_equals=False)[0][0] == "the key"


def test_a_photo_lifts_a_record_to_half_its_better_rank_at_most():
    text = [f"text {rank}" for rank in range(1, 101)]
    for text_rank, photo_rank in ((60, 10), (30, 1), (2, 1), (100, 1), (9, 7)):
        photos = [f"photo {rank}" for rank in range(1, photo_rank)] + [f"text {text_rank}"]
        merged = [item for item, _ in with_photos(text, photos, as_equals=False, near=set(photos))]
        assert merged[0] == "text 1"
        before = merged.index(f"text {text_rank}")  # how many stand before it
        assert before + 1 >= min(text_rank, 5 * photo_rank) / 2
