# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Moves as the action ``plan`` plans them, for a cluster that has answered this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _fleet, _moves
from ansible_collections.zerocopy.rdma.tests.unit.action_options import play

Hostvars = Mapping[str, Mapping[str, Any]]


def _cluster(**answered: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = {"nodes": {}, "plugins": [], "kinds": None, "daemon_sets": [], "objects": None}
    return {**nothing, "slices": [], "kubernetes": None, "device_classes": None, **answered}


def planned_move(hostvars: Hostvars, moving: Sequence[str] = (), **answered: Any) -> dict[str, Any]:
    """The plan to move these hosts."""
    cluster = _cluster(**answered)
    return _moves.plan(_fleet.fleet(play(hostvars)), moving, 1, lambda _module, _question: cluster).result


def move_objects(hostvars: Hostvars, now: Sequence[str], **answered: Any) -> dict[str, Any]:
    """What these hosts get, which have left their old strategy."""
    return asdict(_moves.objects(_fleet.fleet(play(hostvars)), now, _cluster(**answered)))
