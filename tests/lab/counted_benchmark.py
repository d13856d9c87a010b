# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whether the exporters of both nodes say of the benchmark's pods what the benchmark says.

    python3 counted_benchmark.py < asked.json

Standard input is JSON. ``runs`` is that of benchmark.json, all of them WRITE and of one pair of pods. ``pods`` maps
each of its nodes to its pod, and ``pages`` each moment to the page of metrics of each node: ``before`` the pods,
``held`` when all was transferred and both still have their NICs, and ``after`` them. Pages are of Soft-RoCE, which
counts bytes with the headers of each packet.

The answer is JSON: by pod what was compared, and ``wrong``, what does not agree, in lines.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from guest import exported
from guest.exported import Series

# Bytes of a packet that are no data: UDP, BTH and ICRC with IPv4, and at most IPv6 and RETH (InfiniBand specification,
# annex A17). How many packets there are is not known beforehand: over two NICs UCX sends three for 8 KiB, the last
# almost empty.
LEAST = 20 + 8 + 12 + 4
HEADERS = 40 + 8 + 12 + 16 + 4
# Of what was transferred, for the packets that set the connections up.
SHARE = 0.02
# With an answer that does not come, a requester sends again what was not acknowledged
# (drivers/infiniband/sw/rxe/rxe_comp.c): at most the block, since one follows the other.
_AGAIN = "rdma_port_hw_completer_retry_err_total"
_LABEL = re.compile(r'([a-z_]+)="([^"]*)"')
# Those that have to be known of a port that a pod has by a claim.
_KNOWN = ("namespace", "claim", "rail")


@dataclass(frozen=True)
class Compared:
    """What is known of a pod's traffic, in bytes; ``counted`` is by device.

    They came in so many ``packets``, and at most ``again`` were sent again. ``left`` is what the pod has left.
    """

    pod: str
    held: Sequence[Mapping[str, str]]
    said: int
    counted: Mapping[str, int]
    packets: int
    again: int
    left: Sequence[str]

    def wrong(self, devices: Sequence[str]) -> list[str]:
        """``devices`` are those over which the benchmark says that its data went."""
        found = []
        having = [labels["device"] for labels in self.held]
        if not set(devices) <= set(having):
            found.append(f"has {having}, but the data went over {devices}")
        for labels in self.held:
            if labels["how"] != "netns" or not all(labels[name] for name in _KNOWN):
                found.append(f"is not known to have {labels['device']} by its claim: {labels}")
        counted = sum(self.counted.values())
        fewest, most = (counted - self.packets * size for size in (HEADERS, LEAST))
        if most < self.said or fewest > self.said * (1 + SHARE) + self.again:
            of_which = f"with the headers of {self.packets} packets, and {self.again} at most were sent again"
            found.append(f"has transferred {self.said} bytes, but {self.counted} were counted, {of_which}")
        found += [f"has ended, and is still told of: {line}" for line in self.left]
        return [f"{self.pod} {text}" for text in found]


def grown(counter: str, device: str, before: Series, held: Series) -> int:
    """By how much a counter of this HCA has grown.

    One that is smaller has begun at 0: Soft-RoCE is made again where its netdev has moved to. An HCA moves as it is.
    """
    earlier, now = (int(page.get((counter, exported.port(device)), 0)) for page in (before, held))
    return now - earlier if now >= earlier else now


def compared(
    runs: Sequence[Mapping[str, Any]], pods: Mapping[str, str], pages: Mapping[str, Mapping[str, str]]
) -> list[Compared]:
    """The initiator first, whose node sends what the other one receives."""
    initiator, target = runs[0]["initiator"]["node"], runs[0]["target"]["node"]
    said = sum(run["bytes"] * (run["warmup"] + run["iterations"]) for run in runs)
    series = {moment: {node: exported.series(page) for node, page in of.items()} for moment, of in pages.items()}
    found, again = [], 0
    for node, counter, direction in ((initiator, "sent", "transmitted"), (target, "rcvd", "received")):
        before, held = series["before"][node], series["held"][node]
        having = [dict(_LABEL.findall(labels)) for labels in exported.holders(held, pods[node])]
        devices = [labels["device"] for labels in having]
        packets = sum(grown(f"rdma_port_hw_{counter}_pkts_total", device, before, held) for device in devices)
        metric = f"rdma_port_data_{direction}_bytes_total"
        if node == initiator:
            repeats = sum(grown(_AGAIN, device, before, held) for device in devices)
            again = repeats * max(run["bytes"] for run in runs)
        found.append(
            Compared(
                pod=pods[node],
                held=having,
                said=said,
                counted={device: grown(metric, device, before, held) for device in devices},
                packets=packets,
                again=again,
                left=[line for line in pages["after"][node].splitlines() if f'pod="{pods[node]}"' in line],
            )
        )
    return found


def main() -> None:
    """Compare what standard input has and print the answer."""
    asked = json.load(sys.stdin)
    runs = asked["runs"]
    if not runs or any(run["operation"] != "WRITE" for run in runs):
        sys.exit(f"there must be transfers, all of them WRITE: {runs}")
    found = compared(runs, asked["pods"], asked["pages"])
    wrong = [text for each in found for text in each.wrong(runs[0]["devices"])]
    print(json.dumps({"pods": [asdict(each) for each in found], "wrong": wrong}))


if __name__ == "__main__":
    main()
