"""A real nginx in front of the server, with deploy/nginx.conf and with careless settings.

No setting of a proxy lets a write pass without a key.
"""

import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from askonce.engine import Engine
from askonce.server import Keys, ServerSettings
from askonce.server.guard.hosts import AllowedHosts
from askonce.server.guard.keys import read_keys

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(
    NGINX is None or OPENSSL is None, reason="nginx or openssl is not installed"
)

SHIPPED = Path(__file__).parents[2] / "deploy" / "nginx.conf"
NAME = "ask.example"  # in that file
SHIPPED_KIND = "as deploy/nginx.conf"

KEY = "key-behind-nginx-0123456789"
POST = {"id": "proxied", "title": "A post through a proxy"}
SETTINGS = {  # ways to forward; the first two send Host: 127.0.0.1 and no address of the client
    "bare": "",
    "pretends to be local": """
        proxy_set_header Host localhost;
        proxy_set_header X-Forwarded-For "";
        proxy_set_header Origin "";""",
    "as documented": """
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_http_version 1.1;
        proxy_set_header Connection "";""",
    "forwards what the client claims": """
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For 127.0.0.1;
        proxy_set_header X-Real-IP 127.0.0.1;""",
}
WRITES = [
    ("POST", "/api/posts", POST),
    ("PUT", "/api/posts/q002", {"title": "defaced"}),
    ("DELETE", "/api/posts/q002", None),
    ("POST", "/api/posts/delete", {"ids": ["q002"]}),
    ("POST", "/api/links", {"source": "q002", "target": "q001", "kind": "related"}),
    ("DELETE", "/api/links", {"source": "q002", "target": "q001", "kind": "related"}),
    ("POST", "/api/decisions", {"kind": "merge", "source": "q002", "target": "q001"}),
    ("DELETE", "/api/decisions/1", None),
    ("PUT", "/api/options", {"synonyms": [["wheel", "hub"]]}),
]
CONFIG = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {servers}
}}
"""
SERVER = """
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass {target};{setting}
        }}
    }}
"""


def shipped(port, target, folder):
    """The server of deploy/nginx.conf, at another address and with a certificate of our own."""
    text = SHIPPED.read_text()
    for old, new in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        (f"/etc/letsencrypt/live/{NAME}/fullchain.pem", f"{folder}/certificate.pem"),
        (f"/etc/letsencrypt/live/{NAME}/privkey.pem", f"{folder}/key.pem"),
        ("http://127.0.0.1:8080", target),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a certificate for the name in deploy/nginx.conf."""
    folder = tmp_path_factory.mktemp("nginx")
    names = f"subjectAltName=IP:127.0.0.1,DNS:{NAME}"
    command = [OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-subj", f"/CN={NAME}", "-addext", names]
    command += ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def trusted(folder):
    return ssl.create_default_context(cafile=folder / "certificate.pem")


def free_ports(count):
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


@pytest.fixture(scope="module")
def proxied(folder, trusted, running_server, wait_until):
    """For each server, with and without a key, the addresses of all proxy settings."""
    hosts = AllowedHosts.bound_to("127.0.0.1", ["forum.example", NAME])
    keyed = ServerSettings(keys=read_keys({"ASKONCE_API_KEY": KEY}), hosts=hosts)
    keyless = ServerSettings(keys=Keys(), hosts=hosts)
    limited = ServerSettings(keys=Keys(), hosts=hosts, rate=0.001)
    with (
        Engine.open("bicycles") as engine,
        running_server(engine, keyed) as one,
        running_server(engine, keyless) as other,
        running_server(engine, limited) as third,
    ):
        ports = iter(free_ports(2 * len(SETTINGS) + 3))
        addresses, servers = {}, ""
        for kind, client in (("key", one), ("no key", other)):
            for name, setting in SETTINGS.items():
                port = next(ports)
                target = str(client.base_url).rstrip("/")
                servers += SERVER.format(port=port, target=target, setting=setting)
                addresses[kind, name] = f"http://127.0.0.1:{port}"
        for kind, client in (("key", one), ("no key", other), ("rate", third)):
            port, target = next(ports), str(client.base_url).rstrip("/")
            servers += shipped(port, target, folder)
            addresses[kind, SHIPPED_KIND] = f"https://127.0.0.1:{port}"
        config = folder / "nginx.conf"
        config.write_text(CONFIG.format(folder=folder, servers=servers))
        command = [NGINX, "-c", str(config), "-p", str(folder), "-e", str(folder / "error.log")]
        process = subprocess.Popen(command)
        try:
            wait_until(
                lambda: process.poll() is not None or _listens(addresses["key", "bare"], trusted)
            )
            assert process.poll() is None, (folder / "error.log").read_text()
            yield addresses
        finally:
            process.terminate()
            process.wait()


def _listens(address, trusted):
    try:
        return httpx.get(f"{address}/healthz", verify=trusted).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("name", [*SETTINGS, SHIPPED_KIND])
@pytest.mark.parametrize("kind", ["key", "no key"])
def test_no_write_passes_without_a_key(proxied, trusted, kind, name):
    with httpx.Client(base_url=proxied[kind, name], verify=trusted) as client:
        before = client.get("/api/posts/q002").json()
        for headers in ({}, {"host": "localhost"}, {"host": "forum.example"}):
            for method, path, body in WRITES:
                refused = client.request(method, path, json=body, headers=headers)
                assert refused.status_code == (401 if kind == "key" else 403), (method, path)
        assert client.get("/api/posts/q002").json() == before
        assert client.get("/api/posts/proxied").status_code == 404


@pytest.mark.parametrize("name", [*SETTINGS, SHIPPED_KIND])
def test_a_key_writes_and_everyone_reads(proxied, trusted, name):
    own = {**POST, "id": f"proxied {name.replace('/', ' ')}"}
    headers = {"authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=proxied["key", name], verify=trusted) as client:
        assert client.post("/api/posts", json=own, headers=headers).status_code == 201
        assert client.get(f"/api/posts/{own['id']}").json()["post"]["title"] == POST["title"]


@pytest.mark.parametrize("name", ["as documented", "forwards what the client claims", SHIPPED_KIND])
def test_a_name_that_is_not_allowed_reads_nothing(proxied, trusted, name):
    address, headers = f"{proxied['key', name]}/api/posts/q002", {"host": "evil.example"}
    assert httpx.get(address, headers=headers, verify=trusted).status_code == 421


def test_the_shipped_file_limits_bodies_compresses_and_passes_on_the_page(proxied, trusted, folder):
    with httpx.Client(base_url=proxied["key", SHIPPED_KIND], verify=trusted) as client:
        page = client.get("/", headers={"host": NAME})
        assert page.status_code == 200 and "default-src" in page.headers["content-security-policy"]
        files = client.get("/static/app.js")
        assert files.headers["content-encoding"] == "gzip"
        asked = client.get("/api/ask", params={"q": "zebrafish in the hub"})
        assert asked.status_code == 200 and asked.headers["content-encoding"] == "gzip"
        just_fits = client.post("/api/duplicates", content=b"{" + b" " * (4 * 2**20 - 2) + b"}")
        assert just_fits.headers["content-type"] == "application/json"  # the server answers itself
        assert client.post("/api/duplicates", content=b" " * (4 * 2**20 + 1)).status_code == 413
    assert not any("zebrafish" in path.read_text() for path in folder.glob("*.log"))


def test_behind_the_shipped_file_nobody_escapes_the_rate_by_claiming_an_address(proxied, trusted):
    with httpx.Client(base_url=proxied["rate", SHIPPED_KIND], verify=trusted) as client:
        statuses = [
            client.get("/api/rankers", headers={"x-forwarded-for": f"192.0.2.{n}"}).status_code
            for n in range(3)
        ]
    assert statuses == [200, 429, 429]
