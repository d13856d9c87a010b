# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A fleet of H100 nodes filled with pods: how many GPUs get a NIC of their best path class.

Three ways to hand out the same devices to the same pods:

* claims as planned with ``align: auto``, allocated by the real scheduler;
* claims that only count (``align: none``), allocated by the real scheduler;
* a choice at random, as of two device plugins that know nothing of each other: computed here, not run.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import ClaimPlan
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Fleet, from_template, placed_on
from ansible_collections.zerocopy.rdma.tests.cluster.claims_paths import Paths
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import plan, published, template

Facts = Callable[..., Dict[str, Any]]
NODES = 20
SEED = 20260101


class Wave(NamedTuple):
    """Pods of one size; ``None`` of them are as many as there are NICs for."""

    gpus: int
    nics: int
    pods: Optional[int] = None


# The largest come first, or there would be no room for them.
KINDS = {
    # A NIC for each GPU. No GPU shares a root complex with a NIC, so the best path class is NODE. If all pods had as
    # many NICs as GPUs, counting would do, since both are handed out in order: so some have a NIC only.
    "h100-01": ("numa", [Wave(0, 1, 4), Wave(8, 8, 4), Wave(4, 4, 8), Wave(2, 2, 16), Wave(1, 1)]),
    # A NIC for two GPUs, and four GPUs and two NICs on each root complex: PHB. A pod with one GPU has a NIC for itself.
    "h100-03": ("pcie_root", [Wave(8, 4, 5), Wave(4, 2, 10), Wave(2, 1, 20), Wave(1, 1)]),
}


class Tally:
    """GPUs handed out together with NICs, and those of them that got one of their best path class."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.pods = self.gpus = self.served = 0
        # NICs that are left, by NUMA node.
        self.left = {number: count * NODES for number, count in Counter(map(paths.numa_nodes.get, paths.nics)).items()}

    def add(self, devices: Iterable[str]) -> None:
        """Count a pod with these devices."""
        names = list(devices)
        gpus = [name for name in names if name in self.paths.gpus]
        nics = [name for name in names if name in self.paths.nics]
        self.pods += 1
        self.gpus += len(gpus)
        self.served += self.paths.served(gpus, nics)
        for name in nics:
            self.left[self.paths.numa_nodes[name]] -= 1

    def counts(self, wave: Wave, templates: int) -> List[int]:
        """How many pods of a wave each template gets, one for each NUMA node or one for all."""
        left = sorted(self.left.items())
        if wave.pods is None:
            return [count for _kind, count in left] if templates > 1 else [sum(self.left.values())]
        return [wave.pods // templates] * templates

    def __str__(self) -> str:
        return f"{self.served:3} of {self.gpus} GPUs, {100 * self.served / self.gpus:5.1f} %"


def filled(fleet: Fleet, facts: Dict[str, Any], waves: Sequence[Wave], align: str) -> Tuple[Tally, ClaimPlan]:
    """Let the scheduler fill the fleet with pods of these templates."""
    wanted = [
        template(f"of-{wave.gpus}", gpus=wave.gpus, nics=wave.nics, align=align if wave.gpus else "none")
        for wave in waves
    ]
    found = plan({"node": facts}, *wanted, rdma_claims_namespaces=[fleet.namespace])
    assert found.problems == []
    fleet.create(found.objects)
    devices = published(facts)
    fleet.nodes([one for number in range(NODES) for one in placed_on(devices, f"node-{number}")])
    tally = Tally(Paths(facts, devices))
    for wave in waves:
        names = found.names[f"of-{wave.gpus}"]
        counts = zip(names, tally.counts(wave, len(names)))
        pods = [from_template(f"{name}-{number}", name) for name, count in counts for number in range(count)]
        for placed in fleet.pods(pods).values():
            tally.add(device for part in placed.devices.values() for device in part)
    return tally, found


def dealt(facts: Dict[str, Any], waves: Sequence[Wave]) -> Tally:
    """The same pods, with devices chosen at random on a node that has enough of them."""
    chance = random.Random(SEED)
    paths = Paths(facts, published(facts))
    free = [(list(paths.gpus), list(paths.nics)) for _node in range(NODES)]
    tally = Tally(paths)
    for wave in waves:
        for _pod in range(*tally.counts(wave, 1)):
            gpus, nics = chance.choice([one for one in free if len(one[0]) >= wave.gpus and len(one[1]) >= wave.nics])
            taken = chance.sample(gpus, wave.gpus) + chance.sample(nics, wave.nics)
            gpus[:] = [name for name in gpus if name not in taken]
            nics[:] = [name for name in nics if name not in taken]
            tally.add(taken)
    return tally


def show(capsys: pytest.CaptureFixture[str], node: str, how: str, tally: Tally, seconds: float) -> None:
    with capsys.disabled():
        found = f"{tally} with a NIC of their best path class; {tally.pods} pods in {seconds:.0f} s"
        print(f"\n{NODES} x {node}, {how:25} {found}", end="")


@pytest.mark.parametrize("align", ["auto", "none"])
@pytest.mark.parametrize("node", KINDS)
def test_claims_allocated_by_the_scheduler(
    fleet: Fleet,
    facts_of: Facts,
    capsys: pytest.CaptureFixture[str],
    node: str,
    align: str,
) -> None:
    chosen, waves = KINDS[node]
    start = time.monotonic()
    tally, found = filled(fleet, facts_of(node), waves, align)
    show(capsys, node, f"align: {align} ({chosen if align == 'auto' else 'counts'})", tally, time.monotonic() - start)
    assert set(tally.left.values()) == {0}
    if align == "auto":
        assert found.text.count(f" (group), align={chosen}: ") == sum(wave.gpus > 0 for wave in waves)
        assert tally.served == tally.gpus
    else:
        assert found.text.count(" (group), align=none: ") == len(waves)
        assert tally.served < tally.gpus


@pytest.mark.parametrize("node", KINDS)
def test_a_random_choice_computed(facts_of: Facts, capsys: pytest.CaptureFixture[str], node: str) -> None:
    start = time.monotonic()
    tally = dealt(facts_of(node), KINDS[node][1])
    show(capsys, node, "random choice, computed", tally, time.monotonic() - start)
    assert set(tally.left.values()) == {0}
    assert tally.served < tally.gpus
