# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The whole of ``workloads``, since it runs on the controller only."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.modules import workloads
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _workload_examples
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documented = workloads

    def answer(self, context: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
        return _workload_examples.written(options, context, bool(self._task.check_mode))
