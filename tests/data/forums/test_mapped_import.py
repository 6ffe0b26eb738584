"""XML and JSON by a mapping file."""

import pytest

from askonce.errors import ConfigError
from askonce.types import Post
from tests.data.forums.samples import records, write
from tests.data.forums.samples.mapped import PAIRS, PAIRS_MAP


def test_json_pairs_by_a_mapping(tmp_path):
    path = write(tmp_path, "p.json", PAIRS)
    mapping = write(tmp_path, "map.toml", PAIRS_MAP)
    actual = records("mapped", path, mapping=mapping)
    assert actual == [Post("7", "How far?"), Post("7-a1", "", "Ten km", "answer", "7")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs 'title' or 'body'"),
        ("item = 'x'", "has 'item'; did you mean 'items'"),
        ("[question]\ntitel = 'x'", "'titel'; did you mean 'title'"),
        ("[question", "cannot read the mapping"),
    ],
)
def test_a_wrong_mapping_is_refused(tmp_path, text, message):
    mapping = write(tmp_path, "map.toml", text)
    with pytest.raises(ConfigError, match=message):
        records("mapped", write(tmp_path, "p.json", PAIRS), mapping=mapping)
