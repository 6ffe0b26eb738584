"""A dump of phpBB."""

from askonce.types import Post

PHPBB = r"""
INSERT INTO `phpbb_posts` (`post_id`, `topic_id`, `poster_id`, `post_time`, `post_username`,
`post_text`, `post_visibility`) VALUES
(1, 1, 2, 972086460, '', '<r>Hello <B><s>[b]</s>world<e>[/b]</e></B></r>', 1),
(2, 1, 3, 972086461, 'guest',
'[quote="ada":abc]Hello[quote]you[/quote:abc] there[/quote:abc]
Use [b:abc]oil[/b:abc] &amp; wait.', 1),
(3, 1, 3, 972086462, '', '<t>spam</t>', 0);
INSERT INTO `phpbb_topics` (`topic_id`, `topic_title`, `topic_first_post_id`) VALUES
(1, 'It &quot;squeaks&quot;', 1);
INSERT INTO `phpbb_users` (`user_id`, `username`, `user_password`) VALUES
(2, 'ada', 'x'), (3, 'Anonymous', '');
"""
BIKES = "https://bikes.example"

# file name, content, options of the import, the posts and links in it
SAMPLE = (
    "dump.sql",
    PHPBB,
    {"site": BIKES},
    [
        Post(
            "t1",
            'It "squeaks"',
            "Hello world",
            created="2000-10-21T00:01:00Z",
            url=f"{BIKES}/viewtopic.php?t=1",
            author="ada",
            author_url=f"{BIKES}/memberlist.php?mode=viewprofile&u=2",
            site="bikes.example",
        ),
        Post(
            "p2",
            body="Use oil & wait.",
            kind="answer",
            parent="t1",
            created="2000-10-21T00:01:01Z",
            url=f"{BIKES}/viewtopic.php?p=2#p2",
            author="guest",
            site="bikes.example",
        ),
    ],
)
# file name, content, how the errors begin
DAMAGED = (
    "d.sql",
    "INSERT INTO phpbb_posts (post_id, topic_id, post_text) VALUES (1, 9, 'x');",
    ["d.sql, line 1: expected topic 9 in the dump, found 'none'"],
)
