# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Objects in the documents of manifests."""

from __future__ import annotations

from typing import Any, Iterator, List, NamedTuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import Kind, ObjectRef


class Slot(NamedTuple):
    """Where an object is: an entry of the documents or of the items of a List."""

    document: int
    holder: List[Any]
    place: int


def is_object(document: Any) -> bool:
    """Whether a document says which kind of object it is."""
    return bool(text(at(document, "apiVersion")) and text(at(document, "kind")))


def slots(documents: List[Any]) -> Iterator[Slot]:
    """Where the objects of documents are."""
    for number, document in enumerate(documents):
        if at(document, "kind") == "List" and isinstance(at(document, "items"), list):
            for place in range(len(document["items"])):
                yield Slot(number, document["items"], place)
        else:
            yield Slot(number, documents, number)


def ref_of(item: Any, namespace: str) -> ObjectRef:
    """What an object calls itself; ``namespace`` is its namespace if it names none."""
    group, slash, _version = text(at(item, "apiVersion")).rpartition("/")
    kind = Kind(group if slash else "", text(at(item, "kind")))
    return ObjectRef(kind, text(at(item, "metadata", "namespace")) or namespace, text(at(item, "metadata", "name")))


def name_of(item: Any) -> str:
    """Kind, namespace and name of an object, as notes have them."""
    return str(ref_of(item, "")) if is_object(item) else ""
