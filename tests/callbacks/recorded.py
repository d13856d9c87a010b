# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Writes what every task of a run did to a file, and can kill the run at a task, for tests that compare runs.

``ZEROCOPY_RECORD`` names the file: one JSON line per result. ``ZEROCOPY_KILL_AT`` is the number of the task start
(from 1) at which this process and all it started are killed, as ``kill -9`` would.
"""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

from ansible import context
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: recorded
type: aggregate
short_description: Record results for the tests of this collection
description:
  - Used by the tests only.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types here
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "recorded"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._path = os.environ.get("ZEROCOPY_RECORD")
        self._kill_at = int(os.environ.get("ZEROCOPY_KILL_AT", "0"))
        self._started = 0

    def v2_playbook_on_start(self, playbook: Any) -> None:
        check = bool(context.CLIARGS.get("check"))
        self._write({"playbook": os.path.basename(playbook._file_name), "check": check})

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self._started += 1
        if self._started == self._kill_at:
            os.killpg(os.getpgid(0), signal.SIGKILL)

    def _write(self, line: dict[str, Any]) -> None:
        if self._path is not None:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            with open(self._path, "a", encoding="utf-8") as handle:
                handle.write(json.dumps(line, sort_keys=True, default=str) + "\n")

    def _record(self, result: Any, outcome: str) -> None:
        values = result._result
        line = {
            "host": result._host.get_name(),
            "task": result._task.get_name(),
            "action": result._task.action,
            # Of a node that is changed, in the module's option.
            "parts": result._task.args.get("parts"),
            "outcome": outcome,
            "changed": bool(values.get("changed")),
            "changes": values.get("changes"),
            # What a comparison would have changed.
            "drift": {name: one["changes"] for name, one in (values.get("concerns") or {}).items()},
            "message": values.get("msg"),
            "at": round(time.time(), 1),
        }
        if outcome == "failed":
            line["output"] = [values.get(name) for name in ("stdout", "stderr")]
        self._write(line)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._write({"tasks": self._started})

    def v2_runner_on_ok(self, result: Any) -> None:
        self._record(result, "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._record(result, "ignored" if ignore_errors else "failed")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._record(result, "unreachable")

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._record(result, "skipped")
