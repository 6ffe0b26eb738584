"""What a recipe may say, and what is told when it says something else."""

from dataclasses import replace

import numpy as np
import pytest

from askonce.data.benchmarks import load_dataset
from askonce.errors import AskonceError, ConfigError, DataError, UnknownName
from askonce.teachers.starter import load_starter
from askonce.training.fine_tuning import train
from askonce.training.prepare import every_post, untrained, word_vectors
from askonce.training.recipe import Recipe, TextSettings, read_recipe, recipe_of
from askonce.types import Dataset, Pool, Post

TOML = """
dataset = "wikiqa"
about = "where the numbers come from"

[model]
name = "hyperqa"
dim = 30

[text]
min_count = 2

[train]
rate = 0.05
negatives = { source = "mix", count = 6 }

[tune]
"model.dim" = [10, 20]
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "recipe.toml").write_text(TOML)
    return tmp_path / "recipe.toml"


def test_a_recipe_is_read_into_typed_tables(path):
    recipe = read_recipe(path)
    assert (recipe.model, recipe.dataset, recipe.options) == ("hyperqa", "wikiqa", {"dim": 30})
    assert recipe.text.min_count == 2
    assert recipe.train.rate == 0.05
    assert (recipe.train.negatives.source, recipe.train.negatives.count) == ("mix", 6)


def test_set_changes_what_the_file_says(path):
    changes = [
        "model.dim=200",
        "train.rate=1",
        "train.negatives.count = 3",
        "train.loss=softmax",
        "train.clip=5.0",
        'dataset="trecqa"',
        "model.name=ctrn",
    ]
    recipe = read_recipe(path, changes)
    assert (recipe.model, recipe.dataset, recipe.options) == ("ctrn", "trecqa", {"dim": 200})
    assert (recipe.train.rate, recipe.train.loss, recipe.train.clip) == (1.0, "softmax", 5.0)
    assert (recipe.train.negatives.source, recipe.train.negatives.count) == ("mix", 3)


def test_names_of_models_are_read_generously():
    assert recipe_of({"model": "HyperQA"}).model == "hyperqa"
    assert recipe_of({"model": {"name": "AP_CNN"}}).model == "ap-cnn"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("train.epoch=3", "unknown setting 'train.epoch'; did you mean 'epochs'"),
        ("trian.rate=1", "unknown setting 'trian'; did you mean 'train'"),
        ("train.negatives.sauce='pool'", "unknown setting 'train.negatives.sauce'; did you mean"),
        ("model.dmi=3", "unknown setting 'model.dmi'; did you mean 'dim'"),
        ("text.mincount=3", "unknown setting 'text.mincount'; did you mean 'min_count'"),
        ("train.rate='fast'", "train.rate = 'fast'; expected float"),
        ("train.epochs=2.5", "train.epochs = 2.5; expected int"),
        ("train.epochs=true", "train.epochs = True; expected int"),
        ("model.dim='big'", "model.dim = 'big'; expected int"),
        ("train.loss=hing", "train.loss = 'hing'; did you mean 'hinge'"),
        ("train.negatives.source=corpse", "did you mean 'corpus'"),
        ("train.watch=map", "train.watch = 'map'; choose from MAP, MRR"),
        ("train.epochs=0", "train.epochs = 0; expected at least 1"),
        ("train.batch_size=0", "train.batch_size = 0; expected at least 1"),
        ("train.patience=0", "train.patience = 0; expected at least 1"),
        ("train.negatives.count=0", "train.negatives.count = 0; expected at least 1"),
        ("train.negatives.hardest_of=-1", "expected at least 0"),
        ("train.rate=0", "train.rate = 0.0; expected more than 0"),
        ("train.rate=nan", "train.rate = nan; expected more than 0"),
        ("train.clip=-1", "train.clip = -1.0; expected more than 0"),
        ("train.l2=-1", "train.l2 = -1.0; expected at least 0"),
        ("text.max_words=0", "text.max_words = 0; expected at least 1"),
        ("train.average=pairs", "need train.loss = 'cross_entropy' and train.negatives.source"),
        ("train.negatives.unanswered=true", "need train.loss = 'cross_entropy'"),
        ("train.rate", "--set 'train.rate'; expected a form like train.rate=0.01"),
        ("dataset.name=3", "'dataset' is a value, not a table"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(change, message, path):
    with pytest.raises(ConfigError) as caught:
        read_recipe(path, [change])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_model_names_the_nearest():
    with pytest.raises(UnknownName, match="'hiperqa'; did you mean 'hyperqa'"):
        recipe_of({"model": "hiperqa"})


@pytest.mark.parametrize("model", [None, 3, {}, {"dim": 3}, {"name": 3}])
def test_a_recipe_without_a_model_says_so(model):
    with pytest.raises(ConfigError, match=r"expected a \[model\] table with a name"):
        recipe_of({"model": model} if model is not None else {})


def test_a_file_that_is_no_toml_is_told_by_name(tmp_path):
    (tmp_path / "r.toml").write_text("rate == 3")
    with pytest.raises(DataError, match=r"r\.toml: expected TOML"):
        read_recipe(tmp_path / "r.toml")
    with pytest.raises(DataError, match="nothing at this path"):
        read_recipe(tmp_path / "none.toml")


@pytest.fixture
def vectors(tmp_path):
    """A file of vectors of five numbers."""
    lines = [f"w{i} " + " ".join(str(i + j / 10) for j in range(5)) for i in range(40)]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "vectors.txt"


@pytest.mark.parametrize("kind", ["file", "fused"])
def test_vectors_of_another_dimension_than_the_recipe_says(kind, small, vectors):
    recipe = recipe_of({"model": "hyperqa", "text": {"vectors": kind, "dim": 100}})
    with pytest.raises(
        ConfigError, match=r"text\.dim = 100, but the vectors of .* have 5 dimensions"
    ):
        untrained(recipe, small.made(), vectors)


@pytest.mark.parametrize(
    ("text", "dim"),
    [
        ({"vectors": "file"}, 5),
        ({"vectors": "file", "dim": 5}, 5),
        ({"vectors": "fused"}, 5),
        ({"vectors": "skipgram", "dim": 12}, 12),
        ({"vectors": "skipgram"}, 100),
        ({"vectors": "random", "dim": 7}, 7),
        ({"vectors": "random"}, 100),
        ({"vectors": "starter"}, 256),
        ({"vectors": "starter", "dim": 50}, 50),
    ],
)
def test_vectors_come_from_where_the_recipe_says(text, dim, small, vectors):
    recipe = recipe_of({"model": "hyperqa", "text": text})
    ranker = untrained(recipe, small.made(), vectors)
    weight = ranker.model.words.weight
    assert weight.shape == (len(ranker.lexicon.vocabulary), dim)
    given = weight[ranker.lexicon.vocabulary.encode(["w3"])[0]].tolist()
    same = np.allclose(given[:5], [3.0, 3.1, 3.2, 3.3, 3.4])
    assert same == (text["vectors"] in ("file", "fused"))


def test_without_a_file_the_starters_words_are_taken(small):
    recipe, dataset = recipe_of({"model": "hyperqa"}), small.made()
    posts = [Post("1", title="a bicycle and a pump")]
    dataset = replace(dataset, corpus=posts)
    ranker = untrained(recipe, dataset)
    row = ranker.lexicon.vocabulary.encode(["bicycle"])[0]
    wanted = load_starter().word_vectors(["bicycle"], 100)["bicycle"]
    np.testing.assert_allclose(ranker.model.words.weight[row].detach().numpy(), wanted)
    with pytest.raises(AskonceError, match=r"'fused' needs a file of word vectors; .* --vectors"):
        untrained(recipe_of({"model": "hyperqa", "text": {"vectors": "fused"}}), dataset)


def test_a_query_that_shares_its_id_with_a_candidate_is_counted_too():
    made = Dataset(
        "made", {"train": [Pool(Post("1", title="asked"), (Post("1", body="said"),), (1,))]}
    )
    assert [post.text for post in every_post(made)] == ["said", "asked"]
    same = Pool(Post("1", title="asked"), (Post("1", title="asked"),), (1,))
    assert len(list(every_post(Dataset("made", {"train": [same], "dev": [same]})))) == 1


def test_words_without_a_vector_get_one_by_seed(small):
    ranker = small.ranker(small.recipe(), small.made())
    settings = TextSettings(vectors="random", dim=6)
    one, other = (word_vectors(settings, ranker.lexicon, [], None, seed) for seed in (1, 2))
    assert not np.allclose(one[2:], other[2:])


def trained(small, dataset, folder, **changes):
    recipe = small.recipe("hyperqa", epochs=2, **changes)
    return train(small.ranker(recipe, dataset), dataset, recipe, folder)


def test_one_question_is_enough(small, tmp_path):
    [pool] = small.made().splits["dev"][:1]
    outcome = trained(small, Dataset("one", {"train": [pool], "dev": [pool]}), tmp_path)
    assert outcome.progress.epoch == 2


def test_no_right_candidate_at_all_is_one_clear_line(small, tmp_path):
    pool = Pool(Post("q", title="w1"), (Post("a", body="w2"), Post("b", body="w3")), (0, 0))
    bad = Dataset("bad", {"train": [pool], "dev": small.made().splits["dev"]})
    with pytest.raises(AskonceError, match="nothing to learn from"):
        trained(small, bad, tmp_path)


def test_a_dev_split_that_can_choose_nothing_is_told_before_any_work(small, tmp_path):
    made = small.made()
    pool = Pool(Post("q", title="w1"), (Post("a", body="w2"), Post("b", body="w3")), (0, 0))
    with pytest.raises(AskonceError, match="has no split 'dev'; it has: train"):
        trained(small, Dataset("bad", {"train": made.splits["train"]}), tmp_path)
    bad = Dataset("bad", {**made.splits, "dev": [pool]}, protocol="clean")
    with pytest.raises(AskonceError, match="none of 1 queries counts under protocol 'clean'"):
        trained(small, bad, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_training_split_that_is_not_there_is_told(small, tmp_path):
    with pytest.raises(AskonceError, match="no split 'train-all'; it has: train, dev"):
        trained(small, small.made(), tmp_path, split="train-all")


def test_a_label_column_of_strings_is_told_with_its_line(tmp_path):
    table = "question,answer,label\nw1,w2,yes\nw1,w3,no\n"
    (tmp_path / "train.csv").write_text(table)
    with pytest.raises(DataError, match=r"train\.csv, line 2: expected a label .*found 'yes'"):
        load_dataset("csv", tmp_path)


def test_defaults_make_a_recipe():
    assert recipe_of({"model": "hyperqa"}) == Recipe("hyperqa")
