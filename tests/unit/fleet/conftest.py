# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The recorded (synthesised) fleet as fixtures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather

FLEET = Path(__file__).resolve().parents[2] / "fleet"
sys.path.insert(0, str(FLEET))

import expand  # the recorded fleet is a tool, not a package


@pytest.fixture(scope="session")
def root_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Expands a described node once and gives its root directory."""
    base = tmp_path_factory.mktemp("fleet")

    def root(name: str) -> Path:
        target = base / name
        if not target.exists():
            expand.write(expand.load(FLEET / "nodes" / f"{name}.yml"), target)
        return target

    return root


@pytest.fixture(scope="session")
def facts_of(root_of: Callable[[str], Path]) -> Callable[..., dict[str, Any]]:
    """Facts of a node, gathered once unless other options are asked for."""
    known: dict[str, dict[str, Any]] = {}

    def facts(name: str, **options: Any) -> dict[str, Any]:
        if options:
            return gather.gather(str(root_of(name)), gather.GatherOptions(**options))
        if name not in known:
            known[name] = gather.gather(str(root_of(name)))
        return known[name]

    return facts
