# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One line for each group: which questions that lead to a strategy its facts answer, and whether its strategy fits.

The questions are those of ``docs/choosing-a-strategy.md``. Question 3 is the cluster's, the others are the user's.
"""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.questions import Answers, answers
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.registry import of_host
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

TITLE = "Whether the strategies fit the facts (docs/choosing-a-strategy.md asks the other questions):"


def _range(numbers: Tuple[int, int], noun: str) -> str:
    least, most = numbers
    return counted(most, noun) if least == most else f"{least} to {counted(most, noun)}"


def _said(found: Answers) -> str:
    if found.nics[1] == 0:
        return f"A node has no usable NIC, and {_range(found.gpus, 'GPU')}"
    kind = " and ".join(sorted(found.layers)) or "unknown link layer"
    bonds = ", all of them RoCE LAGs over bonds" if found.bonds else ""
    vfs = f"The firmware of a NIC allows {_range(found.vfs, 'VF') if found.vfs[1] else 'no VFs'}"
    return f"A node has {_range(found.nics, 'NIC')} ({kind}{bonds}) and {_range(found.gpus, 'GPU')}. {vfs}"


def _line(hosts: Sequence[InventoryHost]) -> str:
    word, strategy = strategy_of(hosts[0].variables), of_host(hosts[0].variables)
    known = [host.facts for host in hosts if host.facts is not None]
    if strategy is None or not known:
        return f"{word}, no facts"
    found = answers(known)
    doubt = strategy.doubt(word, found)
    silent = [host.name for host in hosts if host.facts is None]
    without = f" There are no facts of {fold(silent)}." if silent else ""
    return f"{f'{word}, but {doubt}' if doubt else f'{word} fits'}. {_said(found)}.{without}"


def lines(hosts: Sequence[InventoryHost]) -> List[str]:
    """A title and a line for each group in the order of the hosts; nothing without hosts."""
    groups: Dict[str, List[InventoryHost]] = {}
    for host in hosts:
        groups.setdefault(host.group, []).append(host)
    return [TITLE, *(f"  {name}: {_line(members)}" for name, members in groups.items())] if groups else []
