# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The part of ``node_drift`` that only the controller can do: read the archives of the images, know the program."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _archive, _node, _program

_MODULE = "zerocopy.rdma.node_drift"


class ActionModule(_node.NodeAction):
    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        images = arguments.get("images")
        # Whatever else it is, the module refuses it.
        if isinstance(images, list) and all(isinstance(image, dict) for image in images):
            try:
                arguments["images"] = [_archive.with_ids(image) for image in images]
            except _archive.UnusableError as error:
                return {**result, "failed": True, "msg": f"images: {error}"}
        inject = arguments.get("inject")
        if isinstance(inject, dict):
            arguments["inject"] = _program.with_digest(inject)
        result.update(self._execute_module(_MODULE, module_args=arguments, task_vars=task_vars))
        return result
