# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The options of the modules that try what they are asked to; what they do is in the tests of their library."""

from __future__ import annotations

from typing import Any, Callable, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.modules import rdma_bandwidth, rdma_reachability

Run = Callable[..., Dict[str, Any]]
RUN = {"name": "rail0", "test": "write_bw", "hca": "none0", "iterations": 20}


@pytest.mark.parametrize(
    ("state", "run", "message"),
    [
        ("client", RUN, "runs: 'rail0' has address None, it must have one with state client only"),
        ("server", {**RUN, "address": "10.0.0.1"}, "has address '10.0.0.1', it must have one with state client only"),
        ("loopback", {**RUN, "address": "10.0.0.1"}, "has address '10.0.0.1', it must have one with state client only"),
        ("server", {**RUN, "test": "bw"}, "value of test must be one of: write_bw, read_bw"),
    ],
)
def test_a_run_that_cannot_be_is_refused(run_module: Run, state: str, run: Dict[str, Any], message: str) -> None:
    result = run_module(rdma_bandwidth, state=state, runs=[run])
    assert result["failed"] is True
    assert message in result["msg"]


def test_check_mode_is_no_load(run_module: Run) -> None:
    assert run_module(rdma_bandwidth, state="server", runs=[RUN], _ansible_check_mode=True)["skipped"] is True


def test_nothing_to_do_is_done(run_module: Run) -> None:
    assert run_module(rdma_bandwidth, state="client", runs=[])["results"] == []
    result = run_module(rdma_reachability, _ansible_check_mode=True)
    assert (result["changed"], result["pings"], result["addresses"]) == (False, [], [])
