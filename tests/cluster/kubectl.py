# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""kubectl with a control plane of the lab."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Object


def kubectl_of(control_plane: Any) -> Callable[..., str]:
    """Runs kubectl, with ``items`` as its input, and returns what it prints.

    With ``may_fail`` it returns what it complains of, nothing where it succeeds.
    """

    def run(*arguments: str, items: list[Object] | None = None, may_fail: bool = False) -> str:
        text = None if items is None else json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        command = [str(control_plane.kubectl), "--kubeconfig", str(control_plane.kubeconfig), *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if may_fail:
            return done.stderr if done.returncode else ""
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
