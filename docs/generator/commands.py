"""The command line, read from its table of commands."""

from __future__ import annotations

from collections import Counter
from typing import Any

from chatbot_mvp.cli.commands import cli
from docs.generator.markdown import code, one_line

_SHARED = 3
"""An option that as many commands have with the same words is explained once, before the commands."""


def commands() -> str:
    found = [(path, lazy.load()) for path, lazy in sorted(cli.leaves())]
    lines = Counter(_line(parameter) for _, command in found for parameter in _parameters(command))
    shared = {line for line, number in lines.items() if number >= _SHARED and ": " in line}
    parts = ["Options of several commands:\n\n" + "\n".join(sorted(shared))]
    return "\n\n".join(parts + [_section(path, command, shared) for path, command in found])


def _parameters(command: Any) -> list[Any]:
    return [parameter for parameter in command.params if "--help" not in parameter.opts]


def _section(path: str, command: Any, shared: set[str]) -> str:
    parameters = _parameters(command)
    own = [line for line in map(_line, parameters) if line not in shared and ": " in line]
    short = [_usage(parameter) for parameter in parameters if parameter.required or _line(parameter) not in own]
    usage = " ".join([f"chatbot-mvp {path}", *short, *(["…"] if len(short) < len(parameters) else [])])
    part = f"### {path}\n\n{one_line(command.help)}\n\n    {usage}"
    return "\n\n".join(filter(None, (part, "\n".join(own))))


def _line(parameter: Any) -> str:
    """What a parameter means and its default, as an item of a list; without either, its name alone."""
    default = _default_of(parameter)
    said = ", ".join(filter(None, (one_line(parameter.help), f"by default {default}" if default else "")))
    return f"- {code(_names(parameter))}: {said}" if said else f"- {code(_names(parameter))}"


def _value_name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper().removesuffix("_"))


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return _value_name(parameter)
    names = "/".join((*parameter.opts, *parameter.secondary_opts))
    return names if parameter.is_flag else f"{names} {_value_name(parameter)}"


def _usage(parameter: Any) -> str:
    text = _names(parameter)
    return text if parameter.required else f"[{text}]"


def _default_of(parameter: Any) -> str:
    default = parameter.default
    return "" if parameter.required or default in (None, False, "", []) or callable(default) else code(default)
