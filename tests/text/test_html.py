import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.text.html import html_to_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("plain words", "plain words"),
        ("two\nlines", "two\nlines"),
        ("fish &amp; chips &lt;3 caf&eacute;&nbsp;now", "fish & chips <3 café now"),
        ("&amp;lt;", "&lt;"),  # escaped twice is decoded once
        ("<p>How do I</p><p>mount it?</p>", "How do I\nmount it?"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("<ul><li>a<li>b</ul>", "a\nb"),
        ("<b>bold</b>face <i>x</i>", "boldface x"),
        ("<td>left</td><td>right</td>", "left\nright"),
        ("use <code>apt-get</code> now", "use apt-get now"),
        ('<a href="http://x.y/?a=1&b=2" title="a > b">link</a>', "link"),
        ("a<!-- <p>hidden --> b", "a b"),
        ("a<!-->b", "a b"),
        ("x <script>if (a < b) alert('</p>')</script>y", "x y"),
        ("x<STYLE type=css>p {}</STYLE >y", "x y"),
        ("x<script>never closed", "x"),
        ("a < b and c > d", "a < b and c > d"),
        ("i <3 you", "i <3 you"),
        ("broken <b don't> tag", "broken tag"),
        ("cut off <a href='x", "cut off <a href='x"),
        ("<!DOCTYPE html><?xml version='1.0'?>x", "x"),
        ("a\x00b\x1bc\ufeff so\xadft\ud800", "abc soft"),
        ("averylong\u200c\u200burl", "averylongurl"),
        ("  lots \t of\r\n\r\n   space ", "lots of\nspace"),
        ("<bar>unknown</bar>tag", "unknown\ntag"),
        ("", ""),
    ],
)
def test_text_of_html(html, text):
    assert html_to_text(html) == text


POST = """<p>Run:</p>
<pre class='py'><code>if x &lt; 3:
    <b>go</b>()

</code></pre>
<p>Done <code>x</code></p>"""


def test_code_blocks_keep_their_indentation():
    assert html_to_text(POST) == "Run:\nif x < 3:\n    go()\nDone x"


def test_code_blocks_can_be_dropped_but_inline_code_stays():
    assert html_to_text(POST, code=False) == "Run:\nDone x"


@given(st.text() | st.text(alphabet="<>/!-&#;'\"ab pre=\n"), st.booleans())
def test_never_raises_and_leaves_no_control_character(html, code):
    text = html_to_text(html, code)
    assert text == text.strip() or code
    assert all(c == "\n" or c == "\t" or c >= " " for c in text)
    text.encode("utf-8")


@given(st.lists(st.text(alphabet="abc ", min_size=1), min_size=1))
def test_words_of_two_blocks_never_become_one(blocks):
    html = "".join(f"<p>{block}</p>" for block in blocks)
    assert html_to_text(html).split() == " ".join(blocks).split()


AWKWARD = (
    '< <a <a" <a\'" <a="" <!-- <! <script <script/ <pre <pre> </pre & &# &#1 1 &#x <p> <div><b>x '
    "--> </script \u200c"
)


@pytest.mark.parametrize("unit", [*AWKWARD.split(), " ", "<a ", '<a "" "', "<a ' \"", "</pre "])
def test_time_is_linear_in_awkward_input(unit):
    html = unit * (300_000 // len(unit))
    start = time.process_time()
    html_to_text("<p>" + html)
    assert time.process_time() - start < 20  # a quadratic pattern takes minutes


def test_ten_megabytes_nested_a_hundred_thousand_deep():
    html = "<div>" * 100_000 + "words and more " * 700_000 + "</div>" * 100_000
    assert html_to_text(html).count("words") == 700_000


def test_entity_with_endless_digits():
    assert html_to_text("a &#" + "9" * 5000 + "; b") == "a \ufffd b"
