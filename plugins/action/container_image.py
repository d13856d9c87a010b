# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The part of ``container_image`` that only the controller can do: read the archive, and send it where it is needed."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _archive, _node

_MODULE = "zerocopy.rdma.container_image"


class ActionModule(_node.NodeAction):
    def run(self, tmp: Optional[str] = None, task_vars: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        result: Dict[str, Any] = super().run(tmp, task_vars)
        archive = self._task.args.get("archive")
        try:
            arguments = _archive.with_ids(self._task.args)
        except _archive.UnusableError as error:
            return {**result, "failed": True, "msg": str(error)}
        result.update(self._execute_module(_MODULE, module_args=arguments, task_vars=task_vars))
        if archive and result.get("changed") and not result.get("failed") and not self._task.check_mode:
            arguments["archive"] = self._sent(str(archive))
            result.update(self._execute_module(_MODULE, module_args=arguments, task_vars=task_vars))
        return result

    def _sent(self, archive: str) -> str:
        """Where the archive is on the node, until the task ends."""
        directory = self._connection._shell.tmpdir or self._make_tmp_path()
        path: str = self._connection._shell.join_path(directory, "image.tar")
        self._transfer_file(archive, path)
        self._fixup_perms2((directory, path))
        return path
