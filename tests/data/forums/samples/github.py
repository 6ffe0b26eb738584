"""GitHub: issues with comments, and discussions."""

from askonce.types import Link, Post

ISSUE = {
    "number": 5,
    "title": "Crash on start",
    "body": "It **stops**.",
    "html_url": "https://github.com/o/r/issues/5",
    "user": {"login": "ada", "html_url": "https://github.com/ada", "type": "User"},
    "labels": [{"name": "bug"}],
    "reactions": {"+1": 3, "-1": 1},
    "created_at": "2024-01-02T03:04:05Z",
    "comments": 2,
}
COMMENTS = [
    {
        **{"id": 900, "issue_url": "https://api.github.com/repos/o/r/issues/5"},
        **{"html_url": "https://github.com/o/r/issues/5#issuecomment-900", "body": "Update it."},
        **{"user": {"login": "ben"}},
    },
    {
        **{"id": 901, "issue_url": "https://api.github.com/repos/o/r/issues/6"},
        **{"html_url": "https://github.com/o/r/issues/6#issuecomment-901"},
        **{"body": "Duplicate of #5", "user": {"login": "ben"}},
    },
    {
        **{"id": 902, "issue_url": "https://api.github.com/repos/o/r/issues/5"},
        **{"html_url": "https://x", "body": "Stale.", "user": {"login": "stale[bot]"}},
    },
]
LISTED = {  # by `gh issue list --json`
    **{"number": 7, "title": "It crashes", "url": "https://github.com/o/r/issues/7"},
    **{"author": {"login": "dee", "name": "Dee"}, "bodyText": "Again."},
    "comments": [
        {
            **{"id": "IC_1", "body": "Duplicate of https://github.com/o/r/issues/5."},
            **{"author": {"login": "ben"}},
        },
        {
            **{"id": "IC_2", "body": "Me too.", "author": {"login": "cy"}},
            **{"url": "https://github.com/o/r/issues/7#issuecomment-903"},
            "reactionGroups": [
                {"content": "THUMBS_UP", "users": {"totalCount": 4}},
                {"content": "THUMBS_DOWN", "users": {"totalCount": 1}},
            ],
        },
        {"id": "IC_3", "body": "Hm.", "author": {"login": "app/renovate", "is_bot": True}},
    ],
}
DISCUSSIONS = {
    "data": {
        "repository": {
            "discussions": {
                "pageInfo": {"hasNextPage": False},
                "nodes": [
                    {
                        **{"number": 8, "title": "How do I start?", "bodyHTML": "<p>Please.</p>"},
                        **{"url": "https://github.com/o/r/discussions/8", "upvoteCount": 6},
                        **{"author": {"login": "cy"}, "category": {"name": "Q&A"}},
                        "comments": {
                            "nodes": [
                                {
                                    **{"id": "DC_1", "databaseId": 77, "isAnswer": True},
                                    **{"body": "Like so.", "author": None, "upvoteCount": 2},
                                    "replies": {"nodes": [{"databaseId": 78, "body": "Thanks!"}]},
                                }
                            ]
                        },
                    }
                ],
            }
        }
    }
}

# file name, content, options of the import, the posts and links in it
SAMPLE = (
    "issues.json",
    [
        ISSUE,
        ISSUE | {"number": 6, "html_url": "https://github.com/o/r/issues/6"},
        ISSUE | {"pull_request": {}},
        *COMMENTS,
        LISTED,
        DISCUSSIONS,
    ],
    {},
    [
        Post(
            "o/r#5",
            "Crash on start",
            "It **stops**.",
            score=2,
            tags=("bug",),
            created="2024-01-02T03:04:05Z",
            url="https://github.com/o/r/issues/5",
            author="ada",
            author_url="https://github.com/ada",
            site="github.com",
        ),
        Post(
            "o/r#6",
            "Crash on start",
            "It **stops**.",
            score=2,
            tags=("bug",),
            created="2024-01-02T03:04:05Z",
            url="https://github.com/o/r/issues/6",
            author="ada",
            author_url="https://github.com/ada",
            site="github.com",
        ),
        Post(
            "o/r#5-900",
            body="Update it.",
            kind="answer",
            parent="o/r#5",
            url="https://github.com/o/r/issues/5#issuecomment-900",
            author="ben",
            author_url="https://github.com/ben",
            site="github.com",
        ),
        Link("o/r#6", "o/r#5"),
        Post(
            "o/r#7",
            "It crashes",
            "Again.",
            url="https://github.com/o/r/issues/7",
            author="Dee",
            author_url="https://github.com/dee",
            site="github.com",
        ),
        Link("o/r#7", "o/r#5"),
        Post(
            "o/r#7-903",
            body="Me too.",
            kind="answer",
            parent="o/r#7",
            score=3,
            url="https://github.com/o/r/issues/7#issuecomment-903",
            author="cy",
            author_url="https://github.com/cy",
            site="github.com",
        ),
        Post(
            "o/r#8",
            "How do I start?",
            "Please.",
            score=6,
            tags=("Q&A",),
            html="<p>Please.</p>",
            url="https://github.com/o/r/discussions/8",
            author="cy",
            author_url="https://github.com/cy",
            site="github.com",
        ),
        Post("o/r#8-77", "", "Like so.", "answer", "o/r#8", score=2, accepted=True),
        Post("o/r#8-78", "", "Thanks!", "answer", "o/r#8"),
    ],
)
# file name, content, how the errors begin
DAMAGED = (
    "i.json",
    [{"title": "t", "url": "https://x.example"}, {"message": "Not Found"}],
    [
        "i.json, item None: expected the address of an issue or discussion",
        "i.json: expected issues, discussions or comments, found ['message']",
    ],
)
