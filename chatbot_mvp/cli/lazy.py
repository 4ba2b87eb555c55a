"""Commands that are imported when they are invoked. Help pages of groups are written from a table, without imports."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from chatbot_mvp.plugins.kinds import attribute


class LazyCommand(TyperCommand):
    """A command's name and help line. ``load`` imports the command itself."""

    def __init__(self, name: str, source: str, summary: str) -> None:
        """Args: source: "module:attribute" of the ``Typer`` object that has the command; summary: its help line."""
        super().__init__(name, help=summary)
        self.source = source

    def load(self) -> Any:
        """Import the command's module and return the command."""
        gc.disable()  # the collector would scan the growing number of imported objects again and again
        try:
            group = typer.main.get_group(attribute(self.source))
        finally:
            gc.enable()
        command = group.commands[str(self.name)]
        command.help = command.help or self.help
        return command


class LazyGroup(TyperGroup):
    """A group of lazy commands and groups. Only the command that is invoked is imported."""

    def __init__(
        self, name: str | None, summary: str | None, *commands: LazyCommand | LazyGroup, options: Sequence[Any] = ()
    ) -> None:
        """Args: summary: help text; commands: in the order in which help shows them; options: of the group itself."""
        super().__init__(name=name, help=summary, no_args_is_help=True, commands=list(commands), params=list(options))

    def refusal(self, commands: Commands) -> str:
        """Return why commands cannot be added to this group; "" if they can."""
        group = self.commands.get(commands.group) if commands.group else self
        if not isinstance(group, LazyGroup):
            legal = ", ".join(name for name, one in self.commands.items() if isinstance(one, LazyGroup))
            return f"there is no group {commands.group!r} of commands; legal: {legal}"
        taken = [str(entry.name) for entry in commands.entries if entry.name in group.commands]
        return f"there is already a command {taken[0]!r}" if taken else ""

    def add(self, commands: Commands) -> None:
        """Add commands for which there is no ``refusal``."""
        group: Any = self.commands[commands.group] if commands.group else self
        for entry in commands.entries:
            group.commands[entry.name] = entry

    def leaves(self, path: str = "") -> Iterator[tuple[str, LazyCommand]]:
        """Yield every command below this group with its path, as in "kb ask"."""
        for name, command in self.commands.items():
            if isinstance(command, LazyGroup):
                yield from command.leaves(f"{path}{name} ")
            elif isinstance(command, LazyCommand):
                yield f"{path}{name}", command

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name, the imported command and the remaining arguments of what ``args`` invoke."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, LazyCommand) else command, rest


class DefaultGroup(LazyGroup):
    """A group whose first command is meant if the arguments name none, and whose commands may be given as options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self.named(args))

    def named(self, args: list[str]) -> list[str]:
        """Return the arguments with a command in front: "X" becomes "run X", "--resume X" becomes "resume X"."""
        name = args[0].removeprefix("--") if args else "help"
        if name in self.commands:
            return [name, *args[1:]]
        return args if name == "help" else [next(iter(self.commands)), *args]


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands that are added to the program."""

    entries: Sequence[LazyCommand | LazyGroup]
    group: str = ""
    """Group of the program that they are added to, as in "kb"; "" for the program itself."""


def lazy(source: str, summaries: Mapping[str, str]) -> Iterator[LazyCommand]:
    """Yield the lazy commands of one module; ``summaries`` maps each name to its help line."""
    for name, summary in summaries.items():
        yield LazyCommand(name, source, summary)
