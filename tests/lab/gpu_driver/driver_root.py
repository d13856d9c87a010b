# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the stand-in for NVIDIA's driver installs on a machine, by the paths below its root."""

from __future__ import annotations

from pathlib import Path

from guest import nvidia_driver

from . import programs

# A guest runs this at each boot.
SCRIPT = "usr/local/sbin/lab-nvidia-driver.py"
UNIT_NAME = "lab-nvidia-driver.service"
UNIT = f"""\
[Unit]
Description=Stand-in of the lab for NVIDIA's driver
Before=kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/python3 /{SCRIPT} up
ExecStop=/usr/bin/python3 /{SCRIPT} down

[Install]
WantedBy=multi-user.target
"""


def installed(version: str = nvidia_driver.VERSION) -> dict[str, Path]:
    """Map the paths of the library and of nvidia-smi to where they are here."""
    return {
        f"{nvidia_driver.LIBRARIES}/libnvidia-ml.so.{version}": programs.library(),
        "usr/bin/nvidia-smi": programs.nvidia_smi(),
    }


def script() -> Path:
    """The script that makes the rest on the machine itself."""
    return Path(nvidia_driver.__file__)
