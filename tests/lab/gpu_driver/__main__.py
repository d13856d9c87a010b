# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Builds what is not cached: ``python3 tests/lab/gpu_driver``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vmlab.progress import LabError

from gpu_driver import programs


def main() -> int:
    """Build everything; a failure is one message that names the log to read, not a traceback."""
    try:
        programs.build_all()
    except LabError as error:
        print(f"gpu_driver: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
