# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A real NetworkManager for the tests of this directory, each with a machine of its own; needs root and mmdebstrap."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

import pytest

_CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_CHECKOUT / "build" / "collections"), str(_CHECKOUT / "tests" / "lab")]

from ansible_collections.zerocopy.rdma.tests.network_manager.machine import Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Two rails and a LAN, without connections."""
    started = Machine()
    try:
        yield started
    finally:
        started.close()
