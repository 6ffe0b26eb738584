"""An XML file and its mapping."""

from askonce.types import Post

FAQ = """<faq>
  <entry key="e1" lang="en">
    <ask>How far?</ask><link>https://faq.example/1</link><topic>a</topic><topic>b</topic>
    <reply votes="3" best="yes">Ten <b>km</b></reply>
    <reply>No idea</reply>
  </entry>
  <entry key="e2"><topic>empty</topic></entry>
</faq>
"""
FAQ_MAP = """
items = "entry"
[question]
id = "@key"
title = "ask"
url = "link"
tags = "topic"
[answer]
items = "reply"
body = "."
score = "@votes"
accepted = "@best"
"""
PAIRS = {"data": [{"q": {"text": "How far?"}, "a": "Ten km", "n": 7}]}
PAIRS_MAP = 'items = "data"\n[question]\nid = "n"\ntitle = "q.text"\n[answer]\nbody = "a"\n'

# file name, content, options of the import, the posts and links in it
SAMPLE = (
    "faq.xml",
    FAQ,
    {"mapping": FAQ_MAP},
    [
        Post(
            "e1",
            "How far?",
            tags=("a", "b"),
            url="https://faq.example/1",
            site="faq.example",
        ),
        Post(
            "e1-a1",
            body="Ten km",
            kind="answer",
            parent="e1",
            score=3,
            accepted=True,
            url="https://faq.example/1",
            site="faq.example",
        ),
        Post(
            "e1-a2",
            body="No idea",
            kind="answer",
            parent="e1",
            url="https://faq.example/1",
            site="faq.example",
        ),
    ],
)
# file name, content, how the errors begin
DAMAGED = ("f.xml", "<faq><entry>", ["f.xml, line 1: expected well-formed XML"])
FLAW = "faq.xml, item 2, line 7: expected a question with a title or a body"
