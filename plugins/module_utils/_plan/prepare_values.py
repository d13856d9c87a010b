# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the variables of the kernel's and the runtime's role may be, beyond their types."""

from __future__ import annotations

import re
from typing import Any, Iterator, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong

NETNS_MODE = "rdma_kernel_netns_mode"
MODULES, OPTIONS, BLACKLIST = "rdma_kernel_modules", "rdma_kernel_options", "rdma_kernel_blacklist"
# Time to attach a NIC to a pod goes through these: containerd's own default of 2 s is already too short for some.
_TIMEOUTS = ("rdma_runtime_nri_request_timeout", "rdma_runtime_nri_registration_timeout")
_SHORTEST, _LONGEST = 1.0, 3600.0

_NAME = re.compile("^[A-Za-z0-9_-]+$")
_PARAMETER = re.compile("^[A-Za-z0-9_.-]+$")
_PARAMETER_VALUE = re.compile(r"^[^\"'\\#\r\n\0]+$")
_DURATION = re.compile(r"^(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|ms|s|m|h))+$")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(duration: str) -> Optional[float]:
    """A duration as Go's time.ParseDuration reads it (``1m30s``), in seconds; ``None`` if it is none."""
    if not _DURATION.match(duration):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(duration))


def _same_module(name: str) -> str:
    return name.replace("-", "_")


def _module_names(variable: str, names: List[str]) -> Iterator[Problem]:
    for position, name in enumerate(names):
        if not _NAME.match(name):
            right = "it must be the name of a kernel module, as lsmod shows it, one per entry"
            yield wrong(f"{variable}[{position}]", name, right)


def _options(options: Mapping[str, Any]) -> Iterator[Problem]:
    for module, parameters in options.items():
        if not _NAME.match(str(module)):
            yield Problem(OPTIONS, f"has the key {module!r}, it must be the name of a kernel module")
        elif not isinstance(parameters, Mapping):
            right = "it must be a map of the module's parameters to their values"
            yield wrong(f"{OPTIONS}.{module}", parameters, right)
        else:
            for name, value in parameters.items():
                if not _PARAMETER.match(str(name)):
                    yield Problem(f"{OPTIONS}.{module}", f"has the key {name!r}, it must be a parameter of the module")
                elif not isinstance(value, (str, int, float)) or not _PARAMETER_VALUE.match(str(value)):
                    right = "it must be a number or text without quotes, # and line breaks (an array is '1,2')"
                    yield wrong(f"{OPTIONS}.{module}.{name}", value, right)


def of_kernel(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a host's converted ``rdma_kernel_*`` variables."""
    modules, blacklist = values.get(MODULES) or [], values.get(BLACKLIST) or []
    yield from _module_names(MODULES, modules)
    yield from _module_names(BLACKLIST, blacklist)
    for name in blacklist:
        if _same_module(name) in map(_same_module, modules):
            yield Problem(BLACKLIST, f"has {name}, which {MODULES} loads: take it out of one of them")
    options = values.get(OPTIONS) or {}
    yield from _options(options)
    core = options.get("ib_core")
    if isinstance(core, Mapping) and "netns_mode" in core and values.get(NETNS_MODE) is not None:
        yield wrong(f"{OPTIONS}.ib_core.netns_mode", core["netns_mode"], f"but {NETNS_MODE} is for this: leave it out")


def _memlock(values: Mapping[str, Any], variable: str, unit: str, least: int) -> Iterator[Problem]:
    value = str(values.get(variable, ""))
    if value not in ("", "unlimited") and not (re.match("^[0-9]{1,18}$", value) and int(value) >= least):
        right = f"it must be unlimited, a number of {unit} from {least}, or '' for no change"
        yield wrong(variable, values[variable], right)


def of_runtime(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a host's converted ``rdma_runtime_*`` variables, and with limits of locked memory."""
    for variable in _TIMEOUTS:
        value = values.get(variable)
        if value is not None:
            found = seconds(value)
            if found is None:
                yield wrong(variable, value, "it must be a duration with its unit, like 30s or 1m30s")
            elif not _SHORTEST <= found <= _LONGEST:
                yield wrong(variable, value, "it must be 1s to 1h: a NIC takes seconds to attach to a pod")
    # 64 KiB is what a kernel without any setting allows.
    yield from _memlock(values, "rdma_runtime_memlock", "bytes", 65536)
    yield from _memlock(values, "rdma_kernel_user_memlock", "KiB", 64)
    for variable, least, most in (("rdma_runtime_await_plugins", 0, 3600), ("rdma_links_rollback_seconds", 10, 600)):
        value = values.get(variable)
        if value is not None and not least <= value <= most:
            yield wrong(variable, value, f"it must be {least} to {most} seconds")


def of_facts(values: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[Problem]:
    """What does not go with what the node has."""
    blacklist = {_same_module(name): name for name in values.get(BLACKLIST) or []}
    excluded = {
        (entry["hca"], entry["port"])
        for entry in facts.get("excluded", [])
        if any(reason["code"] not in ("port_down", "in_pod") for reason in entry["reasons"])
    }
    for hca in facts.get("hcas", []):
        name = blacklist.get(_same_module(hca["driver"] or ""))
        if name and any((hca["name"], port["number"]) not in excluded for port in hca["ports"]):
            yield Problem(BLACKLIST, f"has {name}, the driver of this node's {hca['name']}: take it out")
            return
