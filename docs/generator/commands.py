"""The command line, read from its table of commands."""

from __future__ import annotations

from typing import Any

from chatbot_mvp.cli.commands import cli
from docs.generator.markdown import code, one_line, table


def commands() -> str:
    return "\n\n".join(_section(path, lazy.load()) for path, lazy in sorted(cli.leaves()))


def _section(path: str, command: Any) -> str:
    parameters = [parameter for parameter in command.params if "--help" not in parameter.opts]
    usage = [f"chatbot-mvp {path}", *(_usage(parameter) for parameter in parameters)]
    rows = [(code(_names(parameter)), one_line(parameter.help), _default_of(parameter)) for parameter in parameters]
    part = f"### {path}\n\n{one_line(command.help)}\n\n```\n{' '.join(usage)}\n```"
    return f"{part}\n\n{table(('parameter', 'meaning', 'default'), rows)}" if rows else part


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
    if parameter.required:
        return "required"
    default = parameter.default
    return "" if default in (None, False, "", []) or callable(default) else code(default)
