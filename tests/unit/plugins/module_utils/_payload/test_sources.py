# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils import _values
from ansible_collections.zerocopy.rdma.plugins.module_utils._payload import sources

PACKAGE = "ansible_collections.zerocopy.rdma.plugins.module_utils"
LIBRARY = Path(_values.__file__).parents[1]
FOLDER = PACKAGE.replace(".", "/")
# What a process compiles, and where it says that a package and a module of it are from.
PROGRAM = f"""
import json, sys
compiled = []
sys.addaudithook(lambda event, args: compiled.append(str(args[1])) if event == "compile" else None)
sys.path.insert(0, sys.argv[1])
from {PACKAGE}._payload.sources import compile_once
if sys.argv[2] == "once":
    compile_once()
from {PACKAGE} import _values
from {PACKAGE}._values import text
print(json.dumps([compiled, _values.__file__, text.__file__, text.counted(2, "port")]))
"""


@pytest.fixture
def archive(tmp_path):
    """The library, as a module has it on a node."""
    path = tmp_path / "payload.zip"
    with zipfile.ZipFile(path, "w") as written:
        parts = FOLDER.split("/")
        for depth in range(len(parts)):
            written.writestr("/".join([*parts[: depth + 1], "__init__.py"]), "")
        for package in ("_payload", "_values"):
            for file in sorted((LIBRARY / package).glob("*.py")):
                written.write(file, f"{FOLDER}/{package}/{file.name}")
    return path


def run(archive, how):
    command = [sys.executable, "-S", "-c", PROGRAM, str(archive), how]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


@pytest.mark.parametrize("how", ["once", "as Python does"])
def test_a_module_of_the_zip_file_is_loaded_from_where_it_is(archive, how):
    _compiled, package, module, answer = run(archive, how)

    assert package == os.path.join(str(archive), *FOLDER.split("/"), "_values", "__init__.py")
    assert module == os.path.join(str(archive), *FOLDER.split("/"), "_values", "text.py")
    assert answer == "2 ports"


def test_a_module_of_the_zip_file_is_compiled_once(archive):
    compiled, _package, module, _answer = run(archive, "once")

    assert compiled.count(module) == 1


def test_a_missing_module_is_missing(archive):
    command = [sys.executable, "-S", "-c", PROGRAM.replace("import text", "import absent"), str(archive), "once"]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE)

    assert b"cannot import name 'absent'" in done.stderr


def test_nothing_changes_for_a_library_that_is_in_no_zip_file(monkeypatch):
    monkeypatch.setattr(sys, "path_hooks", hooks := list(sys.path_hooks))
    before = list(hooks)

    sources.compile_once()

    assert sys.path_hooks == before
