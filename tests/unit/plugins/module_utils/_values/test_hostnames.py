# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.host_file import host_file
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


HOSTILE = (
    "../x",
    "..",
    ".",
    ".x",
    "-x",
    "a/b",
    "a_b",
    "/etc/x",
    "a\0b",
    "",
    "x" * 300,
    "x" * 299,
    "a b",
    "a@b",
    "\udcff",
    "é",
)


def test_no_host_writes_anywhere_else_or_into_the_file_of_another(tmp_path: Path) -> None:
    names = [*HOSTILE, *(host_file(host) for host in HOSTILE), "h100-01", "H100.lab", "fd00::1"]
    files = {host: host_file(host) for host in names}
    assert len(set(files.values())) == len(files)
    for host, file in files.items():
        (tmp_path / f"{file}.json").write_text(host, "utf-8", "surrogatepass")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{file}.json" for file in files.values())
    assert [path for path in tmp_path.iterdir() if path.name[0] in ".-"] == []
    assert [files[host] for host in ("h100-01", "H100.lab", "fd00::1", "a_b")] == [
        "h100-01",
        "H100.lab",
        "fd00::1",
        "a_b",
    ]
