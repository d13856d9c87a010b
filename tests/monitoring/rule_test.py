# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the real promtool makes of the rules and of series that a test gives it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import rules
from ansible_collections.zerocopy.rdma.tests.monitoring.programs import promtool


def evaluated(
    scratch: Path,
    series: Sequence[Mapping[str, str]],
    expected: Mapping[str, Sequence[Any]],
    names: Sequence[str],
    at: str,
    step: int,
) -> str:
    """What promtool has against these alerts being the only ones of these ``names``; empty if nothing.

    ``step`` is the time in seconds between two values of the ``series``.
    """
    assert set(expected) <= set(names)
    (scratch / "rules.yml").write_text(rules.prometheus())
    tests = [
        {"eval_time": at, "alertname": name, "exp_alerts": expected.get(name, [])} for name in dict.fromkeys(names)
    ]
    content = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": f"{step}s",
        "tests": [{"interval": f"{step}s", "input_series": list(series), "alert_rule_test": tests}],
    }
    # YAML has all of JSON.
    (scratch / "test.yml").write_text(json.dumps(content))
    done = promtool("test", "rules", "test.yml", cwd=scratch)
    return "" if done.returncode == 0 else done.stdout + done.stderr
