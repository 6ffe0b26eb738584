"""``askonce datasets``: list the datasets."""

from askonce.cli.output import JsonFlag, console, first_line, write_json


def command(json: JsonFlag = False) -> None:
    """List the datasets that can be read."""
    from askonce.data.benchmarks import DATASETS

    known = {name: first_line(DATASETS[name].__doc__) for name in DATASETS.names()}
    if json:
        write_json([{"name": name, "about": about} for name, about in known.items()])
        return
    for name, about in known.items():
        console().print(f"{name:<20} {about}")
