"""``askonce info``: describe an archive."""

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from askonce.cli.options import JsonFlag, WorkFolder
from askonce.cli.output import console, write_json

if TYPE_CHECKING:
    from askonce.archive import Archive


def info(
    archive: Annotated[
        str, Argument(help="An archive folder, or anything else that `ask` accepts.")
    ],
    folder: WorkFolder = None,
    json: JsonFlag = False,
) -> None:
    """Show the size, growth, indexes and models of an archive."""
    from askonce.archive import open_archive

    result = describe(open_archive(archive, folder))
    if json:
        write_json(result)
    else:
        _show(result)


def describe(archive: "Archive") -> dict[str, Any]:
    from askonce.archive.desk.options import IMPORTING

    folder = archive.folder
    return {
        "archive": archive.name,
        "format": archive.format,
        "change": archive.change,
        "counts": archive.counts(),
        "years": _years(archive.growth()),
        "bytes": _sizes(folder) if folder else {},
        "indexes": _indexes(folder / "index") if folder else {},
        "read": _read(_indexes(folder / "index")) if folder else None,
        "models": _models(folder) if folder else [],
        "model": _current(folder) if folder else None,
        "interrupted_import": archive.options.get(IMPORTING),
    }


def _years(months: list[tuple[str, int, int]]) -> list[dict[str, Any]]:
    years: dict[str, dict[str, Any]] = {}
    for month, questions, answers in months:
        year = years.setdefault(month[:4], {"year": month[:4], "questions": 0, "answers": 0})
        year["questions"] += questions
        year["answers"] += answers
    return list(years.values())


def _sizes(folder: Path) -> dict[str, int]:
    """Bytes on disk of the posts, of each folder, and in total."""
    sizes = {"posts": 0}
    for path in folder.rglob("*"):
        if path.is_file():
            first, *rest = path.relative_to(folder).parts
            part = first if rest else "backup" if ".backup-" in first else "posts"
            sizes[part] = sizes.get(part, 0) + path.stat().st_size
    return {**sizes, "all": sum(sizes.values())}


def _indexes(folder: Path) -> dict[str, Any]:
    """The position file of each index; None if it cannot be read."""
    positions = {}
    for path in sorted(folder.glob("*/position.json")):
        try:
            positions[path.parent.name] = json_format.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            positions[path.parent.name] = None
    return positions


def _read(indexes: dict[str, Any]) -> float | None:
    """The share of posts whose vectors are a teacher's; None where one encoder reads all."""
    from askonce.index.readers import THEN

    two = [one for one in indexes.values() if one and THEN in str(one.get("coder"))]
    posts = sum(one["posts"] for one in two)
    return 1 - sum(one["unread"] for one in two) / posts if posts else None


def _models(folder: Path) -> list[str]:
    """The finished training runs, oldest first."""
    manifests = (folder / "models").glob("[0-9]*/manifest.json")
    return sorted((path.parent.name for path in manifests), key=int)


def _current(folder: Path) -> str | None:
    """The training run in service."""
    try:
        return (folder / "models" / "current").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None


def _index_line(name: str, position: dict[str, Any] | None, change: int) -> str:
    if position is None:
        return f"index {name}: cannot be read, `askonce index` rebuilds it"
    behind = change - int(position.get("change", 0))
    state = "up to date" if behind <= 0 else f"{behind:,} changes behind"
    posts = f"{position['posts']:,} posts, " if "posts" in position else ""
    return f"index {name}: {posts}{state}"


def _notes(result: dict[str, Any]) -> list[str]:
    read = result["read"]
    notes = [] if read is None else [f"{read:.0%} of the posts read by the teacher"]
    names = [f"{n} (in service)" if n == result["model"] else n for n in result["models"]]
    notes += [f"models: {', '.join(names)}"] if names else []
    if result["interrupted_import"]:
        notes.append("an import was interrupted; run it again to complete it")
    return notes


def _show(result: dict[str, Any]) -> None:
    from rich.table import Table

    out = console()
    title = f"{result['archive']} · format {result['format']} · change {result['change']:,}"
    out.print(title, markup=False)
    for name, count in result["counts"].items():
        out.print(f"  {count:>12,}  {name}")
    for name, size in result["bytes"].items():
        out.print(f"  {size / 1e6:>12,.1f}  MB {name}", markup=False)
    for name, position in result["indexes"].items():
        out.print(f"  {_index_line(name, position, result['change'])}", markup=False)
    for line in _notes(result):
        out.print(f"  {line}", markup=False)
    if result["years"]:
        table = Table("year")
        for column in ("questions", "answers"):
            table.add_column(column, justify="right")
        for year in result["years"]:
            table.add_row(year["year"], f"{year['questions']:,}", f"{year['answers']:,}")
        out.print(table)
