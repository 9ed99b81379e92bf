"""Test which package may import which, and how long files and functions are.

Docstrings are not counted.
"""

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("encoders", "selector", "portfolio", "counterfolio")
FILES = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
GROUND = ("encoders.errors", "encoders.arrays", "encoders.as_html", "encoders.close_names",
          "encoders.compiled", "encoders.shipped_code", "encoders.text_files",
          "encoders.visible_text", "encoders.whole_files")  # fmt: skip
# What each room of encoders may import from encoders, apart from itself and the ground.
ROOMS = {
    "encoders.trees": (),
    "encoders.readers": ("encoders.query", "encoders.trees"),
    "encoders.query": (),
    "encoders.problem": (),
    "encoders.bounds": ("encoders.problem",),
    "encoders.posing": ("encoders.problem", "encoders.query", "encoders.trees"),
    "encoders.reduce": ("encoders.problem", "encoders.bounds"),
    "encoders.backends": ("encoders.problem", "encoders.bounds"),
    "encoders.maps": ("encoders.problem", "encoders.bounds"),
    "encoders.testing": ("encoders.problem", "encoders.backends"),
}
FLOORS = {
    "encoders": ("encoders",),
    "selector": ("encoders", "selector"),
    "portfolio": ("encoders", "selector", "portfolio"),
    "counterfolio": ("counterfolio", "portfolio"),
}
# Kernels are compiled: a call that is not inlined there costs more than a long function.
KERNELS = ("kernel", "inner", "inlined")
LONGEST_FUNCTION = 60


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path):
    """Our modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def within(module, places):
    return any(module == place or module.startswith(f"{place}.") for place in places)


@pytest.fixture(scope="module")
def imports():
    """Return our modules that each of our modules imports."""
    return {module_of(p): [m for m in imported(p) if within(m, PACKAGES)] for p in FILES}


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_imports_up(imports, package):
    wrong = [
        f"{module} imports {other}"
        for module, others in imports.items()
        for other in others
        if within(module, [package]) and not within(other, FLOORS[package])
    ]
    assert not wrong


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_encoders_knows_only_what_it_may(imports, room):
    allowed = (room, *ROOMS[room], *GROUND)
    wrong = [
        f"{module} imports {other}"
        for module, others in imports.items()
        for other in others
        if within(module, [room]) and not within(other, allowed)
    ]
    assert not wrong


def test_the_ground_of_encoders_stands_on_itself(imports):
    for module in GROUND:
        assert all(within(other, GROUND) for other in imports.get(module, ()))


@pytest.mark.parametrize("backend", ["search", "cp", "milp", "maxsat", "smt"])
def test_no_backend_knows_another(imports, backend):
    place = "encoders.backends"
    rivals = [f"{place}.{name}" for name in ("search", "cp", "milp", "maxsat", "smt")]
    rivals.remove(f"{place}.{backend}")
    for module, others in imports.items():
        if within(module, [f"{place}.{backend}"]):
            assert not [other for other in others if within(other, rivals)], module


def test_only_interfaces_know_the_service(imports):
    service = "portfolio.service"
    for module, others in imports.items():
        users = [service, "portfolio.cli", "portfolio.bench"]
        if not within(module, users) and module != "portfolio":
            assert not [other for other in others if within(other, [service])], module


def test_only_its_commands_know_the_benchmarks(imports):
    """Wheels lack them."""
    bench = "portfolio.bench"
    for module, others in imports.items():
        if not within(module, [bench]) and module != "portfolio.cli.bench":
            assert not [other for other in others if within(other, [bench])], module


def test_no_circle(imports):
    modules = set(imports)
    targets = {
        module: {next((m for m in (o, o.rpartition(".")[0]) if m in modules), "") for o in others}
        for module, others in imports.items()
    }
    done, path = set(), []

    def visit(module):
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module in done or module not in targets:
            return
        path.append(module)
        for other in sorted(targets[module] - {module, ""}):
            visit(other)
        path.pop()
        done.add(module)

    for module in sorted(modules):
        visit(module)


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_functions_stay_short(path):
    source = path.read_text()
    tree = ast.parse(source)
    lines = lines_of_code(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not is_kernel(node):
            own = {line for line in lines if node.lineno <= line <= node.end_lineno}
            own -= docstring_lines(node)
            assert len(own) <= LONGEST_FUNCTION, f"{node.name} has {len(own)} lines of code"


def is_kernel(node):
    return any(ast.unparse(d).split("(")[0] in KERNELS for d in node.decorator_list)


def docstring_lines(node):
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(node, documented) or not node.body:
        return set()
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
        return set(range(first.lineno, first.end_lineno + 1))
    return set()


def lines_of_code(source):
    """Numbers of the lines that hold more than a comment."""
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT,
              tokenize.DEDENT, tokenize.ENDMARKER)  # fmt: skip
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    spans = [(t.start[0], t.end[0]) for t in tokens if t.type not in silent]
    return {line for begin, end in spans for line in range(begin, end + 1)}
