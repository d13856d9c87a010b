# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A playbook of this checkout in a process of its own, as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables

PLAYBOOKS = variables.ROLES.parent / "playbooks"


def played(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``ansible-playbook`` in a directory, with these arguments."""
    configuration = {"ANSIBLE_CONFIG": str(PLAYBOOKS.parent / "ansible.cfg"), "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), *arguments],
        env={**os.environ, **configuration, **environment},
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
