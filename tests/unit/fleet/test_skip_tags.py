# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``--skip-tags`` with a part is refused: it would leave out what all parts need, and the run would succeed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played


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
    arguments = ["-i", "n1,", "--skip-tags", skipped, str(PLAYBOOKS / f"{playbook}.yml")]
    done = played(tmp_path, *arguments, "-e", "ansible_connection=local")
    said = " ".join(done.stdout.split())
    assert done.returncode == 2, done.stdout + done.stderr
    left = ",".join(sorted(skipped.split(","), key=["host", "cluster", "pod", "links", "runtime"].index))
    assert f"--skip-tags {left} would also skip tasks that the other parts need." in said
    assert f"Use --tags instead, with the parts that you want, out of {others}." in said
