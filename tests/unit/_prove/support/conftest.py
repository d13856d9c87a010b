# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The API server that the tests here speak to."""

from __future__ import annotations

from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import client, server
from ansible_collections.zerocopy.rdma.tests.unit.conftest import facts_of, root_of

__all__ = ["client", "facts_of", "root_of", "server"]
