# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Says what ended the run that tests/callbacks recorded: the last tasks that failed, with what they printed.

python3 failed.py RECORD
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(record: Path) -> None:
    entries = [json.loads(line) for line in record.read_text().splitlines()]
    failed = [entry for entry in entries if entry.get("outcome") in ("failed", "unreachable")]
    for entry in failed[-4:]:
        print(f"{entry['outcome']}: {entry['host']}: {entry['task']}: {entry['message']}")
        for text in entry.get("output", []):
            if text:
                print("    " + "\n    ".join(text.splitlines()[-20:]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
