# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""How the output that pages print is compared with that of a run (``tests/installed.sh`` has the runs)."""

from __future__ import annotations

import pytest

from ansible_collections.zerocopy.rdma.tests.docsite import printed

_LOG = "TASK [Look]\nHOST  HCA\nn1    mlx5_0\nn2    mlx5_0\nn3    mlx5_0\n\nWarnings:\n  n3: no link\n"


@pytest.mark.parametrize(
    ("page", "lacking"),
    [
        ("HOST  HCA\nn1    mlx5_0\n...\nn3    mlx5_0\n\nWarnings:\n", ""),
        ("HOST  HCA\nn2    mlx5_0\n", "HOST  HCA\nn2    mlx5_0\n"),
        ("n3    mlx5_0\n...\nn1    mlx5_0\n", "n1    mlx5_0\n"),
        ("  n3: no carrier\n", "  n3: no carrier\n"),
    ],
)
def test_what_a_run_did_not_print(page: str, lacking: str) -> None:
    assert printed.missing(page, _LOG) == lacking


def test_pages_that_are_compared() -> None:
    assert printed.output("README.md").startswith("HOST ")
    assert printed.output("docs/demo.md").count("...\n") > 1
    assert set(printed.files()) == {"ansible.cfg", "hosts.yml"}
