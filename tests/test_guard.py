"""What a page of another origin gets from the server: nothing that its script may read."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app import create_app
from m2a import Assistant
from m2a.settings import load_settings
from tests.scripted_policy import ScriptedPolicy

PORT = 7998


@pytest.mark.parametrize("origin", ["http://localhost:3000", "null", "http://strange.example"])
def test_no_response_lets_another_origin_in(tmp_path: Path, origin: str) -> None:
    settings = load_settings(data_dir=tmp_path, port=PORT)
    assistant = Assistant.open(settings, policy=ScriptedPolicy())
    with TestClient(create_app(settings, assistant), base_url=f"http://127.0.0.1:{PORT}") as client:
        for path in ("/", "/config", "/gradio_api/info", "/theme.css"):
            response = client.get(path, headers={"Origin": origin})
            assert response.status_code == 200
            assert [name for name in response.headers if name.startswith("access-control-")] == []
