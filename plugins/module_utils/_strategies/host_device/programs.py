# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The programs of this strategy: the device plugin, Multus and whereabouts, with the variables that each image has."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import image_reference
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.image_reference import ImageVariables
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import network_operator
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device import cni
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.cni import CniProgram
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import directory
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, checked, wrong

PREFIX = "rdma_host_device_"
PROVIDER = PREFIX + "provider"
CONFIGURATIONS, PROGRAMS = PREFIX + "cni_config", PREFIX + "cni_bin"
PULL_SECRETS, UNAVAILABLE = PREFIX + "pull_secrets", PREFIX + "max_unavailable"


def _variables(program: str) -> ImageVariables:
    own = PREFIX + program
    return ImageVariables(own + "image", own + "version", own + "digest", own + "archive")


PLUGIN, MULTUS, WHEREABOUTS = _variables(""), _variables("multus_"), _variables("whereabouts_")
# Those that a site may have already, with the variable that says whether it is to be deployed.
_Make = Callable[[str, CniProgram], List[Dict[str, Any]]]
_MULTUS_DEPLOY = PREFIX + "multus_deploy"
_OF_CNI: Tuple[Tuple[str, ImageVariables, _Make, str], ...] = (
    (_MULTUS_DEPLOY, MULTUS, cni.multus, cni.MULTUS),
    (PREFIX + "whereabouts_deploy", WHEREABOUTS, cni.whereabouts, cni.WHEREABOUTS),
)
# Variables with one value for the whole fleet: there is one Multus and one whereabouts.
FLEET_WIDE = (
    PROGRAMS,
    CONFIGURATIONS,
    UNAVAILABLE,
    PULL_SECRETS,
    *(name for deploy, image, _objects, _name in _OF_CNI for name in (deploy, *astuple(image))),
)


def operated(values: Mapping[str, Any]) -> bool:
    """Whether the Network Operator runs the device plugin and Multus."""
    return bool(values[PROVIDER] == network_operator.NETWORK_OPERATOR)


def multus_component(values: Mapping[str, Any], known: plan_variables.Options) -> Dict[str, Any]:
    """What of the operator's policy makes it run Multus, if it is to be deployed. Raises PlanError."""
    if not (operated(values) and values[_MULTUS_DEPLOY]):
        return {}
    own = network_operator.component(reference(MULTUS, values, known), values[PULL_SECRETS])
    return {"secondaryNetwork": {"multus": own}}


def images(values: Mapping[str, Any]) -> List[ImageVariables]:
    """The images that a node needs of us."""
    plugin = [] if values[PROVIDER] == "sriov_operator" else [PLUGIN]
    return [*plugin, *(image for deploy, image, _objects, _name in _OF_CNI if values[deploy])]


def daemon_sets(values: Mapping[str, Any]) -> List[str]:
    """The DaemonSets that run beside the plugin."""
    return [name for _image, _objects, name in _ours(values)]


def _ours(values: Mapping[str, Any]) -> Iterator[Tuple[ImageVariables, _Make, str]]:
    """Those that run as our own DaemonSets."""
    for deploy, image, make, name in _OF_CNI:
        if values[deploy] and not (operated(values) and image is MULTUS):
            yield image, make, name


def imported(image: ImageVariables, values: Mapping[str, Any]) -> bool:
    """Whether the image is on the nodes and nowhere else."""
    return bool(values[image.archive])


def reference(image: ImageVariables, values: Mapping[str, Any], known: plan_variables.Options) -> str:
    """The image as pods name it. Raises PlanError."""
    if operated(values):
        network_operator.check_image(image.image, values[image.image])
    if values[image.version].endswith("-thick"):
        right = "which is the thick plugin of Multus: it must be the thin plugin, such as 4.2.2"
        raise PlanError(wrong(image.version, values[image.version], right))
    return image_reference.reference(image, values, known)


def objects(
    namespace: str, values: Mapping[str, Any], known: plan_variables.Options, defined: bool = False
) -> List[Dict[str, Any]]:
    """What puts NICs into pods, as far as it is to be deployed. Raises PlanError.

    With ``defined`` somebody else brings the definition of NetworkAttachmentDefinitions.
    """
    configurations = checked(CONFIGURATIONS, values[CONFIGURATIONS], directory.below_root)
    binaries = checked(PROGRAMS, values[PROGRAMS], directory.below_root)
    found: List[Dict[str, Any]] = []
    for image, make, _name in _ours(values):
        own = CniProgram(
            image=reference(image, values, known),
            configurations=configurations,
            programs=binaries,
            imported=imported(image, values),
            pull_secrets=tuple(values[PULL_SECRETS]),
            max_unavailable=values[UNAVAILABLE],
        )
        made = make(namespace, own)
        if defined and image is MULTUS:
            made = [item for item in made if item["kind"] != "CustomResourceDefinition"]
        found += made
    return found
