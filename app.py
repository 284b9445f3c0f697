"""The web application: FastAPI with M2A's own routes, and Gradio's page at its root. `python app.py` serves it."""

import os
import socket
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from fastapi import FastAPI, Request

    from m2a.assistant import Assistant
    from m2a.settings import Settings

MAX_PHOTO_UPLOAD = "25mb"  # Gradio's limit, only a backstop: M2A's own limit is lower and has a better message.


def create_app(settings: "Settings", assistant: "Assistant | None" = None) -> "FastAPI":
    """Returns the application, which starts and closes the assistant. Opens the assistant unless one is given."""
    uploads = _prepare_environment(settings)

    from fastapi import FastAPI, Request
    from fastapi.staticfiles import StaticFiles

    from m2a import local_api
    from m2a.ui.conversation_route import conversation_routes
    from m2a.ui.first_content import FirstContent
    from m2a.ui.guard import MAX_UPLOAD_BYTES, LocalGuard
    from m2a.ui.page_scripts import ADDRESS, PageScripts
    from m2a.ui.photo_route import photo_routes
    from m2a.ui.uploads import Uploads
    from m2a.ui.welcome import ASSETS

    if assistant is None:
        from m2a.assistant import Assistant

        assistant = Assistant.open(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> "AsyncIterator[None]":
        await assistant.start()
        try:
            yield
        finally:
            await assistant.close()

    def owner_of(request: Request) -> str:
        """Returns the owner that a request belongs to: the one local user. A login would go here."""
        return assistant.local_owner

    app = FastAPI(title="M2A", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(photo_routes(assistant, owner_of))
    app.include_router(conversation_routes(assistant, owner_of))
    token = assistant.folder.serve_at(f"http://{settings.host}:{settings.port}")
    app.include_router(local_api.router(assistant, token))
    app.mount(ADDRESS, PageScripts())
    app.mount("/m2a", StaticFiles(directory=ASSETS), name="m2a")
    _mount_page(app, settings, assistant, uploads, owner_of)
    hosts = [f"{name}:{settings.port}" for name in ("127.0.0.1", "localhost")]
    if settings.port == 80:
        hosts += ["127.0.0.1", "localhost"]
    app.add_middleware(LocalGuard, hosts=hosts, uploads=Uploads(uploads, MAX_UPLOAD_BYTES))
    # Added after the guard, so that the guard does not process the static content that this inserts; it contains no scripts.
    app.add_middleware(FirstContent, assistant=assistant, owner_of=owner_of)
    return app


def _mount_page(
    app: "FastAPI", settings: "Settings", assistant: "Assistant", uploads: Path, owner_of: "Callable[[Request], str]"
) -> None:
    """Mounts Gradio's page at the root."""
    import gradio as gr
    import gradio.queueing
    import gradio.route_utils
    import gradio.routes

    from m2a.log import without_tracebacks
    from m2a.ui.page import HEAD, build_page
    from m2a.ui.theme import m2a_theme
    from m2a.ui.welcome import ASSETS

    for module in (gradio.queueing, gradio.route_utils, gradio.routes):
        without_tracebacks(module)
    gr.mount_gradio_app(
        app,
        build_page(assistant, uploads),
        path="/",
        server_name=settings.host,
        server_port=settings.port,
        auth_dependency=owner_of,
        theme=m2a_theme(),
        head=HEAD,
        favicon_path=str(ASSETS / "favicon.png"),
        footer_links=[],
        run_history=False,
        show_error=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        enable_monitoring=False,
        max_file_size=MAX_PHOTO_UPLOAD,
        blocked_paths=[str(settings.data_dir.resolve() / name) for name in ("photos", "memory.db")],
        app_kwargs={"docs_url": None, "redoc_url": None, "openapi_url": None},
    )


def serve(settings: "Settings", assistant: "Assistant | None" = None) -> None:
    """Serves until Ctrl+C. Raises `SystemExit` with one sentence if the port is in use."""
    _check_port(settings)
    app = create_app(settings, assistant)

    import uvicorn

    from m2a.log import log_to_standard_error

    log_to_standard_error()
    print(f"M2A is at http://{settings.host}:{settings.port} (Ctrl+C stops it).", flush=True)
    # An open page keeps its event stream open forever, so Ctrl+C must not wait for it.
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,  # keeps M2A's own, which never logs what users wrote
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=1,
    )


def main() -> None:
    from m2a.settings import load_settings
    from m2a.types.errors import UserError

    try:
        serve(load_settings())
    except UserError as error:
        sys.exit(f"m2a: {error}")


def _prepare_environment(settings: "Settings") -> Path:
    """Turns off telemetry and tunnels and makes all new files private. Must run before Gradio is imported.

    Returns the private folder for uploads.
    """
    from m2a.data_folder import make_folder
    from m2a.ui.gradio_start import without_interface_files
    from m2a.wiring import silence_telemetry

    if os.environ.get("GRADIO_SHARE", "").lower() in ("1", "true"):
        raise SystemExit("GRADIO_SHARE would make M2A public on the internet; unset it and start again.")
    uploads = settings.data_dir.resolve() / "uploads"
    make_folder(settings.data_dir)
    make_folder(uploads)
    os.umask(0o077)  # applies to Gradio's own files, too
    silence_telemetry()
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # users have no use for its log of the connection to Milvus Lite
    os.environ.update(
        GRADIO_TEMP_DIR=str(uploads),
        GRADIO_MCP_SERVER="False",
        GRADIO_SSR_MODE="False",
    )
    without_interface_files()
    return uploads


def _check_port(settings: "Settings") -> None:
    """Exits with a sentence if the port is in use, before anything slow starts."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError:
            raise SystemExit(
                f"Port {settings.port} is in use, perhaps by M2A itself; choose another with M2A_PORT, "
                f"for example M2A_PORT={settings.port + 1}."
            ) from None


if __name__ == "__main__":
    main()
