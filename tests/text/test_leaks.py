import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.text.html import html_to_text
from askonce.text.leaks import strip_leaks

SITE = "https://bikes.example.com"

INJECTED = f"""<blockquote>
  <p><strong>Possible Duplicate:</strong><br>
  <a href="{SITE}/questions/17/how-do-i-true-a-wheel">How do I true a wheel?</a><br>
  <a href="{SITE}/questions/18/wobble">My wheel wobbles</a>  </p>
</blockquote>

<p>It rubs the pads.</p>"""

ORIGINALS = """<div class="question-status question-originals-of-duplicate">
<p>This question already has an answer here:</p>
<ul>
<li><a href="/questions/17/true">How do I true a wheel?</a> <span class="n">3 answers</span></li>
</ul>
</div>
<p>It rubs the pads.</p>"""

ASIDE = """<aside class="s-notice"><b>This question already has answers here</b>:
<div><a href="/q/17">How do I true a wheel?</a> (3 answers)</div></aside><p>It rubs the pads.</p>"""


@pytest.mark.parametrize("html", [INJECTED, ORIGINALS, ASIDE])
def test_a_notice_in_html_goes_and_the_body_stays(html):
    assert html_to_text(strip_leaks(html)) == "It rubs the pads."
    wrapped = f"<div class='post'>{html}</div>"  # what stands around the notice is not taken for it
    assert html_to_text(strip_leaks(wrapped)) == "It rubs the pads."


@pytest.mark.parametrize(
    "html",
    [
        "<blockquote><blockquote><p>Possible Duplicate: <i>x</i></p></blockquote></blockquote>rest",
        "<blockquote>Possible Duplicate:<blockquote>x<p>y</blockquote>z</blockquote>rest",
        "<BLOCKQUOTE>\n<P><B>possible  duplicates</B>:<BR>x<BR>y</P>\n</BLOCKQUOTE>rest",
        "<blockquote><p>Possible Duplicate:<br>never closed</p>rest",
        "<p>Possible Duplicate:<br>never closed<p>rest",
        "<p><b>Exact duplicate of</b>: <a href='/q/1'>x</a></p>rest",
        "<p>Possible duplicate of <a href='/q/1'>x</a></p>rest",
        "<p>This question already has an answer here:</p> <ul><li>x</li></ul>rest",
        "rest<blockquote><p>Possible Duplicate:<br>x</p></blockquote>"
        "<blockquote><p>Possible Duplicate:<br>y</p></blockquote>",
    ],
)
def test_nested_broken_and_repeated_notices_in_html(html):
    assert html_to_text(strip_leaks(html)) == "rest"


@pytest.mark.parametrize(
    ("text", "retained"),
    [
        ("Possible Duplicate:\nHow do I true a wheel?\nIt rubs.\nBadly.", "It rubs.\nBadly."),
        ("Possible Duplicate:\n\nHow do I?\nIt wobbles\n\nIt rubs.\n\nHelp.", "It rubs.\n\nHelp."),
        ("Possible Duplicates:\nIt wobbles", ""),
        ("Possible Duplicate: How do I? It rubs. Help?", "It rubs. Help?"),
        ("Possible Duplicate: It wobbles\nIt rubs.", "It rubs."),
        ("Possible duplicate of How do I true a wheel?\nIt rubs.", "It rubs."),
        ("It rubs.\nexact duplicate of: It wobbles", "It rubs."),
        (f"> **Possible Duplicate:**  \n> [How]({SITE}/q/1)\n> [No]({SITE}/q/2)\n\nRubs.", "Rubs."),
        ("This question already has an answer here:\nHow?\n3 answers\nIt rubs.", "It rubs."),
        (
            "This question already has answers here:\nHow? (3 answers)\nWhy?\n1 answer\n"
            "Closed 5 years ago.\nI got 2 answers already.",
            "I got 2 answers already.",
        ),
        ("This question already has answers here:\nHow do I?\nIt rubs.", "It rubs."),
        ("This question already has an answer here: How? (12 answers) It rubs.", "It rubs."),
        ("How do I true a wheel? [duplicate]", "How do I true a wheel?"),
        ("My wheel wobbles [Duplicate] \nIt rubs.", "My wheel wobbles  \nIt rubs."),
    ],
)
def test_a_notice_in_text_goes_and_the_rest_stays(text, retained):
    assert strip_leaks(text) == retained


@pytest.mark.parametrize("html", [INJECTED, ORIGINALS])
def test_a_notice_goes_after_conversion_too(html):
    retained = strip_leaks(html_to_text(html))
    assert retained.endswith("It rubs the pads.")
    assert "How do I true" not in retained
    assert "uplicate" not in retained


@pytest.mark.parametrize(
    ("text", "retained"),
    [
        (f'as in <a rel="x" href="{SITE}/questions/12/t">the\n<b>title</b></a>, no', "as in  , no"),
        ("see <a href='/q/12'>this</a> and <a href=//x.org/a/3>that</a>", "see   and"),
        (f"see [How [now]?]({SITE}/questions/12/how 'a title') there", "see   there"),
        (f"see {SITE}/questions/12/how?lq=1#4, or ({SITE}:80/a/3).", "see  , or ( )."),
        ("see bikes.example.com/q/12 or /questions/12/how.", "see   or  ."),
    ],
)
def test_a_link_to_a_question_goes_with_its_words(text, retained):
    assert strip_leaks(text) == retained


@pytest.mark.parametrize(
    "text",
    [
        "How do I remove duplicate rows?",
        "Possible duplicate keys in a join",
        "Duplicate: how git-annex copies a file",
        "Is that a possible duplicate of the first row?",
        "This question already has an answer here, but it is ten years old.",
        "I already has 3 answers [duplicate] them",
        "rows[duplicate]",
        "<p>A possible duplicate: two rows</p>",
        "<blockquote><p>I found duplicates:</p></blockquote>",
        '<a href="https://example.org/map">a map</a> and <a href="/questions/tagged/x">x</a>',
        "[a map](https://example.org/map) https://example.org/questions/tagged/12x",
        "path /a/3 and 1/2, https://example.org/faq/12",
    ],
)
def test_ordinary_text_stays(text):
    assert strip_leaks(text) == text


PIECES = """<blockquote> </blockquote> <p> </p> <ul> <a <a_href='/q/1 </a> [ ]( [x](/q/1) /q/1
x.y/a/1 > Possible_Duplicate: possible_duplicate_of this_question_already_has_an_answer_here: a. <
3_answers [duplicate] word ? . : * http:// <p>possible_duplicate: <blockquote>exact_duplicate_of"""
PIECES = [piece.replace("_", " ") for piece in PIECES.split()] + ["\n", "\n\n", " "]


@given(st.lists(st.sampled_from(PIECES)))
def test_any_mixture_loses_text_and_gains_none(pieces):
    text = " ".join(pieces)
    retained = iter(text)
    assert all(letter in retained for letter in strip_leaks(text).replace(" ", ""))


@given(st.text(alphabet="abc .,:;!?()<>[]/\n"))
def test_text_without_a_notice_or_a_question_link_is_only_trimmed(text):
    assert strip_leaks(text) == text.strip()


@pytest.mark.parametrize("unit", PIECES)
def test_time_is_linear_in_awkward_texts(unit):
    text = "<a href='/q/1'>possible duplicate:" + unit * (100_000 // len(unit))
    start = time.process_time()
    strip_leaks(text)
    assert time.process_time() - start < 10  # a quadratic pattern takes minutes
