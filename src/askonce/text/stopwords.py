"""English function words, as the tokeniser makes them."""

from typing import Final

_DETERMINERS = """
a an the this that these those some any no each every either neither both all few more most much
many other another such same own enough
"""
_PRONOUNS = """
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it
its itself we us our ours ourselves they them their theirs themselves one someone anyone something
anything everything nothing who whom whose which what when where why how
"""
_VERBS = """
am is are was were be been being have has had having do does did doing done will would shall should
can could may might must ought cannot
"""
_PREPOSITIONS = """
of in on at by for with from to into onto upon about against between among through during before
after above below over under up down out off within without per via
"""
_CONJUNCTIONS_AND_ADVERBS = """
and or but nor if then else than as because while until since though although whether so too very
just only also again further once here there now ever not yet still
"""
_CONTRACTIONS = """
i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll
we're we've we'd we'll they're they've they'd they'll that's that'll there's here's what's who's
where's when's how's why's let's isn't aren't wasn't weren't haven't hasn't hadn't don't doesn't
didn't won't wouldn't shan't shouldn't can't couldn't mightn't mustn't needn't ain't
"""

STOPWORDS: Final[frozenset[str]] = frozenset(
    (
        _DETERMINERS
        + _PRONOUNS
        + _VERBS
        + _PREPOSITIONS
        + _CONJUNCTIONS_AND_ADVERBS
        + _CONTRACTIONS
    ).split()
)
