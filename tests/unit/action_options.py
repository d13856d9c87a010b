# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What an action on the controller has: its options, and the variables of its task."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator


def play(hostvars: Mapping[str, Mapping[str, Any]], **variables: Any) -> dict[str, Any]:
    """The variables of a task on the first of these hosts."""
    names = list(hostvars)
    return {
        "hostvars": hostvars,
        "ansible_play_hosts_all": names,
        "inventory_hostname": names[0] if names else "localhost",
        **variables,
    }


def options(module: ModuleType, **given: Any) -> dict[str, Any]:
    """Options of the module with this documentation: those that are given, checked, and defaults."""
    checked = ArgumentSpecValidator(yaml.safe_load(module.DOCUMENTATION)["options"]).validate(given)
    assert not checked.error_messages
    found: dict[str, Any] = checked.validated_parameters
    return found
