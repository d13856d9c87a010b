# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The API server that the tests here speak to."""

from __future__ import annotations

from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import client, server

__all__ = ["client", "server"]
