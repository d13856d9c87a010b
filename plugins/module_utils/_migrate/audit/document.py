# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""An audit as JSON, and read back from it: from a file, or after it passed through Ansible."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Tuple, Type, TypeVar

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import Kind, ObjectRef
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import catalogue
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit.evaluate import Audit, Unseen, Workload
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.catalogue import FieldValue, Finding
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import ManifestOwner


def as_json(audit: Audit) -> Dict[str, Any]:
    """All of it, with codes, fields and texts."""
    return {
        "kubernetes": {"version": audit.kubernetes, "resource_api": audit.resource_api, "gates": audit.gates},
        "workloads": [_workload_json(workload) for workload in audit.workloads],
        "cluster": [_finding_json(finding) for finding in audit.cluster],
        "others": [_ref_json(ref) for ref in audit.others],
        "unseen": [{"what": unseen.what, "why": unseen.why} for unseen in audit.unseen],
        "advice": {code: catalogue.TEXTS[code].advice for code in sorted(_codes(audit))},
    }


def _codes(audit: Audit) -> List[str]:
    every = [*(finding for workload in audit.workloads for finding in workload.findings), *audit.cluster]
    return list({finding.code for finding in every})


def _ref_json(ref: ObjectRef) -> Dict[str, str]:
    return {"group": ref.kind.group, "kind": ref.kind.kind, "namespace": ref.namespace, "name": ref.name}


def _finding_json(finding: Finding) -> Dict[str, Any]:
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in finding.fields.items()}
    return {
        "code": finding.code,
        "level": catalogue.level(finding),
        "text": catalogue.text(finding),
        "fields": fields,
        "places": list(finding.places),
        "containers": list(finding.containers),
    }


def _workload_json(workload: Workload) -> Dict[str, Any]:
    return {
        **_ref_json(workload.ref),
        "level": catalogue.worst(workload.findings),
        "pods": workload.pods,
        "owners": [
            {"tool": owner.tool, "name": owner.name, "manager": owner.manager, "text": catalogue.owner_text(owner)}
            for owner in workload.owners
        ],
        "findings": [_finding_json(finding) for finding in workload.findings],
    }


_Kind = TypeVar("_Kind")


class SavedError(ValueError):
    """The input is not the result of an audit; the text says where."""


def _typed(values: Any, name: str, kind: Type[_Kind]) -> _Kind:
    found = values.get(name) if isinstance(values, dict) else None
    if not isinstance(found, kind):
        raise SavedError(f"{name} is missing, or of another type than workload_audit_info returns")
    return found


def _strings(values: Any, name: str) -> Tuple[str, ...]:
    return tuple(str(entry) for entry in _typed(values, name, list))


def _ref(values: Any) -> ObjectRef:
    group, kind, namespace, name = (str(_typed(values, part, str)) for part in ("group", "kind", "namespace", "name"))
    return ObjectRef(Kind(group, kind), namespace, name)


def _finding(values: Any) -> Finding:
    code = str(_typed(values, "code", str))
    if code not in catalogue.TEXTS:
        raise SavedError(f"{code!r} is not the code of a finding")
    fields: Dict[str, FieldValue] = {
        str(name): tuple(value) if isinstance(value, list) else value
        for name, value in _typed(values, "fields", dict).items()
    }
    found = Finding(code, fields, _strings(values, "places"), _strings(values, "containers"))
    try:
        catalogue.text(found)
    except (TypeError, ValueError) as error:
        raise SavedError(
            f"fields of {code} are {', '.join(fields) or 'empty'}, which are those of another code"
        ) from error
    return found


def _workload(values: Any) -> Workload:
    owners = tuple(
        ManifestOwner(*(str(_typed(owner, part, str)) for part in ("tool", "name", "manager")))
        for owner in _typed(values, "owners", list)
    )
    findings = [_finding(finding) for finding in _typed(values, "findings", list)]
    if not findings:
        raise SavedError("a workload has no findings")
    return Workload(_ref(values), owners, findings, _typed(values, "pods", int))


def read(values: Mapping[str, Any]) -> Audit:
    """What :func:`as_json` wrote. Raises SavedError."""
    kubernetes = _typed(values, "kubernetes", dict)
    return Audit(
        kubernetes=str(_typed(kubernetes, "version", str)),
        resource_api=str(_typed(kubernetes, "resource_api", str)),
        gates={str(name): on is True for name, on in _typed(kubernetes, "gates", dict).items()},
        workloads=[_workload(workload) for workload in _typed(values, "workloads", list)],
        cluster=[_finding(finding) for finding in _typed(values, "cluster", list)],
        others=[_ref(other) for other in _typed(values, "others", list)],
        unseen=[
            Unseen(str(_typed(entry, "what", str)), str(_typed(entry, "why", str)))
            for entry in _typed(values, "unseen", list)
        ],
    )
