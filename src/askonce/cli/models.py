"""``askonce models``: list models and baselines."""

from askonce.cli.output import JsonFlag, console, first_line, write_json


def command(json: JsonFlag = False) -> None:
    """List the models and baselines by name."""
    from askonce.baselines import BASELINES
    from askonce.models import MODELS
    from askonce.models.base import Encoder

    rows = [
        {"name": name, "kind": "baseline", "about": first_line(BASELINES[name].__doc__)}
        for name in BASELINES.names()
    ]
    for name in MODELS.names():
        kind = "encoder" if issubclass(MODELS[name], Encoder) else "matcher"
        rows.append({"name": name, "kind": kind, "about": first_line(MODELS[name].__doc__)})
    if json:
        write_json(rows)
        return
    for row in rows:
        console().print(f"{row['name']:<20} {row['kind']:<9} {row['about']}")
