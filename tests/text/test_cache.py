"""Results that are kept by text: computed once, within bounds."""

from askonce.text.cache import TextCache


def counted():
    """A function that notes the texts it was called with."""
    calls = []

    def compute(text):
        calls.append(text)
        return text.upper()

    return compute, calls


def test_a_text_is_computed_once():
    compute, calls = counted()
    cache = TextCache(compute, 100)
    assert [cache("tyre"), cache("tube"), cache("tyre")] == ["TYRE", "TUBE", "TYRE"]
    assert calls == ["tyre", "tube"]


def test_a_full_cache_begins_anew_with_the_latest_text():
    compute, calls = counted()
    cache = TextCache(compute, 10)
    for text in ("tyre", "tube", "spoke", "spoke"):
        cache(text)
    assert calls == ["tyre", "tube", "spoke"]
    assert len(cache) == 1


def test_a_long_text_is_not_kept():
    compute, calls = counted()
    cache = TextCache(compute, 100, longest=4)
    assert cache("spoke") == cache("spoke") == "SPOKE"
    assert (calls, len(cache)) == (["spoke", "spoke"], 0)
