"""travel.stackexchange.com: find the questions that a question is linked with."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.pools import stable_hash
from askonce.data.formats.xml import xml_rows
from askonce.errors import DataError
from askonce.files import descend, find, need, numbered_lines, open_stream, raise_errors, rows
from askonce.text.html import html_to_text
from askonce.text.leaks import strip_links, strip_notices
from askonce.types import Dataset, Pool, Post

_SPLITS = {"train": ("train.txt", 100), "dev": ("val.txt", 500), "test": ("test.txt", 500)}
_LAST = np.iinfo(np.uint64).max
_DUPLICATE = "3"  # LinkTypeId of questions closed as duplicates; 1 is any other link

_URL = re.compile(r"(?:https?://|www\.|travel\.stackexchange\.com)\S*")

Links = dict[str, list[str]]  # query -> the questions that it is linked with
LinkedIds = frozenset[str]


@DATASETS.add("travel", "travel-se")
def read(folder: Path) -> Dataset:
    """Linked questions of travel.stackexchange.com, with the published splits.

    A pool is the linked questions of a query and random others: 100 in all for ``train``, 500 for
    ``dev`` and ``test``. The sample depends on the ids alone. Random questions are mostly easy, so
    figures are higher than for a search in ``corpus``, which holds all questions. A linked question
    has label 1, a duplicate marked by a moderator 2. Questions linked in either direction are never
    sampled as negatives, and no pair of ``dev`` or ``test`` is in ``train`` the other way round.
    """
    folder = descend(folder, "travel_se_links", "travel")
    posts = _read_posts(folder)
    links = {split: _read_links(need(folder, name), posts) for split, (name, _) in _SPLITS.items()}
    held_out = {*_pairs(links["dev"]), *_pairs(links["test"])}
    known, duplicates = _read_site_links(folder)
    site = _Site(posts, known.union(*map(_pairs, links.values())), duplicates)
    links["train"] = _without(links["train"], held_out)
    splits = {
        split: tuple(site.pool(query, linked, size) for query, linked in links[split].items())
        for split, (_, size) in _SPLITS.items()
    }
    return Dataset("travel", splits, protocol="drop_no_pos", corpus=tuple(posts.values()))


def plain_text(html: str) -> str:
    """The body of a question, without the addresses and notices that name linked questions."""
    return _URL.sub("", html_to_text(strip_links(strip_notices(html)))).strip()


@dataclass(frozen=True)
class _Site:
    """All questions, their links, and which of the links mark duplicates."""

    posts: Mapping[str, Post]
    links: Set[LinkedIds]
    duplicates: Set[LinkedIds]

    @cached_property
    def index(self) -> Mapping[str, int]:
        return {name: index for index, name in enumerate(self.posts)}

    @cached_property
    def table(self) -> np.ndarray:
        return np.fromiter(self.posts.values(), dtype=object, count=len(self.posts))  # (N,)

    @cached_property
    def keys(self) -> np.ndarray:
        return np.array([int(stable_hash(name), 16) for name in self.posts], np.uint64)  # (N,)

    @cached_property
    def neighbours(self) -> Mapping[str, set[int]]:
        """For each question, the indices of itself and of all questions linked with it."""
        near: defaultdict[str, set[int]] = defaultdict(set)
        for link in self.links:
            indices = {self.index[name] for name in link if name in self.index}
            for name in link:
                near[name] |= indices
        return near

    def pool(self, query: str, linked: list[str], size: int) -> Pool:
        """The linked questions among random others, sampled and ordered by hashes of both ids."""
        order = _scramble(self.keys ^ np.uint64(int(stable_hash(query), 16)))  # (N,)
        relevant = [self.index[name] for name in linked]
        near = self.neighbours[query]
        rank = order.copy()
        rank[list(near)] = _LAST
        rank[relevant] = 0
        size = min(size, len(rank) - len(near) + len(relevant))
        chosen = np.argpartition(rank, size - 1)[:size]  # (size,)
        # Sampled questions have the smallest hashes, linked ones any: a second hash hides that.
        chosen = chosen[np.argsort(_scramble(order[chosen]))]
        labels = np.zeros(len(rank), np.int64)
        labels[relevant] = [1 + (frozenset((query, name)) in self.duplicates) for name in linked]
        return Pool(
            self.posts[query], tuple(self.table[chosen].tolist()), tuple(labels[chosen].tolist())
        )


def _scramble(keys: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64: keys that differ in one bit differ in about half of the bits."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _read_posts(folder: Path) -> dict[str, Post]:
    """All questions by id, in the order of their ids."""
    posts: dict[str, Post] = {}
    for file in ("question_queries.txt", "question_results.txt"):
        path = need(folder, file)
        for line, (name, title, html) in rows(path, 3):
            if not name.isdecimal():
                raise DataError(path, "a question's number", name, line)
            if name not in posts:
                posts[name] = Post(name, title.strip(), plain_text(html))
    return dict(sorted(posts.items(), key=lambda item: int(item[0])))


def _read_links(path: Path, posts: Mapping[str, Post]) -> Links:
    """The queries of a split; linked questions without text are left out."""
    links: Links = {}
    for line, text in numbered_lines(path):
        query, *linked = text.split() or [""]
        if not linked:
            raise DataError(path, "a query and the questions it is linked with", text, line)
        if query not in posts:
            raise DataError(path, "a query of question_queries.txt", query, line)
        if query in links:
            raise DataError(path, "each query once", f"{query!r} again", line)
        if query in linked:
            raise DataError(path, "links to other questions", f"{query!r} itself", line)
        links[query] = [name for name in dict.fromkeys(linked) if name in posts]
    return _without(links, set())


def _read_site_links(folder: Path) -> tuple[set[LinkedIds], set[LinkedIds]]:
    """All links of the site, and those between duplicates; both empty without the file."""
    known: set[LinkedIds] = set()
    duplicates: set[LinkedIds] = set()
    path = find(folder, "PostLinks.xml")
    if path is None:
        return known, duplicates
    with open_stream(path) as stream:
        for row in raise_errors(xml_rows(stream)):
            pair = frozenset(row.text(name) for name in ("PostId", "RelatedPostId"))
            known.add(pair)
            if row.text("LinkTypeId") == _DUPLICATE:
                duplicates.add(pair)
    return known, duplicates


def _pairs(links: Links) -> Iterator[LinkedIds]:
    return (frozenset((query, name)) for query, linked in links.items() for name in linked)


def _without(links: Links, pairs: Set[LinkedIds]) -> Links:
    """The links other than these pairs; queries without links are left out."""
    rest = {
        query: [name for name in linked if frozenset((query, name)) not in pairs]
        for query, linked in links.items()
    }
    return {query: linked for query, linked in rest.items() if linked}
