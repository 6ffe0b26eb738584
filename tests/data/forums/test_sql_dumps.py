"""SQL dumps of forums."""

import pytest

from askonce import files
from askonce.data.forums import IMPORTERS, Source
from askonce.errors import AskonceError
from tests.data.forums.samples import records, write
from tests.data.forums.samples.question2answer import BIKES, Q2A, SAMPLE


def test_rows_of_a_dump_may_span_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 7)
    path = write(tmp_path, "dump.sql", Q2A)
    assert records("question2answer", path, site=BIKES) == SAMPLE[3]


@pytest.mark.parametrize("name", ["phpbb", "question2answer"])
def test_a_file_without_tables_of_the_forum_is_refused(tmp_path, name):
    file = tmp_path / "hosts.sql"
    file.write_text("127.0.0.1 localhost\nINSERT INTO other_things (id) VALUES (1);\n")
    with pytest.raises(
        AskonceError, match=r"hosts.sql: expected an SQL dump of a .* found no rows"
    ):
        list(IMPORTERS[name](Source(file)))
