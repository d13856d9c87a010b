# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Facts as JSON: all fields of the model, and nothing that a reader refuses."""

from __future__ import annotations

import json
from dataclasses import asdict

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import (
    MOST_CHARACTERS,
    Gid,
    Hca,
    PciFunction,
    Port,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.write import plain


def test_every_field_is_written_in_order() -> None:
    hca = Hca(
        "mlx5_0",
        pci=PciFunction("0000:17:00.0", "15b3", "1021", "020700", pcie_path=["0000:16:00.0"]),
        ports=[Port(1, rate_gbps=400.0, lid=0, gids=[Gid(0, "fe80::1")], error_counters={"symbol_error": 3})],
    )
    assert json.dumps(plain(hca)) == json.dumps(asdict(hca))


def test_texts_are_no_longer_than_a_reader_takes() -> None:
    long = "x" * 100000
    written = plain({"a": [long, 1, None], "b": {"c": long}, "d": Gid(0, long)})
    assert len(written["a"][0]) == len(written["b"]["c"]) == len(written["d"]["gid"]) == MOST_CHARACTERS
    assert written["a"][1:] == [1, None]
