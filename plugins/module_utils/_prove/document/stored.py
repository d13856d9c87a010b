# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document of a benchmark as it is written to benchmark.json, and read from there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read as facts_read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import (
    KINDS,
    QUANTILES,
    VERDICTS,
    VERSION,
    BenchmarkDocument,
)

# A byte in the longest time that a log may have.
_LEAST_GB_S = 1e-15


class BenchmarkDocumentError(ValueError):
    """The data is not a document of this version."""


def plain(whole: BenchmarkDocument) -> Dict[str, Any]:
    """The document as the dictionary that is written as JSON."""
    return {"version": VERSION, **asdict(whole)}


def read(value: Any) -> BenchmarkDocument:
    """The document from its dictionary. Raises BenchmarkDocumentError."""
    version = value.get("version") if isinstance(value, Mapping) else None
    if version != VERSION:
        raise BenchmarkDocumentError(f"version is {version!r}, it must be {VERSION}")
    try:
        found = facts_read.typed(BenchmarkDocument, value)
    except facts_read.FactsError as error:
        raise BenchmarkDocumentError(str(error)) from None
    for index, run in enumerate(found.runs):
        times = run.quantiles_seconds
        if len(times) != QUANTILES or times != sorted(times) or times[0] <= 0:
            raise BenchmarkDocumentError(f"runs[{index}].quantiles_seconds must be {QUANTILES} ascending times")
    for index, line in enumerate(found.summary):
        if line.kind not in KINDS or line.verdict not in VERDICTS:
            raise BenchmarkDocumentError(f"summary[{index}] is of an unknown kind or verdict")
        if line.bytes < 1 or min(line.min_gb_s, line.mean_gb_s, line.max_gb_s) < _LEAST_GB_S:
            raise BenchmarkDocumentError(f"summary[{index}] has a size or bandwidth that is not above 0")
    return found
