# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``teardown`` of a fleet: one node's runtime is gone, another one is to be left alone, and one cannot be read."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Callable

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played
from ansible_collections.zerocopy.rdma.tests.unit.fleet.test_one_host_alone import recap
from ansible_collections.zerocopy.rdma.tests.unit.fleet.test_prepare_runtime import call

# A node with its runtime, one whose runtime is removed, and one with rdma_runtime_flavour none.
HOSTS = ("h100-02", "v100-02", "a100-01")
DAMAGED = "v100-01"


def _ours(root: Path) -> list[str]:
    return [str(path) for path in root.rglob("*") if "zerocopy-rdma" in path.name]


def test_no_node_stops_the_others_and_none_is_left_as_it_was(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    hosts: dict[str, dict[str, str]] = {}
    for name in (*HOSTS, DAMAGED):
        root = tmp_path / name
        shutil.copytree(root_of(name), root, symlinks=True)
        assert call(root).changes != []
        hosts[name] = {"rdma_discover_root": str(root), "ansible_connection": "local"}
    hosts["a100-01"]["rdma_runtime_flavour"] = "none"
    for path in ("usr/bin/containerd", "usr/lib/systemd/system/containerd.service", "etc/containerd/certs.d"):
        gone = tmp_path / "v100-02" / path
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink(missing_ok=True)
    with (tmp_path / "v100-02/etc/containerd/config.toml").open("a") as handle:
        handle.write("[broken\n")
    (ledger,) = (tmp_path / DAMAGED).rglob("ledger.json")
    ledger.write_text("{")
    kept = _ours(tmp_path / DAMAGED)
    variables = {"rdma_cluster": "none", "rdma_strategy": "none", "ansible_python_interpreter": sys.executable}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts, "vars": variables}}))
    run = played(tmp_path, "-i", "hosts.yml", str(PLAYBOOKS / "teardown.yml"))
    assert run.returncode == 2, run.stdout + run.stderr
    # It fails alone, before anything is changed.
    failed = dict.fromkeys(HOSTS, "failed=0") | {DAMAGED: "failed=1"}
    assert {name: recap(run)[name] for name in failed} == failed, run.stdout
    assert (_ours(tmp_path / DAMAGED), kept != []) == (kept, True)
    assert "This node was not changed. Fix this first:" in run.stdout
    for name in HOSTS:
        assert _ours(tmp_path / name) == [], name
    said = " ".join((run.stdout + run.stderr).split())
    assert said.count("are restored without asking it, and it is not restarted:") == 4
    # Those in the middle name their host, too.
    warned = re.findall(r"\[WARNING\]: (\S+)", " ".join(run.stderr.split()))
    assert set(warned) == {"v100-02:", "a100-01:"}, run.stderr
    # At the end all of it is told again, with its hosts.
    end = " ".join(run.stdout.split()).partition("Not reverted, or in need of attention:")[2]
    assert end.count("it is not restarted:") == 2
    assert f"{DAMAGED}: runtime: " in end
    assert "asking it, and it is not restarted: rdma_runtime_flavour is none" in said
