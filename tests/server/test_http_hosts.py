"""Requests to host names that are not ours are refused, whatever they ask for."""

import pytest

from askonce.server import ServerSettings
from askonce.server.guard.hosts import AllowedHosts


@pytest.fixture(scope="module")
def bound_to_all():
    return AllowedHosts.bound_to("0.0.0.0", ["Forum.example", "[2001:db8::7]"])


@pytest.mark.parametrize(
    "header",
    ["localhost", "LOCALHOST:80", "localhost.", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080"],
)
def test_loopback_names_are_always_allowed(header):
    assert AllowedHosts().allow(header)
    assert AllowedHosts.bound_to("192.0.2.4").allow(header)


@pytest.mark.parametrize(
    "header",
    [
        *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "192.0.2.4", ""),
        *("evil.example:8080", "127.0.0.1@evil.example", "0.0.0.0", "[::bad"),
    ],
)
def test_other_names_are_not(header):
    assert not AllowedHosts().allow(header)
    assert not AllowedHosts.bound_to("127.0.0.1", ["forum.example"]).allow(header)


def test_the_bound_address_other_names_and_any(bound_to_all):
    assert AllowedHosts.bound_to("192.0.2.4").allow("192.0.2.4:8080")
    assert not AllowedHosts.bound_to("192.0.2.4").allow("192.0.2.5")
    for header in ("forum.example", "FORUM.example.:443", "[2001:db8::7]:80", "198.51.100.9:8080"):
        assert bound_to_all.allow(header)  # no site can give itself an address as its name
    assert not bound_to_all.allow("evil.example")
    assert not bound_to_all.allow("www.forum.example")
    assert AllowedHosts.bound_to("127.0.0.1", ["*"]).allow("evil.example")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *[("GET", "/"), ("GET", "/static/app.js"), ("GET", "/docs"), ("GET", "/openapi.json")],
        *[("GET", "/api/ask?q=brakes"), ("GET", "/api/posts/q002"), ("GET", "/api/overview")],
        *[("GET", "/readyz"), ("GET", "/metrics"), ("POST", "/api/posts"), ("GET", "/nothing")],
    ],
)
def test_a_rebound_name_reads_and_writes_nothing(reading, method, path):
    headers = {"host": f"evil.example:{reading.base_url.port}"}
    refused = reading.request(method, path, headers=headers)
    assert refused.status_code == 421
    error = refused.json()["error"]
    assert error["type"] == "misdirected" and "--allowed-host" in error["message"]
    assert refused.headers["x-content-type-options"] == "nosniff"


def test_probes_may_use_any_name(reading):
    assert reading.get("/healthz", headers={"host": "pod-7"}).json() == {"status": "ok"}


def test_an_allowed_name_reads(serve):
    hosts = AllowedHosts.bound_to("127.0.0.1", ["forum.example"])
    client = serve(ServerSettings(hosts=hosts))
    answer = client.get("/api/ask?q=brakes", headers={"host": "forum.example"})
    assert answer.status_code == 200
