# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Where the control plane keeps things: programs in the cache, everything of one instance below ``build``."""

from __future__ import annotations

from pathlib import Path

from vmlab import paths

HERE = Path(__file__).resolve().parent
CACHE = paths.CACHE.with_name("control-plane")
LOGS = CACHE / "logs"
STATE = HERE.parents[2] / "build" / "control-plane"
