# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a host's variables say about claims, checked as far as they can be by themselves."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import LAYER
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import (
    configuration,
    daemon_options,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import (
    Claim,
    ClaimIntent,
    GpuPick,
    NicPick,
    Template,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import (
    parameters as dranet_parameters,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler import allocate
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import versions as drivers_versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names as rules
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci, quantity
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, checked, wrong

# FirstAvailableDeviceRequestMaxSize, CELSelectorExpressionMaxLength and OpaqueParametersMaxLength of the API.
_MOST_ALTERNATIVES, LONGEST_EXPRESSION, LONGEST_PARAMETERS = 8, 10240, 10240


def picks(at: str, given: Mapping[str, Any], make: Any) -> Tuple[Tuple[Any, ...], List[Problem]]:
    """The alternatives of ``gpu`` or ``nic``, each of the class ``make``, and what is wrong with them."""
    problems: List[Problem] = []
    alternatives = given.get("first_available")
    if alternatives is None:
        entries = [(at, given)]
    else:
        entries = [(f"{at}.first_available[{place}]", alternative) for place, alternative in enumerate(alternatives)]
        if len(given) > 1:
            others = ", ".join(sorted(set(given) - {"first_available"}))
            problems.append(Problem(at, f"has first_available together with {others}: put these into its entries"))
        if not 1 < len(entries) <= _MOST_ALTERNATIVES:
            text = f"has {len(entries)} entries, it must have 2 to {_MOST_ALTERNATIVES}"
            problems.append(Problem(f"{at}.first_available", text))
    found = []
    for where, given in entries:
        values = {name: value for name, value in given.items() if name != "first_available"}
        values["selectors"] = tuple(values.get("selectors") or ())
        for place, text in enumerate(values["selectors"]):
            problems += _of_selector(f"{where}.selectors[{place}]", text)
        size = values.get("min_memory")
        if size is not None and (quantity.quantity(size) or 0) <= 0:
            problems.append(wrong(f"{where}.min_memory", size, "it must be a quantity like 80G or 40Gi"))
        rate = values.get("min_rate")
        if rate is not None and rate <= 0:
            problems.append(wrong(f"{where}.min_rate", rate, "it must be more than 0 Gb/s"))
        found.append(make(**values))
    return tuple(found), problems


def _of_selector(at: str, text: str) -> Iterator[Problem]:
    if not text.strip():
        yield wrong(at, text, "it must be a CEL expression")
    elif len(text.encode()) > LONGEST_EXPRESSION:
        yield Problem(at, f"is {len(text.encode())} bytes long, the API takes at most {LONGEST_EXPRESSION}")


def dranet_parameters_of(
    at: str, entry: Mapping[str, Any], dranet: drivers_versions.Numbers
) -> Tuple[Dict[str, Any], List[Problem]]:
    """DRANET's parameters with what has a variable of its own put in."""
    given = entry.get("parameters") or {}
    problems = list(dranet_parameters.problems(f"{at}.parameters", given, dranet))
    if problems:
        return {}, problems
    interface = dict(given.get("interface") or {})
    for name, value in (("mtu", entry.get("mtu")), ("addresses", entry.get("address") and [entry["address"]])):
        if value is None:
            continue
        variable = "address" if name == "addresses" else name
        for key in ("addresses", "dhcp") if name == "addresses" else (name,):
            if interface.get(key):
                right = f"but {at}.parameters.interface.{key} is set as well: only one of them can be used"
                problems.append(wrong(f"{at}.{variable}", entry[variable], right))
        interface[name] = value
    if entry.get("mtu") is not None:
        problems += dranet_parameters.of_mtu(f"{at}.mtu", entry["mtu"])
    merged = {**given, "interface": interface} if interface else dict(given)
    size = len(json.dumps(merged).encode())
    if size > LONGEST_PARAMETERS:
        problems.append(Problem(f"{at}.parameters", f"are {size} bytes of JSON, the API takes {LONGEST_PARAMETERS}"))
    return merged, problems


NAMESPACES, TEMPLATES, CLAIMS = "rdma_claims_namespaces", "rdma_claims_templates", "rdma_claims_claims"
RESOURCES = "rdma_claims_extended_resources"
NIC_CLASS, GPU_CLASS = "rdma_claims_nic_class", "rdma_claims_gpu_class"
# Of the role that deploys the driver: what it publishes.
MOVE_IB, EXCLUDE = "rdma_driver_move_ib_interfaces", "rdma_driver_exclude"
VARIABLES = (
    NAMESPACES,
    TEMPLATES,
    CLAIMS,
    RESOURCES,
    NIC_CLASS,
    GPU_CLASS,
    MOVE_IB,
    EXCLUDE,
    daemon_options.ATTRIBUTES,
    daemon_options.ENABLED,
    LAYER,
    drivers_versions.DRANET_VERSION,
    drivers_versions.GPU_VERSION,
)

# Room for the suffixes of variants and of content hashes in a label of 63 characters.
_LONGEST_NAME = 50


def _of_name(at: str, name: str, seen: Dict[str, str]) -> Iterator[Problem]:
    if not rules.is_label(name, _LONGEST_NAME):
        right = f"it must be at most {_LONGEST_NAME} lower-case letters, digits and hyphens, no hyphen at either end"
        yield wrong(f"{at}.name", name, right)
    elif name in seen:
        yield wrong(f"{at}.name", name, f"which {seen[name]} also has: names must differ")
    seen.setdefault(name, at)


def _of_rails(at: str, entry: Mapping[str, Any], nics: str, published: bool) -> Iterator[Problem]:
    rails = entry["rails"]
    if not published:
        right = (
            f"but DRANET publishes no rails here: set {daemon_options.ATTRIBUTES} to true, with"
            f" {daemon_options.ENABLED}, or ask for nics instead"
        )
        yield wrong(f"{at}.rails", rails, right)
    elif not rails:
        yield wrong(f"{at}.rails", rails, "it must name at least one rail, or be left out")
    for place, rail in enumerate(rails):
        if not 0 <= rail <= configuration.MOST_RAIL:
            yield wrong(f"{at}.rails[{place}]", rail, f"it must be 0 to {configuration.MOST_RAIL}")
        elif rail in rails[:place]:
            yield wrong(f"{at}.rails[{place}]", rail, "which is listed twice: a pod gets one NIC of each rail")
    if nics not in ("0", str(len(rails))):
        yield wrong(f"{at}.nics", nics, f"but {at}.rails are {len(rails)}, one NIC of each: leave nics out")


def _of_many_pods(template: Template) -> Iterator[Problem]:
    interface = template.parameters.get("interface") or {}
    at = f"{template.at}.parameters.interface"
    for name in ("addresses", "hardwareAddr"):
        if interface.get(name):
            right = f"but every pod of the template would get the same: use {CLAIMS}, or leave it out to use the host's"
            yield wrong(f"{at}.{name}", interface[name], right)
    if interface.get("name") and template.nics != 1:
        right = f"but a pod gets {template.nics or 'all'} NICs, which cannot all have this name: leave it out"
        yield wrong(f"{at}.name", interface["name"], right)


def _of_numbers(template: Template) -> Iterator[Problem]:
    at, most = template.at, allocate.MOST_RESULTS
    if template.gpus < 0:
        yield wrong(f"{at}.gpus", template.gpus, "it must be at least 0")
    elif template.gpus == 0 and template.nics == 0:
        yield Problem(at, "requests neither gpus nor nics: at least one of them is required")
    elif template.gpus + (template.nics or 0) > most:
        asked = f"{template.gpus} gpus and {template.nics if template.nics is not None else 'all'} nics"
        yield Problem(at, f"requests {asked}: a claim can have at most {most} devices")
    both = template.gpus > 0 and template.nics != 0
    if template.align not in ("auto", "none") and (not both or template.nics is None):
        right = "which needs a number of both gpus and nics: it must be auto or none here"
        yield wrong(f"{at}.align", template.align, right)


def _template(
    at: str, entry: Mapping[str, Any], dranet: drivers_versions.Numbers, layer: Optional[str], published: bool = False
) -> Tuple[Template, List[Problem]]:
    problems: List[Problem] = []
    text = str(entry.get("nics", "0"))
    rails: Tuple[int, ...] = ()
    if entry.get("rails") is not None:
        problems += _of_rails(at, entry, text, published)
        rails, text = tuple(entry["rails"]), str(len(entry["rails"]))
    elif text != "all" and not re.fullmatch("[0-9]{1,4}", text):
        problems.append(wrong(f"{at}.nics", text, "it must be a number from 0, or all"))
        text = "1"
    gpu, wrong_gpu = picks(f"{at}.gpu", entry.get("gpu") or {}, GpuPick)
    nic, wrong_nic = picks(f"{at}.nic", entry.get("nic") or {}, NicPick)
    parameters, wrong_parameters = dranet_parameters_of(at, entry, dranet)
    template = Template(
        at=at,
        name=entry["name"],
        gpus=entry.get("gpus", 0),
        nics=None if text == "all" else int(text),
        rails=rails,
        align=entry.get("align", "auto"),
        gpu=gpu,
        # NICs of the other link layer may belong to a storage network.
        nic=tuple(replace(pick, link_layer=pick.link_layer or layer) for pick in nic),
        parameters=parameters,
    )
    problems += wrong_gpu + wrong_nic + wrong_parameters
    for count, names in ((template.gpus, ("gpu",)), (template.nics, ("nic", "mtu", "parameters"))):
        for name in names:
            if count == 0 and entry.get(name):
                problems.append(wrong(f"{at}.{name}", entry[name], f"but {at} requests no {names[0]}s: leave it out"))
    # One complaint about an entry is enough to have it looked at again.
    problems = problems or [*_of_numbers(template), *_of_many_pods(template)]
    return template, problems


def _resource(
    at: str, entry: Mapping[str, Any], dranet: drivers_versions.Numbers, layer: Optional[str]
) -> Tuple[Template, List[Problem]]:
    template, problems = _template(at, {**entry, "nics": "1"}, dranet, layer)
    name = (template.parameters.get("interface") or {}).get("name")
    if name:
        right = "but a pod may request several NICs, which cannot all have this name: leave it out"
        problems.append(wrong(f"{at}.parameters.interface.name", name, right))
    return replace(template, resource=template.name, align="none"), problems


def class_of(nic_class: str, resource: str) -> str:
    """Name of the class of an extended resource: ``zerocopy-rdma-nic.rdma-hca-shared`` for ``rdma/hca_shared``."""
    return f"{nic_class}.{re.sub('[^a-z0-9]+', '-', resource.lower())}"


def _of_resource_name(at: str, name: str, nic_class: str, seen: Dict[str, str]) -> Iterator[Problem]:
    if not rules.is_extended_resource(name):
        yield wrong(f"{at}.name", name, "it must be an extended resource, like rdma/hca_shared_devices_a")
        return
    made = class_of(nic_class, name)
    if not rules.is_subdomain(made):
        yield wrong(f"{at}.name", name, f"whose DeviceClass would have the name {made}, which is too long")
    elif made in seen:
        yield wrong(f"{at}.name", name, f"whose DeviceClass {made} is also that of {seen[made]}: names must differ")
    seen.setdefault(made, at)


def _claim(at: str, entry: Mapping[str, Any], dranet: drivers_versions.Numbers) -> Tuple[Claim, List[Problem]]:
    problems: List[Problem] = []
    named = [name for name in ("rail", "hca", "pci") if entry.get(name) is not None]
    if len(named) > 1:
        problems.append(Problem(at, f"names its NIC by {' and '.join(named)}: only one of them can be used"))
    if entry.get("rail", 0) < 0:
        problems.append(wrong(f"{at}.rail", entry["rail"], "it must be at least 0"))
    parameters, wrong_parameters = dranet_parameters_of(at, entry, dranet)
    claim = Claim(
        at,
        entry["name"],
        entry.get("host"),
        entry.get("rail"),
        entry.get("hca"),
        entry.get("pci"),
        parameters,
        f"{at}.parameters.interface" if entry.get("address") is None else f"{at}.address",
    )
    problems += wrong_parameters
    for text in claim.addresses:
        try:
            addresses.interface(claim.address_at, text)
        except PlanError as error:
            problems.append(error.problem)
    return claim, problems


def _of_namespaces(names: Sequence[str]) -> Iterator[Problem]:
    if not names:
        yield Problem(NAMESPACES, "is empty: name at least one namespace")
    for place, name in enumerate(names):
        at = f"{NAMESPACES}[{place}]"
        if not rules.is_label(name):
            yield wrong(at, name, "it must be the name of a namespace: lower-case letters, digits and hyphens")
        elif name in names[:place]:
            yield wrong(at, name, "which is listed twice")


def _of_classes(values: Mapping[str, Any]) -> Iterator[Problem]:
    for name in (NIC_CLASS, GPU_CLASS):
        if not rules.is_subdomain(values[name]):
            yield wrong(name, values[name], "it must be the name of a DeviceClass, like rdma-nic or gpu.nvidia.com")
    if values[NIC_CLASS] == values[GPU_CLASS]:
        yield wrong(NIC_CLASS, values[NIC_CLASS], f"the same as {GPU_CLASS}: NICs need a class of their own")


def intent(values: Mapping[str, Any]) -> Tuple[Optional[ClaimIntent], List[Problem]]:
    """A host's intent from its converted variables with their defaults, or everything that is wrong with them."""
    problems: List[Problem] = []
    versions = []
    for name, parse in (
        (drivers_versions.DRANET_VERSION, drivers_versions.dranet),
        (drivers_versions.GPU_VERSION, drivers_versions.gpu),
    ):
        try:
            versions.append(parse(values[name]))
        except PlanError as error:
            problems.append(error.problem)
    problems += [*_of_namespaces(values[NAMESPACES]), *_of_classes(values)]
    exclude = []
    for address in values[EXCLUDE]:
        try:
            exclude.append(checked(EXCLUDE, address, pci.address))
        except PlanError as error:
            problems.append(error.problem)
    if len(versions) < 2:
        return None, problems
    dranet, gpu = versions
    templates: List[Template] = []
    claims: List[Claim] = []
    warnings = [
        warning
        for name in (TEMPLATES, CLAIMS, RESOURCES)
        for place, entry in enumerate(values[name])
        for warning in dranet_parameters.warnings(f"{name}[{place}].parameters", entry.get("parameters") or {}, dranet)
    ]
    seen: Dict[str, str] = {}
    for place, entry in enumerate(values[TEMPLATES]):
        at = f"{TEMPLATES}[{place}]"
        template, own = _template(at, entry, dranet, values.get(LAYER), daemon_options.wanted(values))
        problems += [*_of_name(at, entry["name"], seen), *own]
        templates.append(template)
    seen = {}
    for place, entry in enumerate(values[RESOURCES]):
        at = f"{RESOURCES}[{place}]"
        template, own = _resource(at, entry, dranet, values.get(LAYER))
        problems += [*_of_resource_name(at, entry["name"], values[NIC_CLASS], seen), *own]
        templates.append(template)
    seen = {}
    for place, entry in enumerate(values[CLAIMS]):
        at = f"{CLAIMS}[{place}]"
        claim, own = _claim(at, entry, dranet)
        problems += [*_of_name(at, entry["name"], seen), *own]
        claims.append(claim)
    if problems:
        return None, problems
    wanted = ClaimIntent(
        templates,
        claims,
        tuple(values[NAMESPACES]),
        values[NIC_CLASS],
        values[GPU_CLASS],
        dranet,
        gpu,
        values[MOVE_IB],
        tuple(exclude),
        tuple(warnings),
    )
    return wanted, []
