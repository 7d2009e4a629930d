"""What the mock of the browser tests (tests/web/mock) answers fits the description of the API: pages that work on it work on hermitd."""
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request

from api_test import Skip
from test_all_routes import fill, queries, streams

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mock", "server.mjs")
# What no page of the UI reads.
ABSENT = ("/api/v1/openapi.json", "/api/v1/recordings/{id}/trace", "/healthz", "/metrics", "/login")


def ask(url, body=None):
    request = urllib.request.Request(url, data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as r:
            return r.status, r.headers["Content-Type"] or "", r.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers["Content-Type"] or "", e.read()


def test_mock_answers_fit(t):
    node = shutil.which("node") or shutil.which("nodejs")
    if not node:
        raise Skip("there is no node")
    child = subprocess.Popen([node, SERVER, "--scenario", "few"], stdout=subprocess.PIPE, text=True)
    try:
        base = child.stdout.readline().strip()
        ids = [one["id"] for one in json.loads(ask(base + "/api/v1/recordings")[2])["items"] if one["state"] == "sealed"]
        job = json.loads(ask("%s/api/v1/recordings/%s/verify" % (base, ids[0]), {})[2])["id"]
        session = json.loads(ask(base + "/api/v1/sessions", {"recording": ids[0]})[2])["id"]
        faults = []
        for method, path, operation in t.description().operations():
            if method != "GET" or streams(operation) or path in ABSENT:
                continue
            url = base + fill(path, ids[0], jid=job, sid=session, bid="1")
            query = dict(queries(path, ids[0]))
            if query:
                url += "?" + "&".join("%s=%s" % (k, v) for k, v in query.items())
            status, kind, body = ask(url)
            kind = kind.split(";")[0]
            if status == 404 and kind == "application/problem+json":
                faults.append("%s: the mock has nothing there" % path)
                continue
            try:
                t.description().validate("GET", path, status, kind, json.loads(body) if kind.endswith("json") else body)
            except AssertionError as e:
                faults.append(str(e))
        assert not faults, "\n".join(faults)
    finally:
        child.terminate()
        child.wait(timeout=10)
        child.stdout.close()
