"""A help centre: articles and community posts."""

from askonce.types import Post

ARTICLES = {
    "articles": [
        {
            **{"id": 1, "title": "Reset a password", "body": "<p>Click <i>Forgot</i>.</p>"},
            **{"html_url": "https://help.example/hc/en-us/articles/1", "author_id": 4},
            **{"vote_sum": 9, "label_names": ["account"], "created_at": "2023-01-01T00:00:00Z"},
        },
        {"id": 2, "title": "Draft", "body": "x", "draft": True},
    ],
    "users": [{"id": 4, "name": "Support"}],
}
COMMUNITY = {
    "posts": [{"id": 3, "title": "No mail?", "details": "<p>Nothing comes.</p>", "vote_sum": 1}],
    "comments": [
        {
            **{"id": 9, "body": "Look in spam.", "official": True, "vote_sum": 2},
            **{"url": "https://help.example/api/v2/community/posts/3/comments/9.json"},
        }
    ],
}

# file name, content, options of the import, the posts and links in it
SAMPLE = (
    "pages.json",
    [ARTICLES, COMMUNITY],
    {"site": "help.example"},
    [
        Post(
            "article-1",
            "Reset a password",
            tags=("account",),
            created="2023-01-01T00:00:00Z",
            url="https://help.example/hc/en-us/articles/1",
            author="Support",
            site="help.example",
        ),
        Post(
            "article-1-text",
            body="Click Forgot.",
            kind="answer",
            parent="article-1",
            score=9,
            accepted=True,
            created="2023-01-01T00:00:00Z",
            html="<p>Click <i>Forgot</i>.</p>",
            url="https://help.example/hc/en-us/articles/1",
            author="Support",
            site="help.example",
        ),
        Post(
            "post-3",
            "No mail?",
            "Nothing comes.",
            score=1,
            html="<p>Nothing comes.</p>",
            site="help.example",
        ),
        Post(
            "comment-9",
            body="Look in spam.",
            kind="answer",
            parent="post-3",
            score=2,
            accepted=True,
            html="Look in spam.",
            site="help.example",
        ),
    ],
)
# file name, content, how the errors begin
DAMAGED = (
    "a.json",
    {"articles": [{"id": 1, "title": 5}], "count": 1},
    ["a.json, article 1: expected 'title': a text, found 5"],
)
