# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""NVIDIA's DRA driver, built from its Go module, and a stand-in for what is below it: NVIDIA's driver for GPUs.

In reading order: :mod:`programs`, :mod:`image`, :mod:`driver_root`. README.md says what is real.
"""
