# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Moves as the action plans them, for a cluster that has answered this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.zerocopy.rdma.plugins.modules import move_plan
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _moves
from ansible_collections.zerocopy.rdma.tests.unit.action_options import options, play

Hostvars = Mapping[str, Mapping[str, Any]]


def _cluster(**answered: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = {"nodes": {}, "plugins": [], "kinds": None, "daemon_sets": [], "objects": None}
    return {**nothing, "slices": [], "kubernetes": None, "device_classes": None, **answered}


def planned_move(hostvars: Hostvars, moving: Sequence[str] = (), **answered: Any) -> dict[str, Any]:
    """The plan to move these hosts."""
    chosen = options(move_plan, moving=list(moving))
    return _moves.plan(_moves.fleet(play(hostvars), chosen), chosen, _cluster(**answered))


def move_objects(hostvars: Hostvars, now: Sequence[str], **answered: Any) -> dict[str, Any]:
    """What these hosts get, which have left their old strategy."""
    chosen = options(move_plan, now=list(now))
    return _moves.objects(_moves.fleet(play(hostvars), chosen), chosen, _cluster(**answered))
