# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The part of ``rdma_support_info`` that only the controller can do: name a Python that is too old."""

from __future__ import annotations

from ansible_collections.zerocopy.rdma.plugins.plugin_utils._node import PlainAction as ActionModule

__all__ = ["ActionModule"]
