# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Modules of nodes started with Python 3.6 and 3.7, where pyenv has them, by the Ansible that runs the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils import basic

COLLECTIONS = next(path for path in sys.path if (Path(path) / "ansible_collections" / "zerocopy").is_dir())
PYENV = Path(os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))) / "versions"
OLD = [str(path) for minor in (6, 7) for path in sorted(PYENV.glob(f"3.{minor}.*/bin/python3.{minor}"))[-1:]]


@pytest.mark.skipif(not OLD, reason="neither Python 3.6 nor 3.7 is installed (pyenv install 3.6)")
@pytest.mark.parametrize("module", ["rdma_facts", "rdma_reachability"])
def test_a_node_whose_python_is_too_old_fails_in_one_line(tmp_path: Path, module: str) -> None:
    hosts: dict[str, Any] = {
        f"old{number}": {"ansible_connection": "local", "ansible_python_interpreter": path}
        for number, path in enumerate(OLD)
    }
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": COLLECTIONS,
    }
    command = [sys.executable, "-m", "ansible", "adhoc", "-i", str(tmp_path / "hosts.json"), "all", "-m"]
    run = subprocess.run(
        [*command, f"zerocopy.rdma.{module}", "--tree", str(tmp_path / "results")],
        env=environment,
        check=False,
        capture_output=True,
    )
    assert run.returncode == 2
    for name, variables in hosts.items():
        result = json.loads((tmp_path / "results" / name).read_text())
        # ansible-core 2.18 still starts with Python 3.7, and says in its own words what it needs.
        assert variables["ansible_python_interpreter"] in result["msg"] or "minimum of Python" in result["msg"]
        assert ".".join(map(str, basic._PY_MIN)) in result["msg"]
        assert "\n" not in result["msg"]
        assert "module_stderr" not in result
