# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path
from typing import Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import system
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # As the package libibverbs1 of Debian 12 has it.
        (["usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0"], {"rdma-core": "44.0"}),
        (["usr/lib64/libibverbs.so.1", "usr/lib64/libibverbs.so.1.14.51.0"], {"rdma-core": "51.0"}),
        (["usr/lib64/libibverbs.so.1", "usr/lib64/libibverbs.so.1.so"], {}),
        # Of the kernel's own sources, without a version.
        (["sys/module/mlx5_core/initstate"], {}),
        (["sys/module/mlx5_core/version"], {"mlx5_core": "24.10-0.7.0"}),
        (["sys/module/nvidia/version", "sys/module/nvme/version"], {"nvidia": "24.10-0.7.0"}),
    ],
)
def test_versions(tmp_path: Path, files: List[str], expected: Dict[str, str]) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("24.10-0.7.0\n")
    assert system.versions(Tree(str(tmp_path))) == expected
