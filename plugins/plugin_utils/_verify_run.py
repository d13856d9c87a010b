# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What one verify plans and finds, as files that only the user can read, in a directory of the run.

As variables of all hosts they would be looked through for templates again for each host and task.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible import constants
from ansible.errors import AnsibleActionFail

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import BenchmarkDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import RingResult
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _files, _plan_files

_BENCHMARK = "benchmark"

now = time.time


def _path(run: str, name: str) -> str:
    return os.path.join(run, f"{name}.json")


def _read(run: str, name: str) -> Any:
    """What is kept by this name, ``None`` if nothing is."""
    return json.loads(_files.content(_path(run, name)) or "null")


def begin(benchmark: Optional[str]) -> str:
    """The new directory of a run, with the benchmark's document in this file. Raises AnsibleActionFail."""
    run = tempfile.mkdtemp(prefix="rdma-verify-", dir=constants.DEFAULT_LOCAL_TMP)
    if benchmark:
        path = _files.path(benchmark)
        try:
            with open(path, encoding="utf-8") as file:
                value = json.load(file)
            verify.benchmark(value)
        except (OSError, ValueError) as error:
            raise AnsibleActionFail(f"rdma_verify_benchmark is {path}: {error}") from error
        keep(run, _BENCHMARK, value)
    return run


def keep(run: str, name: str, value: Any) -> None:
    _plan_files.write_file(_path(run, name), value)


def kept(run: str, name: str) -> Any:
    """What :func:`keep` has kept."""
    return _read(run, name)


def write_tests(run: str, tests: Mapping[str, Mapping[str, Any]]) -> None:
    """The tests of each host."""
    for host, own in tests.items():
        _plan_files.write_file(_plan_files.path_of(run, host), own)


def tests(run: str, host: str) -> Dict[str, Any]:
    """The tests of one host."""
    found: Dict[str, Any] = json.loads(_files.content(_plan_files.path_of(run, host)))
    return found


def results(run: str, rings: Sequence[str]) -> List[RingResult]:
    """What these rings have found, as far as they were run."""
    found = [value for value in (_read(run, ring) for ring in rings) if value]
    return [
        RingResult(list(map(verify.check, each["checks"])), list(map(verify.measurement, each["bandwidth"])))
        for each in found
    ]


def benchmark(run: str) -> Optional[BenchmarkDocument]:
    return verify.benchmark(_read(run, _BENCHMARK))
