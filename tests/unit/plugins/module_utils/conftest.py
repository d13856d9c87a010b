# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_cri import served

__all__ = ["served"]
