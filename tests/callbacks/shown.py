# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Prints what a run shows to people, and failures, without tasks and warnings: for the demo."""

from __future__ import annotations

from typing import Any

from ansible.plugins.callback.default import CallbackModule as Default

DOCUMENTATION = r"""
name: shown
type: stdout
short_description: Print only what playbooks of this collection show
description:
  - Used by the demo and the tests only.
  - With C(display_ok_hosts=false), the action C(show) prints its text itself.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
"""


class CallbackModule(Default):  # type: ignore[misc]  # ansible-core has no types here
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "shown"

    def v2_playbook_on_play_start(self, play: Any) -> None:
        # A banner of it would be printed before its first task that fails.
        self._play = play

    def v2_playbook_on_no_hosts_matched(self) -> None:
        """A play without hosts has nothing to show."""

    def v2_runner_on_skipped(self, result: Any) -> None:
        """Nor has a task that is skipped, whatever the configuration says."""

    def v2_runner_item_on_ok(self, result: Any) -> None:
        """Nor has one item of a task."""

    def v2_runner_on_ok(self, result: Any) -> None:
        if result._task.action == "zerocopy.rdma.show":
            self._display.display("")

    def v2_playbook_on_stats(self, stats: Any) -> None:
        if stats.failures or stats.dark:
            super().v2_playbook_on_stats(stats)
