# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What CONTRIBUTING says about the library's rooms, read from the source: who imports whom, and what is thin."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.registry import STRATEGIES

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
LIBRARY = PLUGINS / "module_utils"
PACKAGE = "ansible_collections.zerocopy.rdma.plugins"

# A room imports from its own floor and from lower ones.
FLOORS = {
    "_payload": 0,
    "_values": 0,
    "_facts": 1,
    "_discover": 2,
    "_exporter": 3,
    "_inventory": 3,
    "_kube": 4,
    "_links": 5,
    "_fabric": 6,
    "_strategies": 7,
    "_plan": 8,
    "_prepare": 9,
    "_provision": 10,
    "_workloads": 11,
    "_prove": 12,
    "_migrate": 13,
}
GLUE = {"module_utils._prepare.module", "module_utils._provision.api.module"}
# What others print, for which they have no code: the kernel, systemd and NetworkManager, the API server and its
# scheduler, perftest.
TEXTS_OF_OTHERS = {
    "IB/RoCE v1",
    "RoCE v2",
    "Open Kernel Module",
    "Max locked memory",
    "CPU implementer",
    "Call failed: ",
    "was not provided",
    "not activatable",
    "does not support dry run",
    "etcd cluster",
    "failed calling webhook",
    "annot allocate all claims",
    "BW average",
}
# Lines in functions and classes of one plugin; translating has not needed more.
THIN = 45
# Modules without a cluster that run on the controller all the same, which has what Ansible needs, PyYAML for one.
ON_CONTROLLER = {"modules.workload_manifests"}


def _module(path):
    return ".".join(path.relative_to(PLUGINS).with_suffix("").parts)


SOURCES = {_module(path): path for path in sorted(PLUGINS.rglob("*.py"))}
LIBRARY_MODULES = [name for name in SOURCES if name.startswith("module_utils.")]


def _imported(name):
    """The dotted names that a file imports, wherever in it; ``from a import b`` is ``a.b``."""
    parents = f"{PACKAGE}.{name}".split(".")
    for node in ast.walk(ast.parse(SOURCES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = parents[: -node.level] if node.level else []
            yield from (".".join([*base, *filter(None, [node.module]), alias.name]) for alias in node.names)


def _own(dotted):
    """The file of this collection that holds what `dotted` names, or None for other packages."""
    name = dotted[len(PACKAGE) + 1 :] if dotted.startswith(f"{PACKAGE}.") else ""
    while name and name not in SOURCES:
        name = name.rpartition(".")[0]
    return name or None


OTHERS = {name: {dotted for dotted in _imported(name) if not _own(dotted)} for name in SOURCES}
USES = {name: {_own(dotted) for dotted in _imported(name)} - {None} for name in SOURCES}


def _reached(name: str, uses: dict[str, set[str]]) -> set[str]:
    """What `name` imports, directly or through others."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        new = uses[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


REACHED = {name: _reached(name, USES) for name in SOURCES}


def test_every_import_of_the_collection_names_a_file():
    lost = {(name, dotted) for name, others in OTHERS.items() for dotted in others if dotted.startswith(PACKAGE)}

    assert lost == set()


def test_every_file_of_the_library_is_in_a_room():
    assert {name.split(".")[1] for name in LIBRARY_MODULES} == set(FLOORS)


def test_a_room_imports_from_no_later_one():
    def floor(name):
        return FLOORS[name.split(".")[1]]

    backwards = {
        f"{name} imports {used}"
        for name in LIBRARY_MODULES
        for used in USES[name]
        if not used.startswith("module_utils.") or floor(used) > floor(name)
    }

    assert backwards == set()


def test_no_files_import_each_other_in_a_circle():
    circles = {
        frozenset(other for other in REACHED[name] if name in REACHED[other])
        for name in SOURCES
        if name in REACHED[name]
    }

    assert circles == set()


def _package(name: str) -> str:
    """The package whose own file this is."""
    return name.rpartition(".")[0]


def _packages() -> dict[str, set[str]]:
    """Who imports whom, by packages of the library without those below them."""
    uses: dict[str, set[str]] = {}
    for name in LIBRARY_MODULES:
        used = {_package(other) for other in USES[name] if other.startswith("module_utils.")}
        uses.setdefault(_package(name), set()).update(used - {_package(name)})
    return uses


def test_no_packages_import_each_other_in_a_circle():
    uses = _packages()
    circles = {
        frozenset(other for other in reached if name in _reached(other, uses))
        for name in uses
        if name in (reached := _reached(name, uses))
    }

    assert circles == set()


def _folders() -> list[Path]:
    return sorted({SOURCES[name].parent for name in LIBRARY_MODULES} - {LIBRARY})


def _docstring(folder: Path) -> str:
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    return " ".join(text.split())


@pytest.mark.parametrize("folder", _folders(), ids=lambda folder: str(folder.relative_to(LIBRARY)))
def test_the_docstring_of_a_package_lists_its_files_and_then_what_it_may_import(folder):
    _purpose, _order, rest = _docstring(folder).partition("reading order")
    files, *imports = re.split("may import|imports no other room", rest, flags=re.IGNORECASE)
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}

    assert set(re.findall(r"`(\w+)(?:\.py)?`", files)) == {path.stem for path in folder.glob("[!_]*.py")} | packages
    assert imports


def test_docstrings_of_packages_name_rooms_that_exist():
    lost = {
        f"{folder.relative_to(LIBRARY)}: {named}"
        for folder in _folders()
        for named in re.findall(r"`(_[\w.]+)`", _docstring(folder))
        if not (LIBRARY / named.replace(".", "/")).exists()
    }

    assert lost == set()


def test_a_strategy_knows_no_other():
    """Nor do packages below them know any; those beside them, which have the whole list, do."""
    folders = [type(strategy).__module__.split(".")[-2] for strategy in STRATEGIES.values()]

    def folder(name):
        return next((found for found in folders if f"{name}.".startswith(f"module_utils._strategies.{found}.")), None)

    neighbours = {
        f"{package} imports {used}"
        for package, others in _packages().items()
        for used in others
        if package.startswith("module_utils._strategies.") and folder(used) not in (None, folder(package))
    }

    assert neighbours == set()


def test_only_glue_imports_ansible():
    users = {
        name
        for name in LIBRARY_MODULES
        if any(dotted.split(".")[0] in ("ansible", "ansible_collections") for dotted in OTHERS[name])
    }

    assert users == GLUE


def test_only_packages_are_private_by_name():
    private = {
        str(path.relative_to(LIBRARY))
        for path in LIBRARY.rglob("*")
        if path.name.startswith("_")
        and path.parent != LIBRARY
        and path.name != "__init__.py"
        and "__pycache__" not in path.parts
    }

    assert private == set()


def test_what_runs_on_nodes_needs_the_standard_library_only():
    on_nodes = {
        name
        for module in SOURCES
        if module.startswith("modules.") and module not in ON_CONTROLLER
        if "module_utils._provision.api.module" not in REACHED[module]
        for name in (module, *REACHED[module])
    }
    foreign = {
        f"{name} imports {dotted}"
        for name in on_nodes
        for dotted in OTHERS[name]
        if dotted.split(".")[0] not in {*sys.stdlib_module_names, "ansible", "pyroute2"}
    }

    assert "modules.rdma_facts" in on_nodes
    assert foreign == set()


def test_facts_are_typed_once_they_are_read():
    """Nobody looks facts up by key: what has them is a `Facts`, from `_discover` or through `_facts/read.py`."""
    sections = {item.name for item in fields(Facts)}
    raw = {
        f"{name}:{node.lineno}"
        for name in LIBRARY_MODULES
        for node in ast.walk(ast.parse(SOURCES[name].read_text(encoding="utf-8")))
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "facts"
        and isinstance(node.slice, ast.Constant)
        and node.slice.value in sections
    }

    assert raw == set()


def test_variables_say_what_they_are():
    nameless = {
        f"{name}:{node.lineno}"
        for name, path in SOURCES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Name) and node.id == "one") or (isinstance(node, ast.arg) and node.arg == "one")
    }

    assert nameless == set()


@pytest.mark.parametrize(
    ("part", "home"),
    [
        (r"\.[0-7]", "module_utils._values.pci"),
        ("[0-9a-fA-F]{1,4}", "module_utils._values.pkey"),
        ("|ms|", "module_utils._values.duration"),
    ],
)
def test_the_form_of_a_value_stands_once(part, home):
    assert [name for name in LIBRARY_MODULES if part in SOURCES[name].read_text(encoding="utf-8")] == [home]


def _compared(tree):
    """Texts that values are compared with, or looked for in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            sides = node.args if node.func.attr in ("startswith", "endswith", "partition", "index", "find") else []
        else:
            continue
        for side in sides:
            for part in ast.walk(side) if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side]:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_nothing_is_decided_by_text_for_people():
    found = {
        f"{name}: {text}"
        for name, path in SOURCES.items()
        for text in _compared(ast.parse(path.read_text(encoding="utf-8")))
        if len(text.split()) > 1 and text not in TEXTS_OF_OTHERS
    }

    assert found == set()


@pytest.mark.parametrize(
    "name", [name for name in SOURCES if name.split(".")[0] in ("modules", "filter", "action", "lookup")]
)
def test_modules_filters_and_actions_are_thin(name):
    body = ast.parse(SOURCES[name].read_text(encoding="utf-8")).body
    code = [node for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]

    assert sum(len(ast.unparse(node).splitlines()) for node in code) <= THIN


def test_directories_are_made_in_one_place():
    """Where modes do not depend on the umask of whoever runs us."""
    makers = {
        name
        for name, path in SOURCES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("mkdir", "makedirs")
    }

    assert makers == {"module_utils._values.writing"}
