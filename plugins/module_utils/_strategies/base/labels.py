# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Nodes for which the order matters in which their label and the objects of a driver or device plugin change.

A pod starts as soon as its node has the label, with the configuration that the cluster has at that time.
"""

from __future__ import annotations

from typing import Collection, Dict, List, Mapping, Optional

Labels = Mapping[str, Mapping[str, Optional[str]]]


def joining(label: str, wanted: Labels, nodes: Mapping[str, Mapping[str, str]], live: Collection[str]) -> List[str]:
    """The nodes that get a value of the label for which the cluster has a configuration already.

    ``wanted`` is the label of each host, ``nodes`` are the labels that nodes have, ``live`` the values with a
    configuration.
    """
    return [
        host
        for host, own in wanted.items()
        if host in nodes and own[label] in live and nodes[host].get(label) != own[label]
    ]


def leaving(label: str, wanted: Labels, nodes: Mapping[str, Mapping[str, str]]) -> Dict[str, Dict[str, Optional[str]]]:
    """What takes the label from the nodes that have another value of it than is ``wanted``."""
    there = {node: own[label] for node, own in nodes.items() if label in own}
    return {host: {label: None} for host, own in wanted.items() if there.get(host, own[label]) != own[label]}
