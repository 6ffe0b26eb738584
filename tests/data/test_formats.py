from hypothesis import given
from hypothesis import strategies as st

from askonce.data.formats.posts import read_posts, write_posts
from askonce.types import Link, Post

texts = st.text(st.characters(), max_size=20)  # half a surrogate pair among them
posts = st.builds(
    Post,
    id=texts,
    title=texts,
    body=texts,
    kind=st.sampled_from(["question", "answer"]),
    parent=st.none() | texts,
    score=st.none() | st.integers(),
    accepted=st.booleans(),
    tags=st.lists(texts, max_size=2).map(tuple),
    created=st.none() | texts,
    html=texts,
)
links = st.builds(Link, texts, texts, st.sampled_from(["duplicate", "related"]))


@given(st.lists(posts | links, max_size=5))
def test_posts_and_links_survive_a_file(tmp_path_factory, records):
    for name in ("posts.jsonl", "posts.jsonl.gz"):
        path = tmp_path_factory.getbasetemp() / name
        write_posts(path, records)
        assert list(read_posts(path)) == records
