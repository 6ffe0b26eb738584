import pytest

from askonce.types import Dataset, Pool, Post


def test_a_role_is_not_the_split_of_that_name():
    pool = Pool(Post("q"), (Post("a"),), (1,))
    dataset = Dataset("d", {"train": [], "train-all": [pool], "dev": []}, train="train-all")
    assert dataset.role("train") == [pool]
    assert dataset.split("train") == []
    with pytest.raises(KeyError):
        dataset.role("test")


def test_a_pool_checks_its_lengths():
    with pytest.raises(ValueError, match="1 candidates but 2 labels"):
        Pool(Post("q"), (Post("a"),), (1, 0))


def test_missed_posts_are_right_but_no_candidates():
    pool = Pool(Post("q"), (Post("a"), Post("b")), (0, 1), missed=(Post("c"),))
    assert [post.id for post in pool.positives] == ["b", "c"]
    assert [post.id for post in pool.negatives] == ["a"]
