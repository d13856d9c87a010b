# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Where the boxes and lines of a topology drawing go, in units of the SVG. One drawing for each NUMA node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Sequence, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.topology import (
    DrawnDevice,
    NumaNode,
    Root,
    Switch,
)

# Narrow enough for a telephone: three columns are 392 units wide, text of 12 units stays legible.
_WIDTHS = {"root": 84, "switch": 62, "device": 212}
_GAP, _MARGIN = 16, 2
_HEIGHT, _SPACE, _LINE = 40, 8, 14
# A name and a model together, in characters.
_LONGEST = 28
# Characters of a line below them.
_LINE_LONGEST = 32


@dataclass
class Box:
    """``kind`` is ``root``, ``switch``, ``gpu`` or ``hca``; texts are a name, one after it and two below it.

    ``lines`` go below these, with whether all is well.
    """

    kind: str
    x: int
    y: int
    width: int
    height: int
    name: str
    after: str = ""
    left: str = ""
    right: str = ""
    lines: List[Tuple[str, bool]] = field(default_factory=list)

    @property
    def middle(self) -> int:
        return self.y + self.height // 2


@dataclass
class Drawing:
    """``lines`` are the corner points of each connection."""

    title: str
    width: int = 0
    height: int = 0
    boxes: List[Box] = field(default_factory=list)
    lines: List[List[Tuple[int, int]]] = field(default_factory=list)


def _depth(below: Sequence[Union[Switch, DrawnDevice]]) -> int:
    return max([1 + _depth(switch.below) for switch in below if isinstance(switch, Switch)], default=0)


def _short(text: str) -> str:
    return text if len(text) <= _LINE_LONGEST else text[: _LINE_LONGEST - 1] + "\u2026"


def _lines(device: DrawnDevice) -> List[Tuple[str, bool]]:
    """Two for each port: state and rate, netdev and address."""
    found = []
    for port in device.ports:
        number = f"{port.name.split('/')[-1]}: " if len(device.ports) > 1 else ""
        found.append((_short(f"{number}{port.link}"), port.up))
        found.append((_short(f"{port.netdev} {port.addresses}".strip()), True))
    return found


class _Pen:
    """Puts rows below each other, from the first device to the last."""

    def __init__(self, drawing: Drawing, depth: int) -> None:
        self.drawing = drawing
        self.devices_at = self.column(depth + 1)
        self.y = _MARGIN

    def column(self, level: int) -> int:
        if level == 0:
            return _MARGIN
        return _MARGIN + _WIDTHS["root"] + _GAP + (level - 1) * (_WIDTHS["switch"] + _GAP)

    def device(self, device: DrawnDevice) -> Box:
        room = max(0, _LONGEST - len(device.name))
        model = device.model if len(device.model) <= room else device.model[:room] + "\u2026"
        lines = _lines(device)
        place = (self.devices_at, self.y, _WIDTHS["device"], _HEIGHT + _LINE * len(lines))
        box = Box(device.kind, *place, device.name, model, device.address, device.near, lines)
        self.y += box.height + _SPACE
        self.drawing.boxes.append(box)
        return box

    def parent(self, bridge: Union[Root, Switch], level: int) -> Box:
        """A root complex or switch in the middle of what is below it, with lines to all of that."""
        below = [
            self.device(each) if isinstance(each, DrawnDevice) else self.parent(each, level + 1)
            for each in bridge.below
        ]
        kind, name = ("root", bridge.name) if isinstance(bridge, Root) else ("switch", "switch")
        middle = (below[0].middle + below[-1].middle - _HEIGHT) // 2
        left = "root complex" if isinstance(bridge, Root) else bridge.address.split(":", 1)[-1]
        box = Box(kind, self.column(level), middle, _WIDTHS[kind], _HEIGHT, name, left=left)
        self.drawing.boxes.append(box)
        start = (box.x + box.width, box.middle)
        for each in below:
            end = (each.x, each.middle)
            bend = start[0] + _GAP // 2
            self.drawing.lines.append([start, (bend, start[1]), (bend, end[1]), end])
        return box


def draw(node: NumaNode) -> Drawing:
    """The drawing of one NUMA node."""
    drawing = Drawing("NUMA node unknown" if node.number is None else f"NUMA node {node.number}")
    pen = _Pen(drawing, max(_depth(root.below) for root in node.roots))
    for root in node.roots:
        pen.parent(root, 0)
    drawing.width = pen.devices_at + _WIDTHS["device"] + _MARGIN
    drawing.height = pen.y - _SPACE + _MARGIN
    return drawing
