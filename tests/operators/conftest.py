# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Operators that really run, on the control plane of tests/cluster. Building them takes too long for CI."""

from __future__ import annotations

import sys
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_CHECKOUT / "build" / "collections"), str(_CHECKOUT / "tests" / "lab")]

from ansible_collections.zerocopy.rdma.tests.cluster.conftest import (
    cluster,
    connect,
    control_plane,
    namespace,
    start_control_plane,
)
from ansible_collections.zerocopy.rdma.tests.cluster.provision import make_nodes, make_playbook, make_set_of_inventory
from ansible_collections.zerocopy.rdma.tests.unit.conftest import facts_of, root_of, run_module

# Fixtures that are defined elsewhere.
__all__ = [
    "cluster",
    "connect",
    "control_plane",
    "facts_of",
    "make_nodes",
    "make_playbook",
    "make_set_of_inventory",
    "namespace",
    "root_of",
    "run_module",
    "start_control_plane",
]
