# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Signs of RDMA anywhere in a document, whatever it is: no document that asks for RDMA is passed over in silence.

Custom resources have pods in places of their own, charts have values, and patches and ConfigMaps have texts.
"""

from __future__ import annotations

import re
from typing import Any, Iterator, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names, is_gpu, is_rdma
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, strings, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import is_object
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

_RESOURCE = re.compile(r"(?:[a-z0-9-]|\\?\.)+/[A-Za-z0-9._-]+")
# In a text: values of a chart, JSON, an option of helm (which escapes dots), with a number after it.
_IN_TEXT = re.compile(
    r"(?<![\w./\\~-])((?:[a-z0-9-]|\\?\.){1,253}/[A-Za-z0-9._-]{1,63})[\"']?\s*[:=]\s*[\"']?(?=[1-9])"
)
# In the path of a JSON Patch.
_IN_PATH = re.compile(r"/([a-z0-9.-]{1,253}~1[A-Za-z0-9._-]{1,63})")
# With a value as people write it: an HCA, an index, a transport. A script has names of its own there.
_VARIABLE = re.compile(
    r"(?<![A-Z0-9_])([A-Z][A-Z0-9_]{2,60})[\"']?\s*[:=]\s*[\"']?"
    r"([=^]?(?:mlx|ib|roce|bnxt|irdma|efa|erdma|ionic|hns|hfi|qedr|rdma|rxe|siw|[0-9]|rc|dc|ud)[\w.:,/-]*)"
)
_DEVICES = re.compile(r"(?:\A|\bpath[\"']?\s{0,9}[:=]\s{0,9}[\"']?)/dev/infiniband(?![\w-])")
# Values that SOPS has encrypted.
_ENCRYPTED = "ENC["
# Their values are names of other things, or text for people.
_NO_SIGN = ("apiVersion", "image")
_NO_KIND = ("CustomResourceDefinition",)
_SHOWN = 3


def signs(document: Any, site: Names) -> List[str]:
    """What in a document asks for RDMA, in its words. The metadata of the object itself is about the object."""
    if at(document, "kind") in _NO_KIND:
        return []
    body = {key: value for key, value in document.items() if key != "metadata"} if is_object(document) else document
    values = list(everything(body))
    found = [sign for value in values for sign in _of(value, site)]
    if not found:
        gpus = [name for value in values for name in _numbered(value) if is_gpu(name, site)]
        on_host = any(at(value, "hostNetwork") is True for value in values)
        found = [f"hostNetwork with {gpus[0]}"] if gpus and on_host else []
    return list(dict.fromkeys(found))


def patches_gpus(document: Any, site: Names) -> bool:
    """Whether it has a JSON Patch of a request for GPUs."""
    pointed = (name for value in everything(document) if isinstance(value, str) for name in _IN_PATH.findall(value))
    return any(is_gpu(name.replace("~1", "/"), site) for name in pointed)


def told(found: Sequence[str]) -> str:
    """A few signs, for people."""
    return joined(found, _SHOWN)


def everything(value: Any) -> Iterator[Any]:
    """It and all that is in it, in order."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, dict):
            waiting += reversed([entry for name, entry in value.items() if name not in _NO_SIGN])
        elif isinstance(value, list):
            waiting += reversed(value)


def _is_number(value: Any) -> bool:
    written = text(value)
    return written.startswith(_ENCRYPTED) or (written[:1].isdigit() and written != "0")


def _numbered(value: Any) -> List[str]:
    """The keys of a map that have a number."""
    return [str(name) for name, entry in table(value).items() if _is_number(entry)]


def _of(value: Any, site: Names) -> Iterator[str]:
    if isinstance(value, dict):
        for name in _numbered(value):
            if _is_rdma(name, site):
                number = text(value.get(name))
                yield f"{name}: {number}" if number.isdigit() else name
        yield from _variables(strings(value))
    elif isinstance(value, list):
        yield from _variables({text(entry.get("name")): text(entry.get("value")) for entry in entries(value)})
    elif isinstance(value, str):
        yield from _of_text(value, site)


def _is_rdma(name: str, site: Names) -> bool:
    """Also behind dots: quotas have a word before it, options of helm a path, in which dots of names are escaped."""
    steps = re.split(r"(?<!\\)\.", name)
    ends = (".".join(steps[place:]).replace("\\", "") for place in range(len(steps)))
    return any(is_rdma(end, site) for end in ends)


def _variables(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if findings.by_hand({name: value}):
            yield f"{name}={value}"


def _of_text(value: str, site: Names) -> Iterator[str]:
    if _RESOURCE.fullmatch(value):
        if is_rdma(value, site) or ("\\" in value and _is_rdma(value, site)):
            yield value
        return
    if _DEVICES.search(value):
        yield "/dev/infiniband"
    yield from (name for name in dict.fromkeys(_IN_TEXT.findall(value)) if _is_rdma(name, site))
    pointed = (name.replace("~1", "/") for name in dict.fromkeys(_IN_PATH.findall(value)))
    yield from (name for name in pointed if is_rdma(name, site))
    yield from _variables(dict(_VARIABLE.findall(value)))
