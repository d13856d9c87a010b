# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The whole of ``cluster_access_info``, since it runs on the controller only."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.modules import cluster_access_info
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _cluster_access
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documented = cluster_access_info

    def answer(self, context: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
        return {"changed": False, **_cluster_access.found(options, os.environ)}
