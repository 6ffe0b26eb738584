"""Every kind of index when its process ends, is killed, or reads and writes at once."""

import os
import signal
import threading

import numpy as np
import pytest

from askonce.index.base import Index
from askonce.types import Post
from tests.contracts.index_kinds import EACH, KINDS, POSTS, QUERIES, everything, some_posts


@pytest.mark.parametrize("kind", EACH)
def test_survives_a_restart(kind, tmp_path):
    index = KINDS[kind](tmp_path / "index")
    index.add(POSTS)
    index.remove(["p003"])
    index.add([Post("p004", title="hill")])
    index.position = 17
    index.save()
    before = everything(index)
    assert len(index) == len(POSTS) - 1
    index.close()
    again = KINDS[kind](tmp_path / "index")
    assert again.position == 17
    assert len(again) == len(POSTS) - 1
    assert [[(h.id, h.score) for h in again.search(query, 20)] for query in QUERIES] == before
    again.add([Post("new", title="lamp dynamo")])
    assert again.search("lamp dynamo", 1)[0].id == "new"
    again.close()


@pytest.mark.parametrize("kind", EACH)
def test_a_killed_process_leaves_what_was_saved(kind, tmp_path):
    child = os.fork()
    if child == 0:  # pragma: no cover - ends without a word, as a killed process does
        signal.alarm(60)
        try:
            index = KINDS[kind](tmp_path / "index")
            index.add(POSTS[:100])
            index.position = 100
            index.save()
            index.add(POSTS[100:150])
            index.remove(["p010"])
            index.position = 151
        finally:
            os._exit(9)
    os.waitpid(child, 0)
    index = KINDS[kind](tmp_path / "index")
    assert index.position == 100
    assert len(index) >= 99
    index.add(POSTS[100:])  # what came since the position
    index.remove(["p010"])
    index.save()
    whole = KINDS[kind](None)
    whole.add(POSTS)
    whole.remove(["p010"])
    assert len(index) == len(whole)
    assert [[(h.id, h.score) for h in index.search(query, 20)] for query in QUERIES] == everything(
        whole
    )
    index.close()
    whole.close()


def watch(index: Index, stop: threading.Event, wrong: list[object]) -> None:
    """Search again and again; what must never be seen goes into ``wrong``."""
    try:
        while not stop.is_set():
            ids = [hit.id for hit in index.search("lamp dynamo", 4)]
            scores = index.score("lamp dynamo", ["lamp", *ids])
            if ids[:1] != ["lamp"] or len(set(ids)) != len(ids) or not np.isfinite(scores).all():
                wrong.append(ids)
    except Exception as error:
        wrong.append(error)


@pytest.mark.parametrize("kind", EACH)
def test_readers_see_every_post_once_while_a_writer_writes(kind, tmp_path):
    index = KINDS[kind](tmp_path / "index")
    index.add(POSTS)
    index.add([Post("lamp", title="lamp dynamo")])
    index.save()
    stop = threading.Event()
    wrong: list[object] = []
    readers = [threading.Thread(target=watch, args=(index, stop, wrong)) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(10):
        index.add([Post("lamp", title="lamp dynamo", score=turn), *some_posts(20, seed=turn)])
        index.remove([f"p{turn:03}"])
        if turn % 5 == 4:
            index.save()
    stop.set()
    for reader in readers:
        reader.join()
    index.close()
    assert not wrong, wrong[0]
