# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the drivers of each host should publish, from its facts and variables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import (
    configuration,
    daemon_options,
    planned,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes.configuration import Devices
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import hosts as claims_hosts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import deployment
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import compare, model, predict
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.compare import Expected
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice

_ENABLED = "rdma_driver_enabled"


def _told(devices: Sequence[SliceDevice], said: Devices) -> List[SliceDevice]:
    """The devices with what DRANET is told of its NICs."""
    return [
        replace(device, attributes={**device.attributes, **configuration.published(said.get(device.pci or "", {}))})
        if device.driver == model.DRANET
        else device
        for device in devices
    ]


def _of_member(member: claims_hosts.ClaimMember, facts: Facts, known: variables.Options) -> Expected:
    wanted, values = member.wanted, member.values
    found = Expected(may_hide_nics=predict.may_hide_nics(facts))
    if values.get(_ENABLED, known[_ENABLED]["default"]):
        found.drivers.add(model.DRANET)
        found.left_out = predict.left_out(facts, wanted.exclude)
    # Where nobody claims them, GPUs may be those of a device plugin.
    if any(template.gpus for template in wanted.templates):
        found.drivers |= predict.gpu_drivers(facts)
    every = predict.predicted(member.host.name, facts, wanted.dranet, wanted.gpu, wanted.move_ib, wanted.exclude)
    if daemon_options.wanted(values):
        every = _told(every, planned.of_host(member.host.name, values, facts, member.host.leaf or ""))
    found.devices = [device for device in every if device.driver in found.drivers]
    if values.get(variables.WAIT, known[variables.WAIT]["default"]):
        # A driver that provision does not deploy was there before, so waiting for it is no use.
        deployed = {model.DRANET, *([model.GPU_DRIVER] if values.get(deployment.GPU_DEPLOY) else [])}
        found.wait = deployed & {device.driver for device in found.devices}
    return found


def expected(hosts: Sequence[InventoryHost]) -> Dict[str, Dict[str, Any]]:
    """By host what :func:`slices.compare.read` takes.

    There is nothing for a host without facts or with wrong variables, nor for one without a driver.
    """
    known = variables.options_of()
    members, _problems = claims_hosts.members(hosts, known)
    found = {}
    for member in members:
        if member.host.facts is not None:
            expected = _of_member(member, member.host.facts, known)
            if expected.drivers:
                found[member.host.name] = compare.written(expected)
    return found
