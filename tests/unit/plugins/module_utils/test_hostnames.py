# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold, natural_key


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([], ""),
        (["login"], "login"),
        (["h100-1"], "h100-1"),
        (["h100-3", "h100-1", "h100-2"], "h100-[1-3]"),
        (["h100-01", "h100-02", "h100-04"], "h100-[01-02,04]"),
        (["n9", "n10"], "n9,n10"),
        (["r1n1.example", "r1n2.example", "r2n1.example"], "r1n[1-2].example,r2n1.example"),
        (["a1", "a1", "b"], "a1,b"),
    ],
)
def test_fold(hosts: list[str], expected: str) -> None:
    assert fold(hosts) == expected


def test_natural_order() -> None:
    assert sorted(["n10", "n9", "n"], key=natural_key) == ["n", "n9", "n10"]
