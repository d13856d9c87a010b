# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The files for Prometheus and Grafana in docs/monitoring/, and the table of alerts; as a program, it writes them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_CHECKOUT / "build" / "collections"))

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import fleet, node, rules

_PAGE = _CHECKOUT / "docs" / "monitoring.md"
_TABLE = re.compile(r"(?m)^\| group \| alert \|.*\n(?:\|.*\n)+")


def files() -> dict[Path, str]:
    """The texts of the files by their paths."""
    made = {
        "zerocopy-rdma.rules.yml": rules.prometheus(),
        "zerocopy-rdma.prometheusrule.yml": rules.prometheus_rule(),
        "rdma-fleet.json": fleet.fleet(),
        "rdma-node.json": node.node(),
    }
    found = {_PAGE.parent / "monitoring" / name: text for name, text in made.items()}
    return {**found, _PAGE: _TABLE.sub(lambda _match: rules.table(), _PAGE.read_text(encoding="utf-8"))}


if __name__ == "__main__":
    for path, content in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
