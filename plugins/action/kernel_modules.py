# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The action of all modules of nodes that have none of their own (``meta/runtime.yml`` has the others)."""

from __future__ import annotations

from ansible.plugins.action import normal

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _node


class ActionModule(_node.NodeAction, normal.ActionModule):  # type: ignore[misc]  # ansible-core has no types here
    _requires_connection = True
    _supports_check_mode = True
