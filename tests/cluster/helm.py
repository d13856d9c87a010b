# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Roles that deploy charts by helm, played for one host as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from vmlab import tools
from vmlab.progress import await_condition

CHECKOUT = Path(__file__).resolve().parents[2]
# A template of a chart that only says which values it got.
VALUES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: values}
data: {values: {{ .Values | toJson | quote }}}
"""
_HELM = tools.Tool("helm", "helm", "helm.sh/helm/v3/cmd/helm")

Done = subprocess.CompletedProcess


class HelmRole:
    """Plays tasks of a role for the host gpu-1. What is written besides is in ``scratch``.

    ``variables`` are those of the role, without its name before theirs, and others by their whole names.
    """

    def __init__(self, role: str, kubeconfig: Path, scratch: Path, **variables: Any) -> None:
        self._role, self._scratch, self._variables = role, scratch, variables
        self._helm = tools.build(_HELM)
        self._environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
            "K8S_AUTH_KUBECONFIG": str(kubeconfig),
            "KUBECONFIG": str(kubeconfig),
            "LC_ALL": "C.UTF-8",
            **{f"HELM_{name}_HOME": str(scratch / name.lower()) for name in ("CACHE", "CONFIG", "DATA")},
        }

    def __call__(
        self, tasks: str, *options: str, helm: str = "", first: Sequence[Mapping[str, Any]] = (), **variables: Any
    ) -> Done[str]:
        """``helm`` is the directory of another one, ``first`` are tasks before those of the role."""
        own = {
            name if name.startswith("rdma_") else f"{self._role}_{name}": value
            for name, value in {**self._variables, **variables}.items()
        }
        hosts = {"gpu-1": {**own, "ansible_connection": "local"}}
        role = {"ansible.builtin.import_role": {"name": f"zerocopy.rdma.{self._role}", "tasks_from": tasks}}
        inventory, playbook = self._scratch / "hosts.yml", self._scratch / "play.yml"
        inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
        playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [*first, role]}]))
        programs = Path(sys.executable).parent
        return subprocess.run(
            [str(programs / "ansible-playbook"), "-i", str(inventory), *options, str(playbook)],
            cwd=CHECKOUT,
            env={**self._environment, "PATH": f"{helm or self._helm.parent}:{programs}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )

    def helm(self, *arguments: str) -> None:
        """As somebody else calls it."""
        subprocess.run([str(self._helm), *arguments], env=self._environment, capture_output=True, check=True)

    def killed(self, begun: Callable[[], bool], *arguments: str) -> None:
        """The same, killed when ``begun`` says that it is under way."""
        with subprocess.Popen([str(self._helm), *arguments], env=self._environment) as process:
            try:
                await_condition("helm", begun, seconds=60)
            finally:
                process.kill()


def changed(done: Done[str]) -> int:
    """How many tasks have changed something."""
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.rpartition("changed=")[2].split()[0])


def said(done: Done[str]) -> str:
    """What a play says that fails, on one line."""
    assert done.returncode != 0, done.stdout
    return " ".join(done.stdout.split())
