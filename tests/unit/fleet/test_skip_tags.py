# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``--skip-tags`` with a part is refused: it would leave out what all parts need, and the run would succeed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import variables

PLAYBOOKS = variables.ROLES.parent / "playbooks"


@pytest.mark.parametrize(
    ("playbook", "skipped", "others"),
    [
        ("drift", "runtime", "kernel,links,driver,claims"),
        ("verify", "pod,host", "cluster,kernel,links,runtime"),
        # Of which the preflight is another one.
        ("teardown", "links", "kernel,runtime,driver,claims"),
    ],
)
def test_a_part_cannot_be_left_out(playbook: str, skipped: str, others: str, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "n1,", "--skip-tags", skipped]
    done = subprocess.run(
        [*command, str(PLAYBOOKS / f"{playbook}.yml"), "-e", "ansible_connection=local"],
        env={**os.environ, "ANSIBLE_CONFIG": str(PLAYBOOKS.parent / "ansible.cfg"), "LC_ALL": "C.UTF-8"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    said = " ".join(done.stdout.split())
    assert done.returncode == 2, done.stdout + done.stderr
    left = ",".join(sorted(skipped.split(","), key=["host", "cluster", "pod", "links", "runtime"].index))
    assert f"--skip-tags {left} would leave out what the other parts need as well." in said
    assert f"of --tags {others}." in said
