"""From a name as typed to a row: baselines, recipes and their variants, transformers, fusions."""

from pathlib import Path

from askonce.baselines import BASELINES
from askonce.bench.rows.base import Row
from askonce.bench.rows.baseline import BaselineRow
from askonce.bench.rows.cross_encoder import CrossEncoderRow
from askonce.bench.rows.fusion import FusionRow
from askonce.bench.rows.sentence_encoder import SentenceRow
from askonce.bench.rows.trained import TrainedRow
from askonce.errors import AskonceError, ConfigError, UnknownName
from askonce.models import MODELS
from askonce.registry import nearest

MINILM, SENTENCE, CROSS = "minilm", "sentence-transformers", "cross-encoder"
EVERY_BASELINE = ("random", "bm25", "tfidf", "word-vectors", "overlap", "svm")


def row_of(name: str, dataset: str, recipes: Path) -> Row:
    """The row that a name stands for on a dataset.

    ``hyperqa``: the recipe recipes/DATASET/hyperqa.toml. ``hyperqa@model.dim=100@train.rate=0.1``:
    the same with changes. ``my/recipe.toml``: any recipe. ``bm25``: a baseline. ``minilm``,
    ``sentence-transformers:NAME``, ``cross-encoder``, ``cross-encoder:NAME``: transformers.
    ``bm25+hyperqa``: a fusion.
    """
    name = name.strip()
    if "+" in name:
        return FusionRow([row_of(part, dataset, recipes) for part in name.split("+")])
    plain, *changes = name.split("@")
    kind, _, place = plain.partition(":")
    if kind in (MINILM, SENTENCE, CROSS) or plain in BASELINES:
        if changes:
            raise ConfigError(f"{name!r}: only recipes can be changed with @")
        return _fixed(plain, kind, place or None)
    path, label = _recipe(plain, dataset, recipes)
    return TrainedRow("@".join([label, *changes]), path, changes, dataset)


def default_names(dataset: str, recipes: Path, largest_pool: int) -> list[str]:
    """All baselines, transformers and recipes of a dataset, and BM25 beside each that is neural.

    The cross-encoder stands only where it can read whole pools in reasonable time.
    """
    own = sorted(path.stem for path in (recipes / dataset).glob("*.toml"))
    neural = [MINILM, *([CROSS] if largest_pool <= 100 else []), *own]
    return [*EVERY_BASELINE, *neural, *(f"bm25+{name}" for name in neural)]


def _fixed(plain: str, kind: str, place: str | None) -> Row:
    if kind == CROSS:
        return CrossEncoderRow(plain, place)
    if kind == SENTENCE and place is None:
        raise ConfigError(f"{plain!r} needs a name or folder: {SENTENCE}:NAME")
    if kind in (MINILM, SENTENCE):
        return SentenceRow(plain, place)
    return BaselineRow(plain)


def _recipe(plain: str, dataset: str, recipes: Path) -> tuple[Path, str]:
    if plain.endswith(".toml"):
        return Path(plain), plain
    label = MODELS.resolve(plain) if plain in MODELS else plain
    path = recipes / dataset / f"{label}.toml"
    if path.is_file():
        return path, label
    if plain in MODELS:
        raise AskonceError(
            f"no recipe {str(path)!r} for {plain!r}; name a recipe file, or the folder of recipes "
            "with --recipes"
        )
    known = [*BASELINES.names(), *MODELS.names(), MINILM, SENTENCE, CROSS]
    raise UnknownName(f"no model is called {plain!r}; {nearest(plain, known)}")
