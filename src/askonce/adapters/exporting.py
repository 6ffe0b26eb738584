"""Write the encoder of a ranker or an archive as a folder that other libraries load."""

import shutil
from pathlib import Path
from typing import Any

import torch
from torch import nn

from askonce.errors import AskonceError, ConfigError, MissingExtra
from askonce.models.adapter import Adapter, Bend
from askonce.ranker import Ranker
from askonce.ranking.manifest import SENTENCE, TaskName, current, read_manifest
from askonce.teachers import CachedTeacher, load_teacher
from askonce.teachers.lexicon import TeacherLexicon

try:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Module, Normalize, Router
except ModuleNotFoundError as error:
    raise MissingExtra(str(error.name), "minilm", "an export to sentence-transformers") from error


def export_model(source: Path, out: Path, task: TaskName = "questions") -> str:
    """Write the folder of a sentence-transformers model; returns what it is made of.

    ``source`` is the folder of a ranker, or of an archive whose encoder for ``task`` is exported.
    Nothing of Askonce is needed to load the result.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{str(out)!r} exists; choose a new folder")
    if (source / "config.json").is_file():
        name, teacher, bends = _adapter(source)
    else:
        name, teacher, bends = _in_service(source, task)
    model = SentenceTransformer(modules=_modules(teacher, bends), device="cpu")
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


def _modules(teacher: CachedTeacher, bends: list[Bend]) -> list[nn.Module]:
    model: Any = teacher.loaded()
    modules: list[nn.Module] = list(model.model.children())
    if not isinstance(modules[-1], Normalize):
        modules.append(Normalize())
    if len(bends) == 2:
        query, document = map(dense_layers, bends)
        router = Router.for_query_document(query_modules=query, document_modules=document)
        return [*modules, router, Normalize()]
    return [*modules, *dense_layers(bends[0]), Normalize()] if bends else modules


def _in_service(archive: Path, task: TaskName) -> tuple[str, CachedTeacher, list[Bend]]:
    models = current(archive)
    serving = getattr(read_manifest(models), task) if models is not None else None
    if models is None or serving is None or serving.encoder is None:
        raise AskonceError(
            f"no encoder serves the {task} of {str(archive)!r}; `askonce train` makes one"
        )
    if serving.encoder.startswith(SENTENCE):
        teacher = load_teacher(serving.encoder.removeprefix(SENTENCE))
        return teacher.name, teacher, []
    return _adapter(models / serving.encoder)


def _adapter(folder: Path) -> tuple[str, CachedTeacher, list[Bend]]:
    ranker = Ranker.load(folder)
    model, lexicon = ranker.model, ranker.lexicon
    if not isinstance(model, Adapter) or not isinstance(lexicon, TeacherLexicon):
        raise AskonceError(
            f"{str(folder)!r} holds a {ranker.name!r}; only adapters and teachers can be exported"
        )
    if model.radius is not None:
        raise AskonceError(
            "this adapter compares by hyperbolic distance, which sentence-transformers does not "
            "know; train it with space = 'cosine'"
        )
    bends = [bend for bend in model.bends if isinstance(bend, Bend)]
    return f"adapter over {lexicon.teacher.name}", lexicon.teacher, bends
