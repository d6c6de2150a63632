"""The project's own rules, held by walking its files."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from capd.options import OPTIONS, Kind

ROOT = Path(__file__).resolve().parents[2]
ORDER = ROOT / "docs" / "architecture.md"

#: broad handlers that do not raise again, each with the reason why it may be broad
BROAD = {
    "capd/calls.py": "a worker thread hands whatever a libvirt call raised to its caller",
    "capd/worker.py": "the daemon's loop outlives what nobody foresaw",
    "capd/notify.py": "a foreign package named systemd may raise anything when imported",
}

SOURCES = sorted((ROOT / "capd").rglob("*.py"))


def _relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(path): path for path in SOURCES}


def _imports(path: Path) -> Iterator[str]:
    """Modules of capd that this one imports, anywhere in it."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("capd"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def _stages() -> dict[str, int]:
    """Module or package to the number of its stage, from the page that explains them."""
    result: dict[str, int] = {}
    for number, section in enumerate(ORDER.read_text().split("\n## ")):
        for name in re.findall(r"^- `(capd[\w.]*)`", section, re.MULTILINE):
            assert name not in result, f"{name} stands twice in {_relative(ORDER)}"
            result[name] = number
    return result


def _place(module: str) -> str:
    """What stands for a module on that page: a top-level module or a package."""
    return ".".join(module.split(".")[:2])


@functools.cache
def _tracked() -> tuple[Path, ...]:
    """Files of the repository; all that are not ignored where git has no say."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    names = [name for name in done.stdout.split("\0") if name]
    return tuple(ROOT / name for name in names if (ROOT / name).is_file())


# -- order


def test_reading_order_names_every_module() -> None:
    stages, present = _stages(), {_place(module) for module in MODULES}
    missing = present - set(stages)
    assert not missing, f"give these a place in {_relative(ORDER)}: {sorted(missing)}"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_go_one_way(name: str) -> None:
    stages = _stages()
    own = stages.get(_place(name), 0)
    late = {other for other in _imports(MODULES[name]) if stages.get(_place(other), 0) > own}
    assert not late, f"{name} comes before what it imports: {sorted(late)}"


def test_imports_have_no_cycle() -> None:
    left = {name: set(_imports(path)) - {name} for name, path in MODULES.items()}
    while True:
        free = {name for name, needs in left.items() if not needs & set(left)}
        if not free:
            break
        for name in free:
            del left[name]
    assert sorted(left) == []


def test_capd_imports_without_starting_a_thread() -> None:
    """B41: nothing runs because something was imported."""
    script = (
        "import importlib, os, pkgutil, sys, threading, capd\n"
        "skip = ('capd.__main__', 'capd.novadb')\n"
        "for found in pkgutil.walk_packages(capd.__path__, 'capd.'):\n"
        "    if not found.name.startswith(skip): importlib.import_module(found.name)\n"
        "print(threading.active_count(), len(os.listdir('/proc/self/task')), len(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    threads, tasks, modules = map(int, done.stdout.split())
    assert (threads, tasks) == (1, 1)
    assert modules > 100


# -- size and form


@pytest.mark.parametrize("path", SOURCES, ids=_relative)
def test_module_is_small(path: Path) -> None:
    lines = path.read_text().count("\n")
    assert lines <= (400 if path.name == "table.py" else 300)  # the table is rows, not code


@pytest.mark.parametrize("path", SOURCES, ids=_relative)
def test_functions_are_small(path: Path) -> None:
    large = {
        f"{node.name}:{node.lineno}": node.end_lineno - node.lineno + 1
        for node in ast.walk(_tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > 60
    }
    assert large == {}


@pytest.mark.parametrize("path", SOURCES, ids=_relative)
def test_module_says_what_it_is(path: Path) -> None:
    if path.name == "__main__.py":
        return
    text = ast.get_docstring(_tree(path))
    assert text, f"{_relative(path)} has no docstring"
    assert len(text.splitlines()[0]) >= 20


@pytest.mark.parametrize("path", SOURCES, ids=_relative)
def test_no_broad_except_outside_the_loop(path: Path) -> None:
    if _relative(path) in BROAD:
        return
    broad = [
        node.lineno
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException"))
        and not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)
    ]
    assert broad == []


@pytest.mark.parametrize("path", SOURCES, ids=_relative)
def test_no_shell_and_no_unfinished_work(path: Path) -> None:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.keyword) and node.arg == "shell":
            assert getattr(node.value, "value", None) is False, f"{path}:{node.value.lineno}"
    assert not re.search(r"\b(TODO|FIXME|XXX|NotImplementedError)\b", path.read_text())
    assert "os.system(" not in path.read_text()


def test_no_module_for_everything() -> None:
    names = {path.stem for path in SOURCES}
    assert not names & {"utils", "util", "helpers", "common", "misc"}


# -- words that the repository does not say

FORBIDDEN = (
    r"/work/(?:wt|main|venv|shared|plan)",
    r"/farm\b",
    r"\bpypi\.org\b",
    r"\bfiles\.pythonhosted\b",
    r"\bdeb\.debian\.org\b",
    r"\b(?:claude|anthropic|openai|chatgpt|copilot)\b",
    r"\blanguage model\b",
    r"\bAI (?:assistant|agent|tool)\b",
)


def test_repository_speaks_of_itself_alone() -> None:
    pattern = re.compile("|".join(FORBIDDEN), re.IGNORECASE)
    found = []
    for path in _tracked():
        if path == Path(__file__):
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [
            f"{_relative(path)}:{number}: {match.group()}"
            for number, line in enumerate(text.splitlines(), 1)
            for match in [pattern.search(line)]
            if match
        ]
    assert found == []


# -- what must be there


@pytest.mark.parametrize(
    "name", ["LICENSE", "README.md", "CHANGELOG.md", ".ci/run", "tox.ini", "fixtures/README.md"]
)
def test_file_is_there(name: str) -> None:
    assert (ROOT / name).read_text().strip()


def test_the_two_commands_of_the_readme_are_make_targets() -> None:
    readme = (ROOT / "README.md").read_text()
    first = re.search(r"```\n(.*?)```", readme, re.DOTALL)
    assert first
    commands = [line.split("#")[0].strip() for line in first.group(1).splitlines()]
    assert commands == ["make demo", "make test"]
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"demo", "test", "lint", "bench", "unit", "clean"} <= set(targets)


def test_links_of_the_pages_lead_somewhere() -> None:
    broken = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{_relative(page)}: {target}")
    assert broken == []


def test_every_option_is_documented() -> None:
    for option in OPTIONS:
        label = f"[{option.group}] {option.name}"
        assert option.help.endswith((".", "PCNET", ".prom.")), f"{label}: a sentence ends"
        assert len(option.help) >= 20, f"{label}: says too little"
        if option.kind in (Kind.INTEGER, Kind.NUMBER) and option.name not in ("workers",):
            assert option.unit, f"{label}: a number has a unit"


def test_sample_file_has_every_option() -> None:
    sample = ROOT / "systemd" / "capd.conf"
    if not sample.exists():
        pytest.skip("no sample configuration file yet")
    section, found = "", set()
    for line in sample.read_text().splitlines():
        head = re.match(r"\[(\w+)\]$", line)
        key = re.match(r"#?\s?(\w+) ?=", line)
        if head:
            section = head.group(1)
        elif key:
            found.add((section, key.group(1)))
    missing = {(option.group, option.name) for option in OPTIONS} - found
    assert missing == set()


def test_version_is_said_once() -> None:
    import capd

    assert re.fullmatch(r"\d+\.\d+\.\d+", capd.__version__)
    assert "version = attr: capd.__version__" in (ROOT / "setup.cfg").read_text()
