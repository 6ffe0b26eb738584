"""Discourse: pages of its API, and an export."""

from askonce.types import Post

TOPIC = {
    "id": 12,
    "title": "Chain skips under load",
    "slug": "chain-skips-under-load",
    "tags": ["chain", {"id": 3, "name": "drivetrain"}],
    "accepted_answer": {"post_number": 3, "username": "ben"},
    "post_stream": {
        "posts": [
            {
                **{"id": 100, "post_number": 1, "username": "ada", "name": "Ada L."},
                **{"cooked": "<p>It <b>jumps</b>.</p>", "created_at": "2024-03-05T09:12:00.000Z"},
                **{"actions_summary": [{"id": 2, "count": 4}], "post_type": 1},
            },
            {"id": 101, "post_number": 2, "username": "system", "cooked": "", "post_type": 3},
            {"id": 102, "post_number": 3, "username": "ben", "cooked": "<p>Worn cassette.</p>"},
            {"id": 103, "post_number": 4, "username": "x", "cooked": "spam", "hidden": True},
            {"id": 104, "post_number": 6, "cooked": "(deleted by author)", "user_deleted": True},
        ],
        "stream": [100, 101, 102, 103, 104],
    },
}
LATEST = {
    "latest_posts": [
        {
            **{"id": 200, "topic_id": 12, "topic_title": "Chain skips", "post_number": 5},
            **{"raw": "Replace both.", "username": "cy", "like_count": 2},
        }
    ]
}
EXPORT = {
    "users": [{"id": 7, "username": "ada", "name": ""}],
    "topics": [
        {
            **{"id": 30, "title": "Which oil?", "category_id": 1},
            "posts": [
                {"id": 1, "user_id": 7, "post_number": 1, "raw": "For rain."},
                {"id": 2, "user_id": 9, "post_number": 2, "raw": "Wet lube."},
            ],
        }
    ],
}
CREATED = "2024-03-05T09:12:00.000Z"
BIKES = "https://bikes.example"

# file name, content, options of the import, the posts and links in it
SAMPLE = (
    "topics.json",
    [TOPIC, LATEST, EXPORT],
    {"site": BIKES},
    [
        Post(
            "12",
            "Chain skips under load",
            "It jumps.",
            score=4,
            tags=("chain", "drivetrain"),
            created=CREATED,
            html="<p>It <b>jumps</b>.</p>",
            url=f"{BIKES}/t/12/1",
            author="Ada L.",
            author_url=f"{BIKES}/u/ada",
            site="bikes.example",
        ),
        Post(
            "12/3",
            body="Worn cassette.",
            kind="answer",
            parent="12",
            accepted=True,
            html="<p>Worn cassette.</p>",
            url=f"{BIKES}/t/12/3",
            author="ben",
            author_url=f"{BIKES}/u/ben",
            site="bikes.example",
        ),
        Post(
            "12/5",
            body="Replace both.",
            kind="answer",
            parent="12",
            score=2,
            url=f"{BIKES}/t/12/5",
            author="cy",
            author_url=f"{BIKES}/u/cy",
            site="bikes.example",
        ),
        Post(
            "30",
            "Which oil?",
            "For rain.",
            url=f"{BIKES}/t/30/1",
            author="ada",
            author_url=f"{BIKES}/u/ada",
            site="bikes.example",
        ),
        Post(
            "30/2",
            body="Wet lube.",
            kind="answer",
            parent="30",
            url=f"{BIKES}/t/30/2",
            site="bikes.example",
        ),
    ],
)
# file name, content, how the errors begin
DAMAGED = (
    "t.json",
    {"id": 1, "title": "t", "post_stream": {"posts": [{"id": 4, "cooked": "x"}, 3]}},
    [
        "t.json, topic 1, post 4: expected 'post_number', found 'nothing'",
        "t.json, topic 1: expected 'posts': a list of objects, found 3",
    ],
)
