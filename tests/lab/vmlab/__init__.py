# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Guests with a real kernel, real PCIe trees and Soft-RoCE, for trying the collection without hardware."""
