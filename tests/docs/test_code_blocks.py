"""What the pages show runs, and the commands they show exist."""

import shlex
import subprocess
import sys

import pytest
import typer

from portfolio.bench.protocol import load_protocol
from portfolio.cli.app import app
from selector.diagram import Diagram
from tests.docs.pages import PAGES, ROOT, blocks, is_there
from tests.docs.prelude import write_files
from tests.docs.run_page import run_page

pytestmark = pytest.mark.usefixtures("forked_children")

EVERY = [block for page in PAGES for block in blocks(page)]
PYTHON = sorted({b.page for b in EVERY if b.language == "python"})
# What these define and register must not stay in this process.
APART = [page for page in PYTHON if page.name.startswith("adding-")]
HERE = [page for page in PYTHON if page not in APART]
WAITING = sorted({b.told["waits for"] for b in EVERY if "waits for" in b.told})


def of(language):
    return [
        pytest.param(block, id=block.place)
        for block in EVERY
        if block.language == language and "not run" not in block.told
    ]


def words_of(text):
    """Our commands in a shell block, as lists of words."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        places = [i for i, word in enumerate(words) if word.split("/")[-1] == "counterfolio"]
        if places:
            yield words[places[-1] + 1 :]


COMMANDS = [
    pytest.param(words, id=f"{block.place} {' '.join(words[:2])}")
    for block in EVERY
    if block.language == "sh"
    for words in words_of(block.text)
]


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """The files that pages name."""
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder


@pytest.fixture
def folder(files, tmp_path):
    """A folder of its own for a page, with the files."""
    for path in files.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", HERE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_in_order(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    run_page(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", APART, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_in_order_in_a_process_of_their_own(page, folder):
    run = "runpy.run_module('tests.docs.run_page', run_name='__main__', alter_sys=True)"
    code = f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r}); {run}"
    command = [sys.executable, "-c", code, str(page)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", WAITING)
def test_what_a_block_waits_for_is_there(name):
    if not is_there(name):
        pytest.skip(f"{name} is not there yet; the blocks that wait for it are not run")


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS)
def test_commands_and_their_options_exist(words, folder, monkeypatch):
    """Parsed by the command line itself, down to the command that would run."""
    monkeypatch.chdir(folder)
    name, command, context = "counterfolio", typer.main.get_command(app), None
    while True:
        context = command.make_context(name, list(words), parent=context)
        if not hasattr(command, "resolve_command"):
            return
        rest = [*getattr(context, "_protected_args", []), *context.args]
        name, command, words = command.resolve_command(context, rest)


@pytest.mark.parametrize("block", of("toml"))
def test_protocols_can_be_read(block, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(block.text, encoding="utf-8")
    load_protocol(str(path))


@pytest.mark.parametrize("block", of("json"))
def test_diagrams_can_be_read(block):
    Diagram.from_json(block.text, block.place)
