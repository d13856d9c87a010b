# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``rdma_cabling_lldpd`` in a run of the playbook on a recorded node: its own lldpd only, which only listens."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

CONFIG = "etc/lldpd.d/zerocopy-rdma.conf"
Prepare = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(name="prepare")
def make_prepare(root_of: Callable[[str], Path], tmp_path: Path) -> Prepare:
    """Runs prepare on hosts that are copies of one node; they are given by name with their variables."""

    def run(*arguments: str, **hosts: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        for name, own in hosts.items():
            root = tmp_path / name
            if not root.exists():
                shutil.copytree(root_of("lab-01"), root, symlinks=True)
            own["rdma_discover_root"] = str(root)
        reach = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        fleet = {"rdma_cluster": "none", "rdma_strategy": "none", **reach}
        inventory = {"all": {"children": {"lab": {"hosts": hosts, "vars": fleet}}}}
        (tmp_path / "hosts.yml").write_text(json.dumps(inventory))
        return played(tmp_path, "-i", "hosts.yml", str(PLAYBOOKS / "prepare.yml"), *arguments)

    return run


def test_it_listens_where_it_is_asked_for_and_is_not_there_by_default(prepare: Prepare, tmp_path: Path) -> None:
    hosts: dict[str, dict[str, Any]] = {"without": {}, "off": {"rdma_cabling_lldpd": False}}
    hosts["listens"] = {"rdma_cabling_lldpd": True}
    run = prepare("--diff", **hosts)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "+configure lldp status rx-only" in run.stdout
    for name in ("without", "off"):
        assert not (tmp_path / name / CONFIG).parent.exists()
    said = [line for line in (tmp_path / "listens" / CONFIG).read_text("utf-8").splitlines() if line[0] != "#"]
    assert said == ["configure system interface pattern ens1np0", "configure lldp status rx-only"]


def test_a_host_whose_package_manager_is_unknown_is_told_what_is_missing(prepare: Prepare) -> None:
    # As the module says it of a live node that lacks the package, which a recorded one cannot. No such package exists:
    # whatever this test does wrong, nothing is installed.
    lacking = {"lldpd": {"unit": "lldpd.service", "package": "zerocopy-rdma-no-such-package", "changes": []}}
    lost = {"rdma_cabling_lldpd": True, "ansible_package_use": "pkg_of_nobody"}
    run = prepare("-e", json.dumps({"__rdma_runtime_daemons": lacking}), lost=lost)
    assert run.returncode == 2, run.stdout
    said = " ".join((run.stdout + run.stderr).split())
    assert "lldpd (rdma_cabling_lldpd) is not installed, or does not start: Could not find a matching action" in said
    assert 'for the "pkg_of_nobody" package manager' in said.replace("\\", "")
