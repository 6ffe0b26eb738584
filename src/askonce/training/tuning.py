"""Search the ranges of a recipe's [tune] table on dev; an interrupted search resumes."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from askonce.config import as_dict
from askonce.errors import ConfigError, needing
from askonce.training.events import OnEvent, Phase
from askonce.training.recipe import read_before, read_recipe, read_table
from askonce.training.run import RecipeTraining
from askonce.types import Dataset

Space = dict[str, list[Any]]


def read_space(path: Path) -> Space:
    """The [tune] table of a recipe: the values to try of each setting, such as train.rate."""
    table = read_table(path, "tune")
    if not table:
        raise ConfigError(f"{path}: expected a [tune] table, such as 'train.rate' = [1e-3, 1e-4]")
    for key, values in table.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"{path}: tune.{key} = {values!r}; expected a list of values to try")
    return table


def tune(
    recipe: Path,
    changes: Sequence[str],
    dataset: Dataset,
    vectors: Path | None,
    folder: Path,
    trials: int,
    on_event: OnEvent,
) -> dict[str, Any]:
    """Train with the most promising values until there are this many trials; the best by dev.

    What comes before fine-tuning ([pretrain], [distil]) is run once for trials that share it.
    """
    with needing("tune", "askonce tune"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = read_space(recipe)
    folder.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        study_name=recipe.stem,
        storage=f"sqlite:///{folder / 'study.db'}",
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=1),
        load_if_exists=True,
    )

    def objective(trial: Any) -> float:  # noqa: ANN401 - optuna is an extra
        values = {key: trial.suggest_categorical(key, space[key]) for key in space}
        settings = [f"{key}={json.dumps(value)}" for key, value in values.items()]
        trial.set_user_attr("set", settings)
        on_event(Phase(f"trial {trial.number + 1}: {' '.join(settings)}"))
        chosen = read_recipe(recipe, [*changes, *settings])
        before = read_before(recipe, [*changes, *settings])
        plain = as_dict(chosen)
        shared = [plain["options"], plain["text"], plain["train"]["seed"], *before]
        name = f"pretrained-{hashlib.sha256(json.dumps(shared).encode()).hexdigest()[:12]}"
        folders = folder / name, folder / f"trial-{trial.number}"
        trained = RecipeTraining(chosen, dataset, vectors, on_event).train(before, folders)
        return trained.progress.best_value

    complete = (optuna.trial.TrialState.COMPLETE,)
    done = len(study.get_trials(states=complete))
    study.optimize(objective, n_trials=max(trials - done, 0))
    best = study.best_trial
    result = {
        "recipe": str(recipe),
        "trials": len(study.get_trials(states=complete)),
        "dev": best.value,
        "set": best.user_attrs["set"],
        "folder": str(folder / f"trial-{best.number}"),
    }
    (folder / "best.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return result
