"""Made questions for tests of pre-training, and encoders that know their words."""

from askonce.training.prepare import untrained
from askonce.training.recipe import Recipe, TextSettings
from askonce.types import Dataset, Pool, Post

VERBS = ["clean", "mend", "paint", "oil", "fit", "test", "sell", "buy", "lift", "store"]
THINGS = ["chain", "tyre", "pedal", "saddle", "brake", "wheel", "frame", "spoke", "bell", "lamp"]
TALK = ["yesterday", "my", "friend", "said", "that", "maybe", "someone", "here", "will", "know"]


def question(number):
    """A title of two telling words, both of which the body holds too, among others.

    Questions whose numbers differ by 100 ask for the same in other words.
    """
    verb, thing = VERBS[number % 10], THINGS[number // 10 % 10]
    talk = [TALK[(number * k) % len(TALK)] for k in range(1, 6)]
    body = " ".join([*talk[:3], thing, *talk[3:], verb])
    title = f"how to {verb} the {thing}" if number < 100 else f"{thing} , ways to {verb} it"
    return Post(f"q{number}", title, body)


def forum(size=200):
    posts = [question(number) for number in range(size)]
    tenth = size // 10

    def pool(query, wrong):
        others = [posts[(query + step) % size] for step in range(1, wrong + 1)]
        twin = posts[(query + 100) % size]
        return Pool(posts[query], (twin, *others), (1,) + (0,) * len(others))

    splits = {
        "train": tuple(pool(n, 3) for n in range(2 * tenth, 4 * tenth)),
        "dev": tuple(pool(n, 9) for n in range(tenth)),
        "test": tuple(pool(n, 9) for n in range(tenth, 2 * tenth)),
    }
    return Dataset("made", splits, corpus=tuple(posts))


def help_desk():
    """Questions without bodies and answers without titles."""
    pools = []
    for n in range(40):
        asked = question(n)
        right = (Post(f"a{n}", body=asked.body, kind="answer"),)
        wrong = Post(f"a{n + 1}", body=question(n + 1).body, kind="answer")
        pools.append(Pool(Post(f"q{n}", asked.title), (*right, wrong), (1, 0)))
    return Dataset("desk", {"train": tuple(pools[:30]), "dev": tuple(pools[30:])}, test="dev")


def make(name="rcnn", dataset=None, **options):
    text = TextSettings(vectors="random", dim=20)
    options = {"dim": 24, "dropout": 0.1, **options}
    return untrained(Recipe(name, None, options, text), dataset or forum())
