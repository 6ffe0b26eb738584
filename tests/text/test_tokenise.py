import csv
import gzip
import sys
import time
import unicodedata
from itertools import islice
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askonce.text.html import html_to_text
from askonce.text.tokenise import TOKENISERS, split_whitespace, tokenise
from askonce.types import TokeniserName


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Has this been asked?", "has this been asked"),
        ("I'm sure you DON'T, or don’t.", "i'm sure you don't or don't"),
        ("(apt-get) 0x000007b /etc/fstab, C++!", "apt-get 0x000007b /etc/fstab c++"),
        ("node.js; foo_bar --help 3.5 e.g. i.e.,", "node.js foo_bar --help 3.5 e.g i.e"),
        ("C#, c++11 f#.", "c# c++11 f#"),
        ("`--dry-run` [--rm] word--word -- end -", "--dry-run --rm word word end"),
        ("~/.bashrc '/home/me/.ssh/id.pub' /var/log/", "~/.bashrc /home/me/.ssh/id.pub /var/log"),
        ("and/or he/she 24/7 1/2", "and or he she 24 7 1 2"),
        ("</p> // comment", "p comment"),
        ("$1,000,000.50 1,2 12,345,6 50%", "1,000,000.50 1 2 12,345 6 50"),
        ("word,123 page,100", "word 123 page 100"),
        ("mail me@home.org, a.b@c.de.", "mail me@home.org a.b@c.de"),
        ("see https://X.y/a?b=1&c=2#d.", "see https://x.y/a?b=1&c=2#d"),
        ("(www.foo.com/bar) http://", "www.foo.com/bar http"),
        ("AT&T Q&A a & b", "at&t q&a a b"),
        ("the claim.The insurer", "the claim the insurer"),
        ("ASP.NET Node.JS v1.2.Now", "asp.net node.js v1.2 now"),
        ("so...what ok.....fine", "so what ok fine"),
        ("_really_ __init__ snake__case ______", "really init snake__case"),
        ("a\x00b \ud800 c\udfffd \x1b[0m", "a b c d 0m"),
        ("“quoted” – dash… ½ x²", "quoted dash ½ x²"),
        ("cafe\u0301 İstanbul ΣΑΣ.", "café i̇stanbul σας"),
        ("日本語 です。中文3.5", "日 本 語 で す 中 文 3.5"),
        ("한국어 हिन्दी में। ไทย العربية،", "한국어 हिन्दी में ไทย العربية"),
        ("ok😀👍🏽 👨\u200d👩\u200d👧🇩🇪🇫🇷 ❤️ 1️⃣", "ok 😀 👍🏽 👨\u200d👩\u200d👧 🇩🇪 🇫🇷 ❤️ 1️⃣"),
        ("?! ... --- '' ++ # / // ~", ""),
        ("", ""),
    ],
)
def test_words(text, tokens):
    assert tokenise(text) == tokens.split()


PIECES = [*"aZé1_-.,'’@&/+#:~ \n中😀", "\u0301", "--", "http://", "www.", "K", "…", "\ud800"]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
@example("\u0344\u0316" * 100)
def test_tokenising_tokens_again_changes_nothing(text):
    tokens = tokenise(text)
    assert tokenise(" ".join(tokens)) == tokens
    assert all(token and token == token.lower() and not token.isspace() for token in tokens)


@given(st.lists(st.text(alphabet="abcXYZ019äЖ", min_size=1)))
def test_plain_words_come_back_in_lower_case(words):
    assert tokenise(", ".join(words) + "!") == [word.lower() for word in words]


def test_every_letter_is_kept_and_every_separator_dropped():
    for char in map(chr, range(sys.maxunicode // 8)):
        kind = unicodedata.category(char)
        tokens = tokenise(char)
        if kind[0] == "L" or kind == "Nd":
            assert tokens, hex(ord(char))
        elif kind[0] in "PZ" or kind in ("Cc", "Cs"):
            assert not tokens, hex(ord(char))


AWKWARD = ["a", " ", "-", ".", "--", "a.", "a.a-", "a_", "_", "/", "/a", "~/", "1,000", "+", "'a"]
AWKWARD += [
    "www.",
    "http://",
    "http://.",
    "www.:",
    "é",
    "中",
    "😀",
    "👨\u200d",
    "\u0301\u0316",
    "’",
    "\0",
]


@pytest.mark.parametrize("unit", AWKWARD)
def test_time_is_linear_in_awkward_input(unit):
    text = unit * (300_000 // len(unit))
    start = time.process_time()
    tokenise("a" + text)
    assert time.process_time() - start < 6  # a quadratic pattern takes a minute


def test_whitespace_tokeniser_leaves_tokens_alone():
    assert split_whitespace("Is\tthe U.S.  's\t`` , ?\n") == [
        "is",
        "the",
        "u.s.",
        "'s",
        "``",
        ",",
        "?",
    ]


def test_every_tokeniser_has_its_name():
    assert set(TOKENISERS) == set(get_args(TokeniserName))


@pytest.mark.data
def test_forum_words_are_clean(data_folder):
    path = data_folder / "devops_se" / "posts.csv.gz"
    csv.field_size_limit(10**7)  # of the process; another test may have lowered it
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        bodies = [row["body"] for row in islice(csv.DictReader(stream), 1500)]
    posts = [html_to_text(html_to_text(body)) for body in bodies]  # the file is escaped twice
    tokens = [token for post in posts for token in tokenise(post)]
    assert {"docker-compose", "apt-get", "ci", "don't", "--name"} <= set(tokens)
    assert not [token for token in tokens if token[-1] in ".,;:!?)'\"" or token[0] in ".,;:(\"'"]
