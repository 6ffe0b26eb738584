import pytest

from askonce.data.benchmarks.semeval import near_copies

THREAD = "Which bank gives personal loans to expatriates earning five thousand monthly?"


@pytest.mark.parametrize(
    "copy",
    [
        THREAD,
        "which bank give personal loan to expatriate earn five thousand monthly ?",  # lemmatised
        "Which bank gives personal loans to expatriates?",  # cut
        THREAD + " Peace be with you, wandering traveller under desert moon",  # signed
    ],
)
def test_copies_in_other_forms_are_found(copy):
    assert near_copies([copy], [THREAD]) == [True]
    assert near_copies([THREAD], [copy]) == [True]


@pytest.mark.parametrize(
    "other",
    [
        "",
        "thanks",
        "Which bank has the best car loans?",
        "Can expatriates earning five hundred bring their family to Qatar?",
        "monthly thousand five earning expatriates loans personal bank",  # the words, not the text
    ],
)
def test_texts_on_the_same_matter_are_no_copies(other):
    assert near_copies([other], [THREAD]) == [False]


def test_every_text_gets_its_own_verdict():
    assert near_copies([THREAD, "", "see you there"], ["see you there again", THREAD]) == [
        True,
        False,
        False,
    ]
    assert near_copies([], [THREAD]) == []
    assert near_copies([THREAD], []) == [False]
