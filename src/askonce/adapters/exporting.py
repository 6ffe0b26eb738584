"""Write the encoder of a ranker or an archive as a folder that other libraries load."""

import shutil
from pathlib import Path
from typing import Any

import torch
from torch import nn

from askonce.errors import AskonceError, ConfigError, needing
from askonce.models.adapter import Adapter, Bend
from askonce.models.bag import Bag
from askonce.ranker import Ranker
from askonce.ranking.manifest import SENTENCE, current, read_manifest
from askonce.teachers import STARTER, CachedTeacher, load_teacher
from askonce.teachers.lexicon import TeacherLexicon
from askonce.teachers.precision import Precision
from askonce.teachers.teacher import SentenceTeacher
from askonce.text.lexicon import Lexicon
from askonce.types import TaskName

with needing("minilm", "an export to sentence-transformers"):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Module, Normalize, Router

    from askonce.adapters.static import static_embeddings


def export_model(source: Path, out: Path, task: TaskName = "questions", fast: bool = False) -> str:
    """Write the folder of a sentence-transformers model; returns what it is made of.

    ``source`` is the folder of a ranker, or of an archive whose encoder for ``task`` is exported:
    the one in service, or the ``fast`` one that reads what is typed. Nothing of Askonce is needed
    to load the result.
    """
    name, teacher, sides = encoder_modules(source, out, task, fast)
    layers = [*teacher, *sides[0]]
    if len(sides) == 2:
        query, document = (side[:-1] for side in sides)
        router = Router.for_query_document(query_modules=query, document_modules=document)
        layers = [*teacher, router, Normalize()]
    model = SentenceTransformer(modules=layers, device="cpu")
    try:
        model.save(str(out))
    except OSError as error:
        shutil.rmtree(out, ignore_errors=True)
        raise AskonceError(f"{str(out)!r} cannot be written: {error}") from None
    return name


def dense_layers(bend: Bend) -> list[Module]:
    """W x + B ReLU(A x + a) as two layers: x is ReLU(x) - ReLU(-x)."""
    linear, inner, outer = bend.linear.weight, bend.inner, bend.outer.weight
    dim = linear.shape[0]
    eye, none = torch.eye(dim), torch.zeros(2 * dim)
    first = Dense(
        dim,
        len(inner.weight) + 2 * dim,
        activation_function=nn.ReLU(),
        init_weight=torch.cat([inner.weight.detach(), eye, -eye]),
        init_bias=torch.cat([inner.bias.detach(), none]),
    )
    second = Dense(
        len(inner.weight) + 2 * dim,
        dim,
        bias=False,
        activation_function=None,
        init_weight=torch.cat([outer, linear, -linear], dim=1).detach(),
    )
    return [first, second]


Modules = tuple[str, list[nn.Module], list[list[Any]]]


def encoder_modules(source: Path, out: Path, task: TaskName, fast: bool = False) -> Modules:
    """What an encoder is made of: its name, the modules of its teacher, and those of each side.

    A teacher as it comes has one side without modules, a student has sides only. ``out`` must be a
    new folder.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{str(out)!r} exists; choose a new folder")
    if (source / "config.json").is_file():
        return _of_ranker(source)
    models = current(source)
    serving = read_manifest(models).servings.get(task) if models is not None else None
    encoder = serving and (serving.fast if fast else serving.encoder)
    if models is None or not encoder:
        reader = "no student or starter" if fast else "no encoder"
        raise AskonceError(
            f"{reader} serves the {task} of {str(source)!r}; `askonce train` makes one"
        )
    if encoder == f"{SENTENCE}{STARTER}":
        raise AskonceError("the starter composes unknown words of known ones; only Askonce can")
    if encoder.startswith(SENTENCE):
        teacher = load_teacher(encoder.removeprefix(SENTENCE))
        return teacher.name, _of_teacher(teacher), [[]]
    return _of_ranker(models / encoder)


def _of_ranker(folder: Path) -> Modules:
    ranker = Ranker.load(folder)
    model, lexicon = ranker.model, ranker.lexicon
    if isinstance(model, Bag):
        sides = [[*layers, Normalize()] for layers in _student_layers(model, lexicon)]
        return f"student of {len(lexicon.vocabulary):,} words", [], sides
    if not isinstance(model, Adapter) or not isinstance(lexicon, TeacherLexicon):
        raise AskonceError(
            f"{str(folder)!r} holds a {ranker.name!r}; only teachers, adapters and students can be "
            "exported"
        )
    if model.radius is not None:
        raise AskonceError(
            "this adapter compares by hyperbolic distance, which sentence-transformers does not "
            "know; train it with space = 'cosine'"
        )
    bends = [dense_layers(bend) for bend in model.bends if isinstance(bend, Bend)]
    sides = [[*layers, Normalize()] for layers in bends]
    return f"adapter over {lexicon.teacher.name}", _of_teacher(lexicon.teacher), sides


def _student_layers(model: Bag, lexicon: Lexicon) -> list[list[Any]]:
    """Of each side: its table, or the table of the words and the map of their normalised sum."""
    tables = static_embeddings(model, lexicon)
    bends = [bend for bend in model.maps if isinstance(bend, Bend)]
    if not bends:
        return [[table] for table in tables]
    return [[*tables, Normalize(), *dense_layers(bend)] for bend in bends]


def _of_teacher(teacher: CachedTeacher) -> list[nn.Module]:
    teacher.loaded()  # an error if its weights have changed
    exact = SentenceTeacher(teacher.record.source, Precision.FLOAT32)  # loaded may be of integers
    modules: list[nn.Module] = list(exact.model.children())
    return modules if isinstance(modules[-1], Normalize) else [*modules, Normalize()]
