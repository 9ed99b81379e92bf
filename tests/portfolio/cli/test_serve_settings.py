"""Settings of `serve` by flag, environment variable and file: precedence, origins and errors."""

import pytest
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio.cli.app import app

SECRET = "a-key-of-twenty-signs"


def run(*arguments, **environment):
    wide = environment | {"COLUMNS": "300"}
    return CliRunner().invoke(app, ["serve", *map(str, arguments)], env=wide)


def shown(*arguments, **environment):
    """Value and origin of each setting that is printed."""
    printed = run("--show-settings", *arguments, **environment)
    assert printed.exit_code == 0, printed.output
    cells = [line.strip("│ ").split("│") for line in printed.stdout.splitlines() if "│" in line]
    return {name.strip(): (value.strip(), origin.strip()) for name, value, origin in cells}


@pytest.fixture
def file(tmp_path):
    def written(text):
        path = tmp_path / "service.toml"
        path.write_text(text)
        return path

    return written


def test_a_flag_precedes_a_variable_a_file_and_the_default(file):
    path = file("queue = 4\n")
    variable = {"COUNTERFOLIO_QUEUE": "3"}
    assert shown()["queue"] == ("100", "default")
    assert shown("--settings", path)["queue"] == ("4", f"file {path}")
    expected = "3", "environment COUNTERFOLIO_QUEUE"
    assert shown("--settings", path, **variable)["queue"] == expected
    assert shown("--settings", path, "--queue", 2, **variable)["queue"] == ("2", "flag")


def test_a_variable_names_the_file(file):
    path = file("port = 9000\n")
    assert shown(COUNTERFOLIO_SETTINGS=str(path))["port"] == ("9000", f"file {path}")


def test_names_in_a_file_are_those_of_flags_and_paths_are_relative_to_it(file):
    path = file('models = "served"\ntrust-pickle = true\nmost_rows = 5\nlongest = 2\n')
    settings = shown("--settings", path)
    assert settings["models"][0] == str(path.parent / "served")
    assert settings["trust-pickle"][0] == "true" and settings["most-rows"][0] == "5"
    assert settings["longest"][0] == "2.0"


def test_every_option_is_shown_and_keys_are_masked():
    printed = run("--show-settings", COUNTERFOLIO_API_KEYS=SECRET)
    assert SECRET not in printed.output and "********" in printed.output
    (command,) = [each for each in app.registered_commands if each.callback.__name__ == "serve"]
    options = set(command.callback.__annotations__) - {"ctx", "settings", "show_settings", "return"}
    assert shown().keys() - {"api-keys"} == {name.replace("_", "-") for name in options}
    assert shown()["api-keys"] == ("-", "default")


def test_the_password_of_a_url_is_masked(file):
    url = "postgresql://me:pass@word@host/jobs"
    printed = run("--show-settings", COUNTERFOLIO_JOBS_DATABASE=url)
    assert "postgresql://********@host/jobs" in printed.output and "word" not in printed.output
    settings = shown("--settings", file('jobs-database = "postgresql:///jobs"\n'))
    assert settings["jobs-database"][0] == "postgresql:///jobs"


@pytest.mark.parametrize(
    ("name", "url", "shown_url"),
    [
        ("jobs-database", "postgresql://me:hid/den@host/jobs", "postgresql://********@host/jobs"),
        (
            "jobs-database",
            "postgresql://host/jobs?user=hidden&password=hidden",
            "postgresql://host/jobs?user=********&password=********",
        ),
        ("job-answers", "s3://me:hidden@bucket/jobs", "s3://********@bucket/jobs"),
        ("oidc-jwks-url", "https://a.example/keys?t=hidden", "https://a.example/keys?t=********"),
    ],
)
def test_all_secret_parts_of_a_url_are_masked(name, url, shown_url):
    assert shown(f"--{name}", url)[name] == (shown_url, "flag")


def test_rows_are_shown_or_hidden_by_every_place(file):
    assert shown("--settings", file("show-rows = true\n"))["show-rows"][0] == "true"
    hidden = file("show-rows = false\n")
    assert shown("--settings", hidden)["show-rows"] == ("false", f"file {hidden}")
    variable = {"COUNTERFOLIO_SHOW_ROWS": "true"}
    assert shown("--settings", hidden, **variable)["show-rows"][0] == "true"
    assert shown("--hide-rows", **variable)["show-rows"] == ("false", "flag")


def test_variables_that_are_no_settings_are_reported():
    mistyped = {"COUNTERFOLIO_REQUEST_PER_MINUTE": "5", "COUNTERFOLIO_CACHE": ""}
    kubernetes = {
        "COUNTERFOLIO_SERVICE_HOST": "10.0.0.1",
        "COUNTERFOLIO_SERVICE_PORT_HTTP": "8000",
        "COUNTERFOLIO_PORT_8000_TCP_ADDR": "10.0.0.1",
    }
    words = (
        "the environment variable COUNTERFOLIO_REQUEST_PER_MINUTE is not a setting and has no "
        'effect. Did you mean "COUNTERFOLIO_REQUESTS_PER_MINUTE"?'
    )
    printed = run("--show-settings", **mistyped, **kubernetes)
    assert printed.stderr.strip() == f"Warning: {words}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("port = 70000", "port in the settings file PATH has the invalid value '70000':"),
        ("port = 1.5", "port in the settings file PATH has the invalid value '1.5':"),
        ("port = true", "port in the settings file PATH must be a number or a text, got True."),
        ("demo = 'yes'", "demo in the settings file PATH must be true or false, got 'yes'."),
        ("keys = ['a']", "keys in the settings file PATH must be a number or a text, got ['a']."),
        ("[queue]", "queue in the settings file PATH must be a number or a text, got {}."),
        ("prot = 1", "unknown setting 'prot'. Did you mean \"port\"?"),
        ("settings = 'x'", "unknown setting 'settings'."),
        ("port", "the settings file PATH is not valid TOML:"),
        ("demo = true\nlongest = 0", "longest in the settings file PATH: a time limit must be"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(file, text, words):
    path = file(text)
    error = run("--settings", path).exception
    assert isinstance(error, InputError)
    assert words.replace("PATH", str(path)) in str(error) and str(error).endswith(".")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("PORT", "tcp://10.0.0.1", "COUNTERFOLIO_PORT has the invalid value 'tcp://10.0.0.1':"),
        ("RAY", "perhaps", "COUNTERFOLIO_RAY has the invalid value 'perhaps':"),
        ("EXPLORE", "2", "COUNTERFOLIO_EXPLORE: explore must be a share from 0 to 1, got 2.0."),
        ("KEYS", "/no/file", "COUNTERFOLIO_KEYS: cannot read the keys in /no/file:"),
        ("HOST", "0.0.0.0", "COUNTERFOLIO_HOST: other machines can reach 0.0.0.0,"),
    ],
)
def test_a_wrong_variable_is_named(name, value, words):
    error = run("--demo", **{f"COUNTERFOLIO_{name}": value}).exception
    assert isinstance(error, InputError)
    assert f"the environment variable {words}" in str(error) and str(error).endswith(".")


def test_a_wrong_flag_is_named():
    assert "Invalid value for '--port'" in run("--demo", "--port", "x").stderr
    assert str(run("--demo", "--longest", "nan").exception).startswith("--longest: a time limit")
