"""Encoding with a real Ray: what it writes is what the engine writes."""

import socket
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from askonce.archive import Archive, open_archive
from askonce.engine import Engine
from askonce.engine.bulk.ray_encoding import RayEncoding
from askonce.engine.bulk.shards import Shard
from askonce.errors import AskonceError, MissingExtra


def test_a_missing_extra_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install .*askonce\[ray\]"):
        RayEncoding()


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_is_reported_at_once():
    pytest.importorskip("ray", reason="ray is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with RayEncoding(address) as encode, pytest.raises(AskonceError, match="no Ray cluster at"):
        list(encode("nowhere", "question", None, [Shard(0, 1)]))


@pytest.mark.slow
def test_the_command_makes_the_vectors_that_the_engine_makes(tmp_path, leave_models):
    pytest.importorskip("ray", reason="ray is not installed")
    location = tmp_path / "bikes.askonce"
    opened = closing(open_archive("bicycles")), closing(Archive.open(location, create=True))
    with opened[0] as source, opened[1] as archive:
        archive.write(source.iterate(), source.links())
        leave_models(archive, location)
    expected = vectors(location)
    command = [
        sys.executable,
        "-m",
        "askonce",
        "index",
        location.name,
        "--rebuild",
        "--ray",
        "local",
    ]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert "posts indexed" in ran.stdout
    assert "WARNING" not in ran.stderr and "INFO" not in ran.stderr
    assert not list((location / "encoding").iterdir())
    actual = vectors(location)
    assert actual.keys() == expected.keys()
    for name, key in expected.items():
        np.testing.assert_allclose(actual[name], key, rtol=1e-5, atol=1e-6)


def vectors(location):
    """Keys by id, of both kinds, as the engine opens them."""
    actual = {}
    with Engine.open(location) as engine:
        for search in (engine._manager.ready().question, engine._manager.ready().answer):
            index = search.vectors
            actual |= {
                name: index._snapshot.keys[row] for name, row in index._contents.rows.items()
            }
    return actual
