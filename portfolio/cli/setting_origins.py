"""Settings of a command by flag, environment variable and file, and where each value comes from.

The precedence is flag, environment variable, file, default.
"""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import typer
from rich.table import Table
from typer.core import TyperCommand

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.core.text_files import read_text
from portfolio.cli.output import escape

PREFIX = "COUNTERFOLIO"
FILE = "settings"  # name of the option for the file
MASK = "********"
# User and password of a URL, and values of its query, which can be passwords and tokens.
SECRETS = re.compile(r"(?<=://).*(?=@)|(?<==)[^&#]+")
ELSEWHERE = ("API_KEYS", "CACHE", "CONFIG", "MACHINE_CODE")  # variables that are not options
# Variables that Kubernetes sets for a service that is called counterfolio.
OF_KUBERNETES = re.compile(r"SERVICE_HOST|SERVICE_PORT(_.*)?|PORT_\d+_.*")
Origin = Literal["flag", "environment", "file", "default"]
ORIGINS: dict[str, Origin] = {
    "COMMANDLINE": "flag",
    "ENVIRONMENT": "environment",
    "DEFAULT_MAP": "file",
}


class SettingsCommand(TyperCommand):
    """A command that names the origin of an invalid value."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the flags; raise InputError if a variable or the file has an invalid value."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if error.param is None or origin_of(ctx, error.param.name) == "flag":
                raise
            name = str(error.param.name)
            message = error.message[:1].lower() + error.message[1:].rstrip(".")
            raise InputError(
                f"{place_of(ctx, name)} has the invalid value {_raw(ctx, name)!r}: {message}. "
                "Correct or remove it."
            ) from error


def read_settings(ctx: typer.Context, path: Path | None) -> Path | None:
    """Read a TOML file of settings, whose values replace the defaults of the options.

    Relative paths in the file are relative to its folder.
    """
    if path is None:
        return None
    try:
        document = tomllib.loads(read_text(path, "the settings file"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"the settings file {path} is not valid TOML: {error}. Correct it."
        ) from error
    options = {str(option.name) for option in ctx.command.params} - {FILE, "show_settings"}
    values = {}
    for name, value in document.items():
        option = name.replace("-", "_")
        if option not in options:
            close = close_names(name, [each.replace("_", "-") for each in options])
            raise InputError(
                f"the settings file {path} has an unknown setting {name!r}.{close} See "
                "counterfolio serve --help for all options."
            )
        values[option] = _option_value(ctx, path, option, value)
    ctx.default_map = values
    return path


def _option_value(ctx: typer.Context, path: Path, name: str, value: Any) -> Any:
    """Return a value of the file as the command line takes it."""
    kind = _annotations(ctx)[name]
    kinds = (kind, *get_args(kind))
    if isinstance(value, bool) != (bool in kinds) or not isinstance(
        value, bool | int | float | str
    ):
        expected = "true or false" if bool in kinds else "a number or a text"
        raise InputError(
            f"{name.replace('_', '-')} in the settings file {path} must be {expected}, got "
            f"{value!r}. Correct it."
        )
    if isinstance(value, bool):
        return value
    if Path in kinds:
        return str(path.parent / str(value))
    return str(value)


def _annotations(ctx: typer.Context) -> dict[str, Any]:
    """Return the type of each option, without its metadata."""
    annotations = getattr(ctx.command.callback, "__annotations__", {})
    return {
        name: getattr(kind, "__origin__", kind) if hasattr(kind, "__metadata__") else kind
        for name, kind in annotations.items()
    }


def origin_of(ctx: Any, name: str | None) -> Origin:
    """Return where the value of an option comes from."""
    source = ctx.get_parameter_source(name)
    return ORIGINS.get(getattr(source, "name", ""), "default")


def place_of(ctx: Any, name: str) -> str:
    """Return the place of an option's value as text, such as "COUNTERFOLIO_PORT"."""
    flag = name.replace("_", "-")
    places: dict[Origin, str] = {
        "environment": f"the environment variable {_variable(name)}",
        "file": f"{flag} in the settings file {ctx.params.get(FILE)}",
        "flag": f"--{flag}",
        "default": f"the default of --{flag}",
    }
    return places[origin_of(ctx, name)]


def _variable(name: str) -> str:
    return f"{PREFIX}_{name.upper()}"


def _raw(ctx: Any, name: str) -> Any:
    """Return the value of an option as its origin has it."""
    if origin_of(ctx, name) == "environment":
        return os.environ.get(_variable(name))
    return (ctx.default_map or {}).get(name)


def _masked(text: str) -> str:
    """Return a text, with masks for all parts of a URL that can be secret."""
    return SECRETS.sub(MASK, text) if "://" in text else text


def unknown_variables(ctx: typer.Context) -> Iterator[str]:
    """Yield a sentence for each environment variable that looks like a setting but is none."""
    names = {str(option.name).upper() for option in ctx.command.params} | set(ELSEWHERE)
    for variable in sorted(os.environ):
        name = variable.removeprefix(f"{PREFIX}_")
        if name in (variable, *names) or OF_KUBERNETES.fullmatch(name):
            continue
        close = close_names(variable, [f"{PREFIX}_{each}" for each in names])
        yield f"the environment variable {variable} is not a setting and has no effect.{close}"


def settings_table(ctx: typer.Context, secrets: tuple[str, ...]) -> Table:
    """Return a table of all settings with their origins, and masks for secret variables."""
    table = Table("setting", "value", "origin")
    for row in _rows(ctx, secrets):
        table.add_row(*map(escape, row))
    return table


def _rows(ctx: typer.Context, secrets: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    for name in (str(option.name) for option in ctx.command.params):
        if name not in ctx.params or name in (FILE, "show_settings"):
            continue
        value = ctx.params[name]
        origin = origin_of(ctx, name)
        shown = {
            "environment": f"environment {_variable(name)}",
            "file": f"file {ctx.params[FILE]}",
        }
        text = str(value).lower() if isinstance(value, bool) else _masked(str(value))
        yield name.replace("_", "-"), "-" if value is None else text, shown.get(origin, origin)
    for variable in secrets:
        name = variable.removeprefix(f"{PREFIX}_").lower().replace("_", "-")
        secret = os.environ.get(variable)
        yield name, MASK if secret else "-", f"environment {variable}" if secret else "default"
