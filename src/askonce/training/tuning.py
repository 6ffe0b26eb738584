"""Search the ranges that a recipe states, on dev only; a search that was stopped goes on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from askonce.errors import ConfigError, MissingExtra
from askonce.training.epochs import train
from askonce.training.events import OnEvent, Phase
from askonce.training.prepare import untrained
from askonce.training.recipe import read_recipe, read_table
from askonce.types import Dataset

Space = dict[str, list[Any]]


def read_space(path: Path) -> Space:
    """The [tune] table of a recipe: a setting and the values to try, such as train.rate."""
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
    """Train with values that promise most until there are this many trials; the best by dev."""
    try:
        import optuna
    except ImportError:
        raise MissingExtra("optuna", "tune", "askonce tune") from None
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
        chosen = {key: trial.suggest_categorical(key, values) for key, values in space.items()}
        told = [f"{key}={json.dumps(value)}" for key, value in chosen.items()]
        trial.set_user_attr("set", told)
        on_event(Phase(f"trial {trial.number + 1}: {' '.join(told)}"))
        settings = read_recipe(recipe, [*changes, *told])
        ranker = untrained(settings, dataset, vectors)
        place = folder / f"trial-{trial.number}"
        return train(ranker, dataset, settings, place, on_event).progress.best_value

    complete = optuna.trial.TrialState.COMPLETE
    done = len(study.get_trials(states=(complete,)))
    study.optimize(objective, n_trials=max(trials - done, 0))
    best = study.best_trial
    result = {
        "recipe": str(recipe),
        "trials": len(study.get_trials(states=(complete,))),
        "dev": best.value,
        "set": best.user_attrs["set"],
        "folder": str(folder / f"trial-{best.number}"),
    }
    (folder / "best.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return result
