import pytest

from askonce.errors import UnknownName
from askonce.registry import Registry, nearest


@pytest.fixture
def animals() -> Registry[type]:
    registry: Registry[type] = Registry("animal", "askonce.data")
    registry.add("red-fox", "fox")(int)
    registry.add("hare")(str)
    return registry


@pytest.mark.parametrize("typed", ["red-fox", "Red_Fox", "fox", " FOX "])
def test_names_and_aliases_are_found_however_typed(animals, typed):
    assert animals[typed] is int
    assert typed in animals
    assert animals.resolve(typed) == "red-fox"


def test_unknown_name_says_what_is_near(animals):
    with pytest.raises(UnknownName, match=r"no animal is called 'har'; did you mean 'hare'\?"):
        animals["har"]


def test_a_name_is_given_once(animals):
    with pytest.raises(ValueError, match="two animals"):
        animals.add("hare")(float)


def test_without_a_near_name_all_are_listed():
    assert nearest("zzz", ["b", "a"]) == "choose from a, b"
