"""A value of the wrong kind, anywhere in a page of a forum's API, is an error of one line."""

from pathlib import Path

import pytest

from askonce.archive.load import cleaned
from askonce.archive.rows import problem
from askonce.data import formats
from askonce.data.forums import Source, converted
from askonce.data.forums import discourse as read_discourse
from askonce.data.forums import github as read_github
from askonce.data.forums import zendesk as read_zendesk
from askonce.types import Post
from tests.data.forums.samples import discourse, github, zendesk
from tests.data.forums.samples.odd import odd_pages

FORUMS = {
    "discourse": (discourse, read_discourse),
    "github": (github, read_github),
    "zendesk": (zendesk, read_zendesk),
}


@pytest.mark.parametrize("form", FORUMS)
def test_a_value_of_another_kind_is_read_or_reported(form):
    sample, reader = FORUMS[form]
    _, pages, options, _ = sample.SAMPLE
    source = Source(**options)
    for page in pages:
        for path, value, odd in odd_pages(page):
            page_record = formats.Record(Path("page"), None, odd)
            try:
                records = list(converted([page_record], lambda p: reader.page_posts(p, source)))
                reasons = [problem(cleaned(r)) or "" for r in records if isinstance(r, Post)]
            except Exception as error:
                pytest.fail(f"{value!r} at {path}: {type(error).__name__}: {error}")
            assert "\n" not in "".join([*reasons, *map(str, _damaged(records))])


def _damaged(records):
    return [record for record in records if not hasattr(record, "id")]
