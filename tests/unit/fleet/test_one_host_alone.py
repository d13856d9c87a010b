# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A host that cannot be planned or compared fails alone, by name, and gets no change; the others are prepared."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

# By the name of the host, the node that it is a copy of.
NODES = {
    "good-01": "v100-02",
    "good-02": "v100-02",
    "broken-03": "v100-02",
    "bare-04": "case-nothing",
    "wrong-05": "v100-02",
}
BROKEN = "version = 2\n[plugins\n"


def texts(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def fleet(root_of: Callable[[str], Path], tmp_path: Path) -> Path:
    hosts: dict[str, dict[str, Any]] = {}
    for host, node in NODES.items():
        shutil.copytree(root_of(node), tmp_path / host, symlinks=True)
        hosts[host] = {"rdma_discover_root": str(tmp_path / host)}
    # What cannot be planned by its facts.
    hosts["wrong-05"]["rdma_kernel_blacklist"] = ["mlx5_core"]
    (tmp_path / "broken-03/etc/containerd").mkdir(parents=True, exist_ok=True)
    (tmp_path / "broken-03/etc/containerd/config.toml").write_text(BROKEN)
    common = {"rdma_cluster": "none", "rdma_strategy": "none", "rdma_links_subnet": "10.9.0.0/24"}
    reach = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory = {"all": {"children": {"fleet": {"hosts": hosts, "vars": {**common, **reach}}}}}
    (tmp_path / "hosts.yml").write_text(json.dumps(inventory))
    return tmp_path


def recap(run: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """How many tasks failed on each host."""
    rows = (line.split() for line in run.stdout.partition("PLAY RECAP")[2].splitlines())
    return {row[0]: next(word for word in row if word.startswith("failed=")) for row in rows if "ok=" in str(row)}


@pytest.mark.parametrize("playbook", ["prepare", "site"])
def test_the_others_are_prepared(playbook: str, fleet: Path) -> None:
    before = {host: texts(fleet / host) for host in NODES}
    run = played(fleet, "-i", "hosts.yml", str(PLAYBOOKS / f"{playbook}.yml"))
    said = " ".join((run.stdout + run.stderr).split())
    assert {host: failed for host, failed in recap(run).items() if host in NODES} == {
        "good-01": "failed=0",
        "good-02": "failed=0",
        "broken-03": "failed=1",
        "bare-04": "failed=1",
        "wrong-05": "failed=1",
    }, run.stdout
    assert run.returncode == 2
    for told in (
        "wrong-05: rdma_kernel_blacklist has mlx5_core, the driver of this node's mlx5_0: remove it",
        "This node was not changed. Fix this first: runtime: /etc/containerd/config.toml, line 2:",
        "runtime: no container runtime found",
    ):
        assert told in said, run.stdout
    for host in NODES:
        assert (texts(fleet / host) == before[host]) == (host not in ("good-01", "good-02")), host


def test_the_others_are_provisioned(fleet: Path) -> None:
    """NRI is off where nothing was prepared, and a node on which prepare failed has to stay as it is."""
    inventory = json.loads((fleet / "hosts.yml").read_text())
    inventory["all"]["children"]["fleet"]["vars"]["rdma_strategy"] = "dra"
    for host in ("bare-04", "wrong-05"):
        del inventory["all"]["children"]["fleet"]["hosts"][host]
    (fleet / "hosts.yml").write_text(json.dumps(inventory))
    for host in inventory["all"]["children"]["fleet"]["hosts"]:
        listens = "" if host == "broken-03" else "0000: 2 0 00010000 1 1 7 /run/nri/nri.sock\n"
        (fleet / host / "proc/net").mkdir(parents=True, exist_ok=True)
        (fleet / host / "proc/net/unix").write_text("Num RefCount\n" + listens)
    run = played(fleet, "-i", "hosts.yml", str(PLAYBOOKS / "site.yml"))
    failed = {host: failed for host, failed in recap(run).items() if host in NODES}
    assert failed == {"good-01": "failed=0", "good-02": "failed=0", "broken-03": "failed=1"}, run.stdout
    labels = yaml.safe_load_all((fleet / "manifests/node-labels.yml").read_text())
    assert [node["metadata"]["name"] for node in labels] == ["good-01", "good-02"]
    assert "broken-03: left as it is in the cluster" in run.stdout


def test_a_failure_while_changing_stops_the_waves_after_it(fleet: Path) -> None:
    wrong = fleet / "good-01/etc/modules-load.d"
    if wrong.exists():
        shutil.rmtree(wrong)
    # Nothing can be written below a file; a comparison does not try.
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text("")
    before = texts(fleet / "good-02")
    run = played(fleet, "-i", "hosts.yml", "--limit", "good-01,good-02", str(PLAYBOOKS / "prepare.yml"))
    assert (recap(run)["good-01"], run.returncode) == ("failed=1", 2), run.stdout
    assert texts(fleet / "good-02") == before, run.stdout
