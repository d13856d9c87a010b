# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What perftest says: its JSON file where that is JSON, else the table on its standard output.

Formats: perftest, src/perftest_parameters.h (RESULT_FMT*, REPORT_FMT*). Runs on nodes: Python 3.8, standard library.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

BANDWIDTH = ("write_bw", "read_bw", "send_bw")
LATENCY = ("read_lat", "write_lat", "send_lat")

# get_clock.c writes it to standard error, which a terminal or a log mixes in anywhere, even within a line.
_CPU_WARNING = re.compile(
    r"\n?Conflicting CPU frequency values detected: [0-9.]+ != [0-9.]+\. CPU Frequency is not max\.\n?"
)
_COLUMN = re.compile(
    r"#?bytes|#?iterations|BW peak\[[^]]*\]|BW average\[[^]]*\]|MsgRate\[[^]]*\]|t_\w+\[\w+\]|\S+% percentile"
)
# The deviation of latencies overflows in perftest when some took much longer than most.
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?|-?nan")
# MB/sec of older versions is MiB/sec too (2^20 bytes).
_TO_GBPS = {"Gb/sec": 1.0, "MB/sec": 2**20 * 8 / 1e9, "MiB/sec": 2**20 * 8 / 1e9}


@dataclass
class PerftestRow:
    """One row. Bandwidths in Gb/s, latencies in microseconds; ``peak`` is ``None`` where perftest gives none."""

    size: int
    iterations: int
    value: float
    peak: Optional[float] = None


def _header(line: str) -> Dict[str, str]:
    """Columns of a table's heading by their short name, with their unit."""
    names = {}
    for column in _COLUMN.findall(line):
        name, _bracket, unit = column.strip("#").partition("[")
        names[name] = unit.rstrip("]")
    return names


def _fragments(lines: Sequence[str]) -> Iterator[Tuple[Dict[str, str], List[str]]]:
    """Lines of nothing but numbers, each with the heading before it."""
    columns: Dict[str, str] = {}
    for line in lines:
        if "#bytes" in line:
            columns = _header(line)
        words = line.split()
        if columns and words and all(_NUMBER.fullmatch(word) for word in words):
            yield columns, words


def _finite(cell: str) -> float:
    """:raises ValueError: it is no finite number."""
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError(cell)
    return value


def _of_row(columns: Mapping[str, str], words: Sequence[str]) -> Optional[PerftestRow]:
    cells = dict(zip(columns, words))
    try:
        size, count = int(cells["bytes"]), int(cells["iterations"])
        if "BW average" in columns:
            factor = _TO_GBPS[columns["BW average"]]
            peak = float(cells["BW peak"]) * factor
            return PerftestRow(size, count, _finite(cells["BW average"]) * factor, peak if peak > 0 else None)
        return PerftestRow(size, count, _finite(cells["t_typical"]))
    except (KeyError, ValueError):
        return None


def of_text(text: str) -> List[PerftestRow]:
    """Every complete row in the output of one or several processes, in their order.

    A row that was torn is put together again when the parts follow each other.
    """
    cleaned = _CPU_WARNING.sub(lambda found: "\n" if found.group().startswith("\n") else "", text.replace("\r", ""))
    found: List[PerftestRow] = []
    begun: List[str] = []
    for columns, words in _fragments(cleaned.splitlines()):
        begun = words if len(words) >= len(columns) or len(begun) + len(words) > len(columns) else begun + words
        if len(begun) == len(columns):
            row = _of_row(columns, begun)
            found += [row] if row is not None else []
            begun = []
    return found


def of_json(text: str) -> List[PerftestRow]:
    """The row of a JSON file (``--out_json``), nothing when it is none.

    Up to 4.5-0.17 its keys are not quoted, and a deviation that overflows is ``-nan``. Bandwidths are in Gb/s, since
    ``--report_gbits`` is always given.
    """
    try:
        results: Mapping[str, Any] = json.loads(text)["results"]
        size, count = int(results["MsgSize"]), int(results["n_iterations"])
        if "BW_average" in results:
            return [PerftestRow(size, count, float(results["BW_average"]), float(results["BW_peak"]) or None)]
        return [PerftestRow(size, count, float(results["t_typical"]))]
    except (ValueError, KeyError, TypeError):
        return []
