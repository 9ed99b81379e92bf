"""Test which package may import which, and how long files and functions are.

Docstrings are not counted.
"""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from tests.support.without_posix import posix_names

ROOT = Path(__file__).parents[1]
PACKAGES = ("encoders", "selector", "portfolio", "counterfolio")
FILES = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
CORE = "encoders.core"  # which every package may import
# What each package may import, apart from itself and the core. No entry names a later one, so that
# imports point one way.
MAY_IMPORT = {
    "encoders.core": (),
    "encoders.trees": (),
    "encoders.query": (),
    "encoders.problem": (),
    "encoders.readers": ("encoders.query", "encoders.trees"),
    "encoders.formulation": ("encoders.problem", "encoders.query", "encoders.trees"),
    "encoders.presolve": ("encoders.problem",),
    "encoders.backends": ("encoders.presolve", "encoders.problem"),
    "encoders.search": ("encoders.backends", "encoders.presolve", "encoders.problem"),
    "encoders.testing": ("encoders.backends", "encoders.problem"),
    "selector": ("encoders",),
    "portfolio.checker": (),
    "portfolio.model": ("encoders", "selector", "portfolio.checker"),
    "portfolio.results": ("encoders", "portfolio.model"),
    "portfolio.workers": ("encoders", "portfolio.results"),
    "portfolio.engine": (
        "encoders", "selector", "portfolio.model", "portfolio.results", "portfolio.workers"
    ),
    "portfolio.proofs": (
        "encoders", "portfolio.checker", "portfolio.model", "portfolio.results",
        "portfolio.workers", "portfolio.engine"
    ),
    "portfolio.questions": (
        "encoders", "portfolio.model", "portfolio.results", "portfolio.workers", "portfolio.engine"
    ),
    "portfolio.batch": (
        "encoders", "selector", "portfolio.model", "portfolio.results", "portfolio.workers",
        "portfolio.engine", "portfolio.proofs", "portfolio.questions"
    ),
    "portfolio.api": (
        "encoders", "selector", "portfolio.model", "portfolio.results", "portfolio.workers",
        "portfolio.engine", "portfolio.proofs", "portfolio.questions", "portfolio.batch"
    ),
    "portfolio.compat": (
        "encoders", "portfolio.model", "portfolio.results", "portfolio.questions", "portfolio.api"
    ),
    "portfolio.data": ("encoders",),
    "portfolio.client": (
        "encoders", "portfolio.model", "portfolio.results", "portfolio.engine", "portfolio.proofs",
        "portfolio.questions", "portfolio.batch"
    ),
    "portfolio.service": (
        "encoders", "selector", "portfolio.model", "portfolio.results", "portfolio.workers",
        "portfolio.engine", "portfolio.proofs", "portfolio.questions", "portfolio.batch",
        "portfolio.api", "portfolio.data"
    ),
    "portfolio.notebook": (
        "encoders", "portfolio.model", "portfolio.api", "portfolio.service"
    ),
    "portfolio.bench": ("encoders", "selector", "portfolio"),
    "portfolio.cli": ("encoders", "selector", "portfolio"),
    "counterfolio": ("portfolio",),
}  # fmt: skip
# Modules that may use what Windows lacks. Benchmarks are not part of wheels.
POSIX = ("encoders.core.system", "portfolio.bench")
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


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_one_way(imports, package):
    allowed = (package, *MAY_IMPORT[package], CORE)
    wrong = [
        f"{module} imports {other}"
        for module, others in imports.items()
        for other in others
        if within(module, [package]) and not within(other, allowed)
    ]
    assert not wrong


def test_every_package_has_a_rule(imports):
    parts = [module for module in imports if module not in ("encoders", "portfolio")]
    assert not [module for module in parts if not within(module, MAY_IMPORT)]


@pytest.mark.parametrize("backend", ["search", "cp", "milp", "maxsat", "smt"])
def test_no_backend_knows_another(imports, backend):
    names = ("cp", "milp", "maxsat", "smt")
    places = {name: f"encoders.backends.{name}" for name in names} | {"search": "encoders.search"}
    rivals = [place for name, place in places.items() if name != backend]
    for module, others in imports.items():
        if within(module, [places[backend]]):
            assert not [other for other in others if within(other, rivals)], module


def test_only_its_commands_know_the_benchmarks(imports):
    """Wheels lack them."""
    bench = "portfolio.bench"
    for module, others in imports.items():
        if not within(module, [bench]) and module != "portfolio.cli.bench":
            assert not [other for other in others if within(other, [bench])], module


def posix_uses(path):
    """Return the uses of POSIX in a file, also those in texts, which may be programs."""
    text, tree = path.read_text(), ast.parse(path.read_text())
    hidden = {
        f"{module}.{name}" for module, names in posix_names.NAMES.items() for name in names.split()
    }
    used = {*re.findall(r"\b[a-z]+\.\w+", text)} & hidden
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            used |= {f"{node.module}.{name.name}" for name in node.names} & hidden
            used |= {node.module} & {*posix_names.MODULES}
        elif isinstance(node, ast.Import):
            used |= {name.name for name in node.names} & {*posix_names.MODULES}
        elif isinstance(node, ast.Call) and "Popen" in ast.unparse(node.func):
            used |= {argument.arg for argument in node.keywords} & {*posix_names.ARGUMENTS}
        elif isinstance(node, ast.Constant) and str(node.value).startswith("/proc/"):
            used.add(node.value)
    return used


def test_one_module_uses_what_windows_lacks():
    uses = {module_of(path): posix_uses(path) for path in FILES}
    elsewhere = {m: used for m, used in uses.items() if used and not within(m, POSIX)}
    assert not elsewhere
    expected = {"fcntl", "os.getuid", "signal.SIGALRM", "select.poll", "pass_fds", "/proc/cpuinfo"}
    assert expected <= uses["encoders.core.system"]


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


@pytest.mark.slow
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
