"""Pages with one value exchanged for a value of another kind, as damaged or hostile ones have."""

import copy

ODD = (
    *(None, True, 1, -1, 10**400, 1.5, float("nan"), "", "x", "\ud800", "http://[", "2020-13-45"),
    *([], {}, [None], [[]], [{}], {"id": None}, {"nodes": 1}),
)


def odd_pages(page):
    """The page with each of its values, one after the other, exchanged for each odd one."""
    for path in _paths(page):
        for value in ODD:
            yield path, value, _with(page, path, value)


def _paths(node, path=()):
    parts = node.items() if isinstance(node, dict) else enumerate(node)
    for key, part in parts:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from _paths(part, (*path, key))


def _with(page, path, value):
    page = copy.deepcopy(page)
    node = page
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return page
