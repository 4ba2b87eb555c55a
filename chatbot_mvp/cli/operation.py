"""Commands for those who operate an installation: ``hash-password``, ``ui``, ``serve``, ``doctor`` and ``plugins``."""

from __future__ import annotations

import logging
import os
import socket
import sys
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from chatbot_mvp import logs
from chatbot_mvp.api import ProviderStatus
from chatbot_mvp.cli.common import EnvOption, JsonOption, PresetOption, open_app, preset_changes, print_json
from chatbot_mvp.errors import AddressUnavailable, DataFolderUnusable, MissingPackage
from chatbot_mvp.health import Check
from chatbot_mvp.plugins.finding import additions, problems
from chatbot_mvp.plugins.kinds import KINDS, VERSION
from chatbot_mvp.settings.model import Settings, load_settings, misnamed_settings
from chatbot_mvp.settings.password import LEAST_CHARS, hash_password
from chatbot_mvp.storage.data_folder import use_folder
from chatbot_mvp.terminal import say

operation = typer.Typer()


@operation.command("hash-password")
def hash_password_command() -> None:
    password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    if len(password) < LEAST_CHARS:
        raise typer.BadParameter(f"{LEAST_CHARS} characters or more are needed", param_hint="password")
    say(f"ADMIN_PASSWORD={hash_password(password)}")


@operation.command("ui")
def start_pages(
    host: Annotated[str, typer.Option(help="Address to listen on; by default, only this machine")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535)] = 8501,
) -> None:
    if find_spec("streamlit_app") is None:
        raise MissingPackage(feature="The pages", package="streamlit_app", command="pip install chatbot-mvp")
    _require_free(host, port)
    _prepare_data(load_settings())
    options = ["--server.address", host, "--server.port", str(port)]
    # Replaces this process, so that signals reach the server. The other options are in the pages' own configuration.
    os.execv(sys.executable, [sys.executable, "-m", "streamlit_app", *options])  # nosec B606 - a list, no shell


@operation.command("serve")
def serve_chat(
    host: Annotated[str, typer.Option(help="Address to listen on; by default, only this machine")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535)] = 8600,
    preset: PresetOption = None,
    env: EnvOption = None,
) -> None:
    from chatbot_mvp.server.run import serve

    app = open_app(env, **preset_changes(preset, env))
    _require_free(host, port)
    _prepare_data(app.settings)
    app.start()
    serve(app, host, port)


def _prepare_data(settings: Settings) -> None:
    """Create DATA_DIR and say where it is. If the folder is there but cannot be written, warn: reading still works.

    Raises:
        DataFolderUnusable: this account may not look into it, or it is not there and cannot be created.
    """
    folder = settings.data_folder
    use_folder(folder)  # as long as this process lives
    is_new = not folder.root.is_dir()
    try:
        folder.create()
    except DataFolderUnusable as error:
        if is_new:
            raise
        logs.say(str(error), logging.WARNING)
        return
    if is_new:
        use_folder(folder)
    logs.say(f"DATA_DIR: {folder.root.absolute()}{' (new)' if is_new else ''}")


def _require_free(host: str, port: int) -> None:
    """Check that a server can listen on an address.

    Raises:
        AddressUnavailable: another program uses the port, or this machine does not have the address.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            # As the server does, so that connections of a server that has just ended are no obstacle.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AddressUnavailable(host=host, port=port, reason=reason) from error


@operation.command()
def doctor(env: EnvOption = None, as_json: JsonOption = False) -> None:
    """Check the configuration, and which configured parts respond."""
    app = open_app(env)
    hints = [str(miss) for miss in misnamed_settings(env)]
    checks = [Check("settings", not hints, " ".join(hints) or "no name looks misspelt"), *app.parts.check()]
    checks.append(_check_plugins())
    providers = app.providers.check_configured()
    if as_json:
        told = {check.name: {"ok": check.ok, "detail": check.detail} for check in checks}
        rows = {status.name: _provider_json(status, app.live.provider_reason) for status in providers}
        print_json({**told, "providers": rows})
        return
    for check in checks:
        say(f"{'ok ' if check.ok else 'NO '} {check.name}: {check.detail}")
    say(f"provider chosen: {app.settings.provider}, because {app.live.provider_reason}")
    say("providers:")
    for status in providers:
        say(_provider_line(status))


def _provider_json(status: ProviderStatus, reason: str) -> dict[str, Any]:
    """``reason`` says why the chosen one is chosen."""
    check = status.check
    return {
        "configured": status.configured,
        "missing": status.missing,
        "chosen": status.chosen,
        "chosen_because": reason if status.chosen else None,
        "model": status.model,
        "reachable": check.reachable if check else None,
        "seconds": round(check.seconds, 4) if check and check.seconds is not None else None,
        "error": str(check.error) if check and check.error else None,
    }


def _provider_line(status: ProviderStatus) -> str:
    check = status.check
    mark = "*" if status.chosen else " "
    if not status.configured or check is None:
        return f" {mark} {status.name:<8} not configured; missing: {status.missing}"
    milliseconds = "" if check.seconds is None else f" ({1_000 * check.seconds:.0f} ms)"
    state = f"answers{milliseconds}" if check.reachable else f"NO answer: {check.error}"
    note = "; a small model: not to be relied on" if status.note else ""
    return f" {mark} {status.name:<8} {status.model or 'no model'}  {state}{note}"


@operation.command("plugins")
def list_plugins(as_json: JsonOption = False) -> None:
    reasons = {problem.addition: problem.reason for problem in problems()}
    if as_json:
        rows = [
            {
                "kind": one.kind,
                "name": one.name,
                "source": one.source,
                "wing": one.is_wing,
                "loads": one.entry.value,
                "problem": reasons.get(one),
            }
            for one in additions()
        ]
        kinds = {kind.name: {"group": kind.group, "adds": kind.summary} for kind in KINDS.values()}
        print_json({"version": VERSION, "kinds": kinds, "plugins": rows})
        return
    for one in additions():
        said = f"left out: {reasons[one]}" if one in reasons else one.entry.value
        say(f"{'NO ' if one in reasons else 'ok '} {one.kind} {one.name} ({one.source}): {said}")


def _check_plugins() -> Check:
    broken = problems()
    packages = sorted({one.source for one in additions() if not one.is_wing})
    detail = "; ".join(map(str, broken)) or ", ".join(packages) or "no installed package adds anything"
    return Check("plugins", not broken, detail)
