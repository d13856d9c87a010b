# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The whole of ``support_bundle``, since it runs on the controller only."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.modules import support_bundle
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _support
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documented = support_bundle

    def answer(self, context: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
        return _support.bundle(context, options, bool(self._task.check_mode))
