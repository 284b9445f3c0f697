"""What the server lets nobody do: another page read its answers, a request have it fetch something or fill the disk,
a failure put a user's words into the log."""

import json
import logging
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import gradio.processing_utils
import pytest
from starlette.testclient import TestClient

from app import create_app
from m2a import Assistant
from m2a.log import WordlessFormatter
from m2a.settings import load_settings
from m2a.ui.uploads import NoRoomError, Uploads
from tests.scripted_policy import ScriptedPolicy
from tests.turns import photo

PORT = 7998
SECRET = "my grandmother's diagnosis"


@contextmanager
def served(folder: Path) -> Iterator[TestClient]:
    settings = load_settings(data_dir=folder, port=PORT)
    assistant = Assistant.open(settings, policy=ScriptedPolicy())
    with TestClient(create_app(settings, assistant), base_url=f"http://127.0.0.1:{PORT}") as client:
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with served(tmp_path_factory.mktemp("served")) as client:
        yield client


@pytest.fixture
def fresh_client(tmp_path: Path) -> Iterator[TestClient]:
    """A page whose data folder is the test's."""
    with served(tmp_path) as client:
        yield client


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    """Another server's address, which Gradio would fetch from, and the requests that it got."""
    requests: list[str] = []

    class Photo(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(photo("red"))

        def log_message(self, *_: object) -> None:
            pass

    allowed = [*gradio.processing_utils.PUBLIC_HOSTNAME_WHITELIST, "127.0.0.1"]
    monkeypatch.setattr(gradio.processing_utils, "PUBLIC_HOSTNAME_WHITELIST", allowed)
    server = HTTPServer(("127.0.0.1", 0), Photo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/a.png", requests
    server.shutdown()
    server.server_close()
    thread.join()


def submit(client: TestClient) -> int:
    """Returns the number of the event that sends a message."""
    config = client.get("/config").json()
    [composer] = [part["id"] for part in config["components"] if part["type"] == "multimodaltextbox"]
    [composer_id] = [part["id"] for part in config["dependencies"] if [composer, "submit"] in part["targets"]]
    return int(composer_id)


def send(client: TestClient, value: object, session: str = "tab") -> Any:
    """Sends a message as the page does, and waits for the result."""
    body = {"data": [value, "", ""], "fn_index": submit(client), "session_hash": session, "trigger_id": None}
    joined = client.post("/gradio_api/queue/join", json=body)
    if joined.status_code == 200:
        client.get("/gradio_api/queue/data", params={"session_hash": session})
    return joined


@pytest.mark.parametrize("origin", ["http://localhost:3000", "null", "http://strange.example"])
def test_no_response_lets_another_origin_in(client: TestClient, origin: str) -> None:
    for path in ("/", "/config", "/gradio_api/info", "/theme.css"):
        response = client.get(path, headers={"Origin": origin})
        assert response.status_code == 200
        assert [name for name in response.headers if name.startswith("access-control-")] == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_gets_nothing_and_may_link_to_the_page(client: TestClient, site: str) -> None:
    for path in ("/", "/config", "/gradio_api/queue/data?session_hash=x", f"/photos/{'ab' * 32}"):
        response = client.get(path, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"})
        assert (response.status_code, response.text) == (403, "Requests from other pages are refused.")
    assert client.get("/", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}).status_code == 200


def file_at(address: str, shape: str) -> object:
    """What a page might send in place of an uploaded photo."""
    meta = {"_type": "gradio.FileData"}
    file = {"path": "/nowhere.png", "meta": meta}
    return {
        "as the path": {"text": "look", "files": [{"path": address, "meta": meta}]},
        "as the path without its kind": {"text": "look", "files": [{"path": address}]},
        "as path and url": {"text": "look", "files": [{"path": address, "url": address, "meta": meta}]},
        "as the url": {"text": "look", "files": [file | {"url": address}]},
        "among other things": {"text": "look", "files": [{"orig": file, "more": [{"path": address, "meta": meta}]}]},
        "in a list": [{"path": address, "meta": meta}],
        "by itself": {"path": address, "meta": meta},
        "in capitals": {"text": "look", "files": [{"path": address.replace("http", "HTTP"), "meta": meta}]},
        "without its protocol": {"text": "look", "files": [{"path": address.removeprefix("http:"), "meta": meta}]},
    }[shape]


@pytest.mark.parametrize(
    "shape",
    [
        "as the path",
        "as the path without its kind",
        "as path and url",
        "as the url",
        "among other things",
        "in a list",
        "by itself",
        "in capitals",
        "without its protocol",
    ],
)
def test_no_address_is_fetched_that_stands_in_a_files_place(
    client: TestClient, elsewhere: tuple[str, list[str]], shape: str
) -> None:
    address, requests = elsewhere
    value = file_at(address, shape)
    assert send(client, value).status_code == 403
    for path in ("run/predict", "call/on_send", "component_server"):
        body = {"data": [value, "", ""], "fn_index": 1, "session_hash": "x", "component_id": 1, "fn_name": "x"}
        assert client.post(f"/gradio_api/{path}", json=body).status_code == 403
        as_text = {"content": json.dumps(body).encode("utf-16"), "headers": {"Content-Type": "text/plain"}}
        assert client.post(f"/gradio_api/{path}", **as_text).status_code == 403  # type: ignore[arg-type]
    assert requests == []


@pytest.mark.parametrize("path", ["file={}", "file/{}", "proxy={}"])
def test_no_address_is_fetched_that_stands_in_a_path(
    client: TestClient, elsewhere: tuple[str, list[str]], path: str
) -> None:
    address, requests = elsewhere
    for form in (address, address.replace(":", "%3A"), address.replace("http", "HTTPS")):
        response = client.get("/gradio_api/" + path.format(form))
        assert response.status_code == 403 and "does not fetch" in response.text
    assert requests == []


def test_a_photo_that_was_uploaded_is_sent(fresh_client: TestClient, tmp_path: Path) -> None:
    [path] = fresh_client.post("/gradio_api/upload", files={"files": ("dog.png", photo("red"), "image/png")}).json()
    own = f"http://127.0.0.1:{PORT}/gradio_api/file={path}"
    file = {"path": path, "url": own, "orig_name": "dog.png", "meta": {"_type": "gradio.FileData"}}
    assert send(fresh_client, {"text": "look: http://strange.example/x.png", "files": [file]}).status_code == 200
    assert len(list((tmp_path / "photos").rglob("*.jpg"))) == 2
    assert not Path(path).exists()


def test_forms_are_for_uploads_and_everything_else_is_json(client: TestClient) -> None:
    form = client.post("/gradio_api/component_server", files={"x": b"x"}, data={"component_id": "1"})
    assert form.status_code == 403
    for body in (b"no JSON", b"[" * 100_000, b'{"a": ' + b"1" * 5000 + b"}"):
        response = client.post("/gradio_api/queue/join", content=body)
        assert (response.status_code, response.text) == (400, "This request is not JSON.")
    assert client.post("/gradio_api/queue/join", content=b"[" + b" " * 2_000_000 + b"]").status_code == 413


def test_no_file_of_a_story_is_for_others_to_read(fresh_client: TestClient, tmp_path: Path) -> None:
    [path] = fresh_client.post("/gradio_api/upload", files={"files": ("dog.png", photo("red"), "image/png")}).json()
    send(fresh_client, {"text": SECRET, "files": [{"path": path, "meta": {"_type": "gradio.FileData"}}]})
    fresh_client.post("/gradio_api/upload", files={"files": ("unsent.png", photo("blue"), "image/png")})
    modes = {item: stat.S_IMODE(item.lstat().st_mode) for item in [tmp_path, *tmp_path.rglob("*")]}
    assert {"memory.db", "index.db", ".index.db.lock", "lock", "unsent.png"} <= {item.name for item in modes}
    assert {item: mode for item, mode in modes.items() if mode != (0o700 if item.is_dir() else 0o600)} == {}


def test_what_was_uploaded_and_not_sent_goes_with_the_process(fresh_client: TestClient, tmp_path: Path) -> None:
    fresh_client.post("/gradio_api/upload", files={"files": ("gps.jpg", photo("blue"), "image/jpeg")})
    assert [path.name for path in (tmp_path / "uploads").rglob("*.jpg")] == ["gps.jpg"]
    fresh_client.__exit__()
    assert list((tmp_path / "uploads").iterdir()) == []


def kept(folder: Path, *sizes: int) -> list[str]:
    for number, size in enumerate(sizes):
        path = folder / f"{number}" / f"{number}.jpg"
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes(size))
        os.utime(path, (number, number))
    return [path.name for path in folder.rglob("*.jpg")]


def test_the_oldest_uploads_make_room_for_new_ones(tmp_path: Path) -> None:
    kept(tmp_path, 400, 300, 200)
    uploads = Uploads(tmp_path, 1000)
    with uploads.room_for(100):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "2"}
    with uploads.room_for(500):
        assert {path.name for path in tmp_path.iterdir()} == {"1", "2"}
        with pytest.raises(NoRoomError, match="Try again"), uploads.room_for(600):
            pass
        with uploads.room_for(500):
            assert list(tmp_path.iterdir()) == []
    with pytest.raises(NoRoomError, match="Attach fewer"), uploads.room_for(1001):
        pass


def test_an_upload_that_is_larger_than_all_room_is_refused_in_a_sentence(client: TestClient) -> None:
    too_much = {"Content-Length": "200000001", "Content-Type": "multipart/form-data; boundary=x"}
    response = client.post("/gradio_api/upload", content=b"x", headers=too_much)
    assert (response.status_code, response.text) == (
        413,
        "Together these photos are larger than 200 MB. Attach fewer of them at once.",
    )


def test_a_request_that_fails_leaves_no_words_in_the_log(
    fresh_client: TestClient, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.setFormatter(WordlessFormatter())
    for value in ({"text": {"x": SECRET}, "files": []}, {"text": SECRET, "files": [{"path": 5}]}, SECRET):
        assert send(fresh_client, value).status_code == 200  # it fails where Gradio takes the message apart
    for session in ("unknown", SECRET):
        assert fresh_client.get("/gradio_api/queue/data", params={"session_hash": session}).status_code == 200
    body = {"data": [{"text": SECRET, "files": []}, ""], "fn_index": 9999, "session_hash": "x"}
    assert fresh_client.post("/gradio_api/queue/join", json=body).status_code >= 400
    printed = "".join(capfd.readouterr()) + caplog.text
    assert SECRET not in printed and "Traceback" not in printed
    assert "A request failed: " in printed


def test_the_log_has_the_place_of_an_error_and_none_of_its_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.setFormatter(WordlessFormatter())
    try:
        try:
            json.loads(SECRET)
        except ValueError as error:
            raise KeyError(SECRET) from error
    except KeyError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
    logging.getLogger("asyncio").error(f"Task exception was never retrieved\nfuture: <Task exception={SECRET}>")
    assert "KeyError at " in caplog.text and "after JSONDecodeError" in caplog.text and "test_guard.py" in caplog.text
    assert "never retrieved" in caplog.text and SECRET not in caplog.text
