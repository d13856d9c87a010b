# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which packages a node lacks, by what dpkg-query and rpm print."""

from __future__ import annotations

import os
from typing import Any, List, Optional, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import packages
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed

# As dpkg-query 1.21.22 prints it for the format asked for.
DPKG = "rdma-core 44.0-2 installed\nperftest 4.5+0.17-1 config-files\nlibibverbs1 44.0-2 installed\n"
INSTALLED = {"rdma-core", "rdma-core-57.0-2.el9"}
PROVIDED = {"infiniband-diags-compat"}


def dpkg(argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
    assert argv[0] == "dpkg-query"
    return Completed(1, DPKG, "dpkg-query: no packages found matching infiniband-diags\n")


def rpm(argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
    names = [word for word in argv[1:] if not word.startswith("--")]
    known = INSTALLED | (PROVIDED if "--whatprovides" in argv else set())
    return Completed(len(set(names) - known), "", "")


@pytest.fixture
def has(monkeypatch: pytest.MonkeyPatch) -> Any:
    def only(*paths: str) -> None:
        monkeypatch.setattr(os.path, "exists", lambda path: path in paths)

    return only


def names(wanted: List[str], runner: Any) -> List[str]:
    found = packages.compare(wanted, runner)
    assert (found["unknown"], found["warnings"]) == (False, [])
    return [change["name"] for change in found["changes"]]


def test_debian(has: Any) -> None:
    has(packages._APT, packages._RPM)
    wanted = ["rdma-core", "perftest", "infiniband-diags", "libibverbs1:amd64", "rdma-core=44.0-2", "rdma-core=45.0-1"]
    assert names(wanted, dpkg) == ["perftest", "infiniband-diags", "rdma-core=45.0-1"]
    assert names(["./local.deb"], dpkg) == ["./local.deb"]


def test_rpm(has: Any) -> None:
    has(packages._RPM)
    assert names(["rdma-core"], rpm) == []
    assert names(["rdma-core-57.0-2.el9", "perftest", "infiniband-diags-compat"], rpm) == ["perftest"]


def test_on_other_distributions_nothing_is_known_and_nothing_differs(has: Any) -> None:
    has()
    found = packages.compare(["rdma-core", "perftest"], rpm)
    assert (found["changed"], found["changes"], found["unknown"]) == (False, [], True)
    assert found["warnings"] == [
        "whether rdma-core, perftest are installed is unknown: this node has neither dpkg nor rpm"
    ]
    assert packages.compare([], rpm)["unknown"] is False
