# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The shells that run rdma-env.sh in tests, and pods of described nodes with one of them, as fixtures."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Callable, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._workloads.pod_tree import PodTree, make

MakePod = Callable[..., PodTree]
SHELLS: Dict[str, List[str]] = {"dash": ["dash"], "busybox": ["busybox", "sh"], "bash": ["bash", "--posix"]}


@pytest.fixture(name="shell", params=sorted(SHELLS))
def make_shell(request: pytest.FixtureRequest) -> List[str]:
    argv = SHELLS[request.param]
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    return argv


@pytest.fixture(name="pod")
def make_pod(shell: List[str], root_of: Callable[[str], Path], tmp_path: Path) -> MakePod:
    def new(node: str) -> PodTree:
        return make(root_of(node), tmp_path / node, shell)

    return new
