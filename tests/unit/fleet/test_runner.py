# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Jobs of ansible-runner, as AWX starts them: what they leave as artifacts, also those that fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS

# AWX's inventories are scripts.
_INVENTORY = "#!/usr/bin/env python3\nprint({!r})\n"


@dataclass(frozen=True)
class Job:
    """What ansible-runner keeps of a job: exit code, status, custom statistics, and its events."""

    rc: int
    status: str
    artifacts: dict[str, Any]
    events: list[dict[str, Any]]
    stdout: str

    @property
    def failures(self) -> dict[str, str]:
        """By host, the message with which it failed."""
        found = (event["event_data"] for event in self.events if event["event"] == "runner_on_failed")
        return {data["host"]: data["res"]["msg"] for data in found}


def job(private: Path, hosts: dict[str, Path], **extra: Any) -> Job:
    """Run site in a private data directory, by a playbook of the user's project; ``extra`` is what a survey adds."""
    for name in ("env", "inventory", "project"):
        (private / name).mkdir(parents=True)
    (private / "project/site.yml").write_text("- import_playbook: zerocopy.rdma.site\n")
    variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    own = {name: {"rdma_discover_root": str(root), **variables} for name, root in hosts.items()}
    groups = {"f": {"hosts": list(own)}, "_meta": {"hostvars": own}}
    script = private / "inventory/hosts"
    script.write_text(_INVENTORY.format(json.dumps(groups)))
    script.chmod(0o700)
    given = {"rdma_cluster": "none", "rdma_strategy": "shared_device", "rdma_artifacts": str(private / "kept"), **extra}
    (private / "env/extravars").write_text(json.dumps(given))
    # AWX has the collections in its image; here they are where ansible.cfg says.
    configuration = {"ANSIBLE_CONFIG": str(PLAYBOOKS.parent / "ansible.cfg"), "LC_ALL": "C.UTF-8"}
    (private / "env/envvars").write_text(json.dumps(configuration))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "ansible_runner", "run", str(private), "--ident", "1", "--playbook", "site.yml"]
    run = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    kept = private / "artifacts/1"
    assert (kept / "rc").is_file(), run.stdout + run.stderr
    events = [json.loads(event.read_text("utf-8")) for event in (kept / "job_events").glob("*.json")]
    events.sort(key=lambda event: int(event["counter"]))
    (stats,) = (event["event_data"] for event in events if event["event"] == "playbook_on_stats")
    return Job(
        int((kept / "rc").read_text()),
        (kept / "status").read_text(),
        stats["artifact_data"].get("zerocopy_rdma", {}),
        events,
        (kept / "stdout").read_text("utf-8"),
    )


def test_site_leaves_its_results_as_artifacts(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    hosts = {}
    for name in ("v100-01", "v100-02"):
        hosts[name] = tmp_path / name
        shutil.copytree(root_of(name), hosts[name], symlinks=True)
    done = job(tmp_path / "job", hosts)
    assert (done.rc, done.status) == (0, "successful"), done.stdout
    assert done.failures == {}
    assert done.artifacts["version"] == 1
    assert any(line.startswith("v100-02  f") for line in done.artifacts["facts"]["summary"])
    site = done.artifacts["site"]
    assert site["summary"][0] == "f: 2 changed (v100-[01-02])"
    # Paths outside of the directory that ends with the job.
    assert len(site["manifests"]) == 2
    for manifest in site["manifests"]:
        assert Path(manifest).is_relative_to(tmp_path / "job/kept")
        assert Path(manifest).is_file()
    shown = [event["event_data"].get("task") for event in done.events if "mlx5_0" in event["stdout"]]
    assert "Show the fleet" in shown


def test_a_job_says_which_host_failed_and_why(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    whole = tmp_path / "v100-01"
    shutil.copytree(root_of("v100-01"), whole, symlinks=True)
    hosts = {"v100-01": whole, "gone": tmp_path / "no-such-root"}
    done = job(tmp_path / "job", hosts)
    assert (done.rc, done.status) == (2, "failed")
    assert done.artifacts["site"]["summary"][0] == "f: 1 changed (v100-01), 1 failed (gone)"
    assert done.artifacts["drift"]["silent"] == ["gone"]
    (reason,) = done.failures.values()
    assert reason.endswith("no-such-root' has no directory 'sys', so it is not a node's root directory")


def test_a_job_with_a_wrong_answer_says_what_would_be_right(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    hosts = {"v100-01": root_of("v100-01")}
    done = job(tmp_path / "job", hosts, rdma_strategy="share")
    assert (done.rc, done.status) == (2, "failed")
    (message,) = done.failures.values()
    assert message.startswith(
        "Nothing was changed. Fix this first:\nv100-01: rdma_strategy is 'share', it must be dra or"
    )
    assert message.splitlines()[1] in done.stdout
