# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path
from typing import Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.system import nri
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree

# /proc/net/unix of a guest with containerd 2.1.9 (kernel 7.2).
HEADER = "Num       RefCount Protocol Flags    Type St Inode Path\n"
CONTAINERD = "0000000065e7b5a7: 00000002 00000000 00010000 0001 01  4229 /run/containerd/containerd.sock\n"
LISTENS = "0000000073bc65a0: 00000002 00000000 00010000 0001 01  4225 /var/run/nri/nri.sock\n"
CONNECTED = "00000000a55e9b06: 00000003 00000000 00000000 0001 03  4311 /var/run/nri/nri.sock\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEADER + CONTAINERD + LISTENS + CONNECTED, True),
        (HEADER + LISTENS.replace("/var/run", "/run"), True),
        (HEADER + CONTAINERD, False),
        (HEADER + CONNECTED, False),
        (HEADER + LISTENS.replace("/var/run/nri", "/elsewhere"), False),
        (HEADER + LISTENS.replace("00010000", "no-number"), False),
        (None, None),
    ],
)
def test_who_listens_on_the_socket_of_nri(tmp_path: Path, text: Optional[str], expected: Optional[bool]) -> None:
    if text is not None:
        (tmp_path / "proc/net").mkdir(parents=True)
        (tmp_path / "proc/net/unix").write_text(text)
    assert nri(Tree(str(tmp_path))) is expected
