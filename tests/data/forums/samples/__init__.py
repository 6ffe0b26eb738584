"""A sample of each forum, and a damaged file of it."""

import gzip
import json

from askonce.data.forums import IMPORTERS, Source


def write(folder, name, content):
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, "utf-8")
    return path


def records(form, path, **options):
    return list(IMPORTERS[form](Source(path, **options)))
