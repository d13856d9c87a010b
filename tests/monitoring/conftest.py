# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Makes what these tests share importable."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

import pytest

_CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_CHECKOUT / path) for path in ("build/collections", "tests/lab", "tests/fleet")]


@pytest.fixture(scope="session")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Facts of a recorded (synthesised) host."""
    import expand  # the recorded fleet is a tool, not a package

    from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather

    root = tmp_path_factory.mktemp("fleet") / "lab-01"
    expand.write(expand.load(_CHECKOUT / "tests" / "fleet" / "nodes" / "lab-01.yml"), root)
    found: Callable[[str], dict[str, Any]] = gather.gather
    return found(str(root))
