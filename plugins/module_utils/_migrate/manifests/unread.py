# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Signs of RDMA anywhere in a document, whatever it is: no document that asks for RDMA is passed over in silence.

Custom resources have pods in places of their own, charts have values, and patches and ConfigMaps have texts.
"""

from __future__ import annotations

import re
from typing import Any, Collection, Iterable, Iterator, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import (
    Names,
    is_gpu,
    is_rdma,
    may_be_gpu,
    may_be_rdma,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import (
    at,
    entries,
    strings,
    table,
    text,
    texts,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import is_object
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import findings, pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.catalogue import printable
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

# The way to a value in those of a chart: names of people's own, with dots between that names of resources escape.
_WAY = r"(?:[A-Za-z0-9_-]|\[[0-9]{1,3}\]|\\?\.)"
_RESOURCE = re.compile(rf"{_WAY}+/[A-Za-z0-9._-]+")
_REQUESTED = re.compile(r"(?:\A|\.)(?:limits|requests)\.")
# What becomes a number or a word later: ${N}, $(N), {{ n }}, <n>, %n%.
_LATER = r"(?:\$|\{\{|<|%)"
_IS_LATER = re.compile(rf"\s*{_LATER}")
# In a text: values of a chart, JSON, an option of helm (which escapes dots), with a number after it.
_IN_TEXT = re.compile(
    rf"(?<![\w./\\~\]-])({_WAY}{{1,253}}/[A-Za-z0-9._-]{{1,63}})[\"']?\s*[:=]\s*[\"']?(?=[1-9]|{_LATER})"
)
_ON_HOST = re.compile(rf"\bhostNetwork[\"']?\s*[:=]\s*[\"']?(?:true\b|{_LATER})")
# In the path of a JSON Patch.
_IN_PATH = re.compile(r"/([a-z0-9.-]{1,253}~1[A-Za-z0-9._-]{1,63})")
# With a value as people write it: an HCA, an index, a transport. A script has names of its own there.
_VARIABLE = re.compile(
    r"(?<![A-Z0-9_])([A-Z][A-Z0-9_]{2,60})[\"']?\s*[:=]\s*[\"']?"
    r"([=^]?(?:mlx|ib|roce|bnxt|irdma|efa|erdma|ionic|hns|hfi|qedr|rdma|rxe|siw|[0-9]|rc|dc|ud)[\w.:,/-]*)"
)
# HCAs as kernel and rdma-core name them, several with commas, each with its port; and what says that one is meant.
_NAME = (
    r"(?:mlx[45]_(?:bond_)?[0-9]+|bnxt_re(?:_bond)?[0-9]+|irdma[0-9]+|ionic_[0-9]+|erdma_[0-9]+|hns_[0-9]+|hfi1_[0-9]+"
    r"|qedr[0-9]+|(?:roce|ib|rdma)(?:p[0-9]+)+s[0-9]+[a-z0-9]*)"
)
_HCAS = re.compile(rf"{_NAME}(?::[0-9]+)?(?:,\s*{_NAME}(?::[0-9]+)?)*")
_HCA = re.compile(rf"(?<![\w.-]){_NAME}\b")
_GIVEN = re.compile(
    r"(?:(?:dev|hca|nic|rail|net|ib)[\w-]{0,40}|(?<![\w-])-d|_include)\\?[\"']?(?:\s{0,9}[:=]\s{0,9}|\s{1,9})\\?[\[\"']{0,2}\Z",
    re.IGNORECASE,
)
_BEFORE = 80
# A domain has at most 253 characters, and each of its dots may be escaped.
_LONGEST = 400
_DEVICES = re.compile(r"(?:\A|\bpath[\"']?\s{0,9}[:=]\s{0,9}[\"']?)(/(?:dev|sys/class)/infiniband)(?![\w-])")
# Variables that say RDMA without an HCA (Mooncake's store, KServe's scripts), and settings of transports.
_SAYING = {"MOONCAKE_PROTOCOL": "rdma", "KSERVE_INFER_ROCE": "true", "protocol": "rdma"}
_PROTOCOL = re.compile(r"\b(MOONCAKE_PROTOCOL|protocol)\\?[\"']?\s{0,9}[:=]\s{0,9}\\?[\"']?rdma\b")
# Annotations of pods by which networks, interfaces and devices are chosen, with a word that says which.
_CHOOSING = re.compile(r"cdi\.k8s\.io/.*|[^/]+/.*(?:network|interface|rdma).*")
_WORD = re.compile(r"(?<![a-z])(?:rdma|roce|infiniband|hca|ib(?:sriov)?(?![a-z]))", re.IGNORECASE)
# Values that SOPS has encrypted.
_ENCRYPTED = "ENC["
# What charts and operators call GPUs in numbers of their own.
_GPUS = re.compile(r"(?:num|number|n)?[_-]?gpus?[_-]?(?:count|num|number|per[_-]?[a-z]+)?", re.IGNORECASE)
# Their values are names of other things, or text for people.
_NO_SIGN = ("apiVersion", "image")
_NO_KIND = ("CustomResourceDefinition", "ResourceSlice", "Node")
# Their pods have annotations of the object itself.
_OF_PODS = ("Pod", "InferenceService", "LLMInferenceService")
# Switches of charts and custom resources. Operators of drivers have the same, and no workloads.
_SWITCH = re.compile(
    r"(?:enable|use|with)?[_-]?(?:rdma|roce|infiniband|gpu_?direct_?rdma)[_-]?(?:enabled)?", re.IGNORECASE
)
_NO_SWITCH = ("ClusterPolicy", "NicClusterPolicy", "SriovOperatorConfig", "GPUCluster", "NVIDIADriver")
# Dynamo has those that are not well known in a map of their own.
_REQUESTS = ("limits", "requests", "custom")
_NOTHING = (None, False, "", 0, "0")
_SHOWN = 3


def signs(document: Any, site: Names, without: Collection[int] = ()) -> List[str]:
    """What in a document asks for RDMA, in its words. The metadata of the object itself is about the object.

    ``without`` are the ids of maps in it that are not to be looked at.
    """
    if at(document, "kind") in _NO_KIND:
        return []
    body = document
    if is_object(document):
        body = {key: value for key, value in document.items() if key != "metadata"}
    if at(document, "kind") in _OF_PODS and id(at(document, "metadata")) not in without:
        body = {**body, "annotations": at(document, "metadata", "annotations")}
    values = list(everything(body, without))
    found = [sign for value in values for sign in _of(value, site)]
    if not found:
        found = _with_gpus(values, site)
    if at(document, "kind") not in _NO_SWITCH:
        found += [f"{name}: true" for value in values for name in _switches(value)]
    every = list(dict.fromkeys(found))
    # An HCA that is in what another sign says is no further one.
    return [sign for sign in every if not (_HCAS.fullmatch(sign) and any(sign in other for other in {*every} - {sign}))]


def _switches(value: Any) -> Iterator[str]:
    for name, entry in table(value).items():
        on = at(entry, "enabled") if isinstance(entry, dict) else entry
        if (on is True or on == "true") and isinstance(name, str) and _SWITCH.fullmatch(name):
            yield name


def _with_gpus(values: Sequence[Any], site: Names) -> List[str]:
    """What is no sign alone, and one beside GPUs: the host's network, and how else a container gets at HCAs.

    With claims of its own, a pod may be locked in memory and privileged for what it has claimed.
    """
    devices = [name for value in values for name in _beside(value, site)]
    if not devices:
        return []
    if any(_on_host(value) for value in values):
        return [f"hostNetwork with {devices[0]}"]
    reaching = [name for value in values for name in _reaching(value)]
    return [f"{reaching[0]} with {devices[0]}"] if reaching and "claims" not in devices else []


def _reaching(value: Any) -> Iterator[str]:
    """How a container gets at all HCAs of its node, or is made for their memory."""
    if not isinstance(value, dict):
        return
    if "IPC_LOCK" in texts(value.get("add")):
        yield "IPC_LOCK"
    if value.get("privileged") is True:
        yield "privileged"
    if at(value, "hostPath", "path") in ("/dev", "/dev/"):
        yield "hostPath /dev"


def _on_host(value: Any) -> bool:
    """Whether it puts pods on the host's network, or may do so when it is rendered."""
    if isinstance(value, str):
        return _ON_HOST.search(value) is not None
    on = at(value, "hostNetwork")
    # An entry of parameters, as of helm.
    last = text(at(value, "name")).rpartition(".")[2]
    on = at(value, "value") if on is None and last == "hostNetwork" else on
    return on is True or (isinstance(on, str) and (on == "true" or _IS_LATER.match(on) is not None))


def _beside(value: Any, site: Names) -> Iterator[str]:
    """What on the host's network is a sign: GPUs, or claims of devices."""
    if isinstance(value, dict):
        yield from (name for name in _numbered(value) if is_gpu(name, site) or _GPUS.fullmatch(name))
        yield from ["claims"] if entries(value.get("resourceClaims")) else ()
        yield from _all_gpus(text(value.get(findings.VISIBLE_GPUS)))
        for part in _REQUESTS:
            yield from (str(name) for name in table(value.get(part)) if may_be_gpu(str(name), site))
    elif isinstance(value, list):
        for entry in entries(value):
            name = text(entry.get("name"))
            yield from (
                [name] if _is_number(entry.get("value")) and any(is_gpu(end, site) for end in _ends(name)) else ()
            )
            yield from _all_gpus(text(entry.get("value")) if name == findings.VISIBLE_GPUS else "")
    elif isinstance(value, str):
        yield from (name for name in _IN_TEXT.findall(value) if any(is_gpu(end, site) for end in _ends(name)))


def patches_gpus(document: Any, site: Names) -> bool:
    """Whether it has a JSON Patch of a request for GPUs."""
    pointed = (name for value in everything(document) if isinstance(value, str) for name in _IN_PATH.findall(value))
    return any(is_gpu(name.replace("~1", "/"), site) for name in pointed)


def told(found: Sequence[str]) -> str:
    """A few signs, for people."""
    return joined(found, _SHOWN)


def everything(value: Any, without: Collection[int] = ()) -> Iterator[Any]:
    """It and all that is in it, in order, except the maps with these ids."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if id(value) in without:
            continue
        yield value
        if isinstance(value, dict):
            waiting += reversed([entry for name, entry in value.items() if name not in _NO_SIGN])
        elif isinstance(value, list):
            waiting += reversed(value)


def _all_gpus(value: str) -> List[str]:
    """A privileged container has GPUs without a request for them."""
    return [f"{findings.VISIBLE_GPUS}={value}"] if findings.sees_gpus(value) else []


def _is_number(value: Any) -> bool:
    written = text(value).strip()
    if written.startswith(_ENCRYPTED) or _IS_LATER.match(written):
        return True
    return written[:1].isdigit() and written != "0"


def _numbered(value: Any) -> List[str]:
    """The keys of a map that have a number."""
    return [str(name) for name, entry in table(value).items() if _is_number(entry)]


def _of(value: Any, site: Names) -> Iterator[str]:
    if isinstance(value, dict):
        for name in _numbered(value):
            if _is_rdma(name, site):
                number = text(value.get(name))
                yield f"{name}: {number}" if number.isdigit() else name
        for part in _REQUESTS:
            # Whatever a pipeline puts in the place of a word.
            for name, entry in table(value.get(part)).items():
                word = not _is_number(entry) and _is_rdma(str(name), site)
                if entry not in _NOTHING and (word or may_be_rdma(str(name), site)):
                    yield f"{name}: {printable(entry)}"
        for name, entry in strings(value).items():
            if findings.is_ours(name) or (_CHOOSING.fullmatch(name) and _WORD.search(entry)):
                yield f"{name}: {printable(' '.join(entry.split()))}"
        yield from _variables(strings(value))
        yield from _hcas(text(entry) for entry in value.values())
    elif isinstance(value, list):
        named = [(text(entry.get("name")), entry.get("value")) for entry in entries(value)]
        yield from _variables({name: text(entry) for name, entry in named})
        yield from (name for name, entry in named if "/" in name and _is_number(entry) and _is_rdma(name, site))
        yield from _hcas(text(entry) for _name, entry in named)
        yield from _variables(pods.options(" ".join(texts(value))))
        yield from _hcas(texts(value))
    elif isinstance(value, str):
        yield from _of_text(value, site)


def _is_rdma(name: str, site: Names) -> bool:
    return any(is_rdma(end, site) for end in _ends(name))


def _ends(name: str) -> List[str]:
    """It, and what is behind its dots: quotas have a word before it, options of helm a path, whose dots are escaped."""
    way, slash, last = name.partition("/")
    if not slash:
        return [name]
    # Whatever somebody writes before the domain of a resource; of that, the first step may be cut.
    steps = re.split(r"(?<!\\)\.", way[-_LONGEST:])
    if len(way) > _LONGEST:
        del steps[0]
    return [".".join(steps[place:]).replace("\\", "") + slash + last for place in range(len(steps))]


def _variables(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if findings.by_hand({name: value}) or _SAYING.get(name) == value.lower():
            yield f"{name}={value}"


def _hcas(values: Iterable[str]) -> Iterator[str]:
    yield from (value for value in values if _HCAS.fullmatch(value))


def _of_text(value: str, site: Names) -> Iterator[str]:
    if _RESOURCE.fullmatch(value):
        path = "\\" in value or _REQUESTED.search(value)
        if is_rdma(value, site) or (path and _is_rdma(value, site)):
            yield value
        return
    yield from dict.fromkeys(_DEVICES.findall(value))
    for name in dict.fromkeys(_IN_TEXT.findall(value)):
        if any(is_rdma(end, site) or may_be_rdma(end, site) for end in _ends(name)):
            yield name
    pointed = (name.replace("~1", "/") for name in dict.fromkeys(_IN_PATH.findall(value)))
    yield from (name for name in pointed if is_rdma(name, site))
    yield from (f"{name}=rdma" for name in dict.fromkeys(_PROTOCOL.findall(value)))
    variables = {**dict(_VARIABLE.findall(value)), **pods.options(value)}
    yield from _variables(variables)
    known = "".join(variables.values())
    for found in _HCA.finditer(value):
        if found[0] not in known and _GIVEN.search(value, max(0, found.start() - _BEFORE), found.start()):
            yield found[0]
