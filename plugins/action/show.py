# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The whole of ``show``, since it runs on the controller only."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible import constants
from ansible.errors import AnsibleError
from ansible.plugins.loader import callback_loader

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible, visible_in
from ansible_collections.zerocopy.rdma.plugins.modules import show
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._controller import ControllerAction


class ActionModule(ControllerAction):
    documented = show

    def answer(self, context: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
        given = options["text"]
        text = visible(given if isinstance(given, str) else "\n".join(map(str, given)))
        shows = self._of_callback("display_ok_hosts", None)
        # A result is shown with all that is in it, and statistics are not for people. Where the callback has no such
        # option, its output may be for programs.
        alone = shows is False or bool(shows and options["stats"])
        if alone:
            # As for results, a text of one host needs its name.
            host = "" if self._task.run_once else f"{context['inventory_hostname']}: "
            self._display.display(host + text.rstrip("\n"))
        # Without YAML, line breaks would be shown as backslash-n.
        msg = text if self._of_callback("result_format", "") == "yaml" else text.splitlines()
        found: Dict[str, Any] = {"msg": msg, "changed": False, "_ansible_verbose_always": not alone}
        if options["stats"]:
            data = {"zerocopy_rdma": {"version": state_version.FIRST, **visible_in(options["stats"])}}
            found["ansible_stats"] = {"data": data, "per_host": False, "aggregate": True}
        return found

    def _of_callback(self, name: str, otherwise: Any) -> Any:
        """An option of the callback that shows results, if it has such an option."""
        callback = constants.DEFAULT_STDOUT_CALLBACK
        try:
            # Makes its options known.
            callback_loader.get(callback, class_only=True)
            return constants.config.get_config_value(
                name, plugin_type="callback", plugin_name=callback, variables=self.task_vars
            )
        except (AnsibleError, KeyError):
            return otherwise
