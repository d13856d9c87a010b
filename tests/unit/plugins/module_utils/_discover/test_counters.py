# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree

DAY = 86400.0


@pytest.mark.parametrize(
    ("counted", "seconds", "expected"),
    [
        pytest.param({"symbol_error": 10 * 7200}, 7200.0, [], id="as many as normal"),
        pytest.param({"symbol_error": 10 * 7200 + 1}, 7200.0, ["symbol_error"], id="more than 10 a second"),
        pytest.param({"symbol_error": 30000}, 60.0, [], id="errors while the link trains at boot"),
        pytest.param({"link_error_recovery": 301}, 3600.0, ["link_error_recovery"], id="more than 5 a minute"),
        pytest.param({"port_rcv_errors": 36001, "port_xmit_discards": 1}, 3600.0, ["port_rcv_errors"], id="one of two"),
        pytest.param({"port_xmit_discards": 360001}, 3600.0, ["port_xmit_discards"], id="more than 100 a second"),
        pytest.param({"local_ack_timeout_err": 3601}, 3600.0, ["local_ack_timeout_err"], id="more than 1 a second"),
        pytest.param({"link_downed": 10}, 10 * DAY, [], id="down once a day"),
        pytest.param({"link_downed": 11}, 10 * DAY, ["link_downed"], id="down more than once a day"),
        pytest.param({"link_downed": 2}, 60.0, ["link_downed"], id="down twice in a minute"),
        pytest.param({"excessive_buffer_overrun_errors": 1}, DAY, ["excessive_buffer_overrun_errors"], id="never"),
        pytest.param({"local_link_integrity_errors": 1}, None, ["local_link_integrity_errors"], id="no time needed"),
        pytest.param({"symbol_error": 10**9, "link_downed": 99}, None, [], id="no time, no rate"),
        pytest.param({"out_of_sequence": 10**9}, DAY, [], id="no threshold"),
    ],
)
def test_thresholds(counted: Dict[str, int], seconds: Optional[float], expected: List[str]) -> None:
    assert [fault.counter for fault in counters.faults(counted, seconds)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("864000.12 1728000.00\n", 864000.0), ("", None), ("soon\n", None), ("\u0664\n", None), ("9" * 400 + "\n", None)],
)
def test_uptime(tmp_path: Path, text: str, expected: Optional[float]) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/uptime").write_text(text)
    assert counters.uptime(Tree(str(tmp_path))) == expected
