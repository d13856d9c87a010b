# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Times NIXL transfers between two processes, as vLLM moves KV caches from prefill to decode.

    python3 kv_benchmark.py target
    python3 kv_benchmark.py initiator --peer ADDRESS --sizes 1048576,1073741824

Needs Python 3.9 and NIXL's wheel (`pip install --no-deps nixl nixl-cu12 numpy`). Its environment chooses transports
and devices (UCX_TLS, UCX_NET_DEVICES). One transfer is one block of memory, and the next one starts when it
is done. Blocks have random content, other in the warm-up than in the timed transfers, which is compared afterwards.

The initiator prints to standard output
    UCX ...         lines of UCX's own log, among them the tables of protocols (UCX_PROTO_INFO)
    RESULT {...}    one for each operation and size, JSON; times in seconds, sizes in bytes, GB are 10^9 bytes
    ERROR {...}     why there is nothing further
Both end with status 0 if all was transferred and compared.
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import json
import mmap
import os
import random
import re
import socket
import struct
import sys
import tempfile
import time

VERSION = 1
CHUNK = 1 << 24
# Of a port's counters. Data is counted in words of 4 bytes; Soft-RoCE counts packets only.
SENT, RECEIVED = ("port_xmit_data", "sent_pkts"), ("port_rcv_data", "rcvd_pkts")
QUANTILES = range(0, 101, 5)
CLASS = "/sys/class/infiniband"
# Where a device is shared with other network namespaces, only the node's own /sys has its counters.
HOST = "/host"


class BenchmarkError(Exception):
    """What ends a run, in one line."""


def say(word, value):
    os.write(1, f"{word} {value if isinstance(value, str) else json.dumps(value)}\n".encode())


def read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


class UcxLog:
    """UCX writes to a file, because its lines would get mixed up with ours."""

    def __init__(self):
        handle, self.path = tempfile.mkstemp(prefix="ucx-")
        os.close(handle)
        self.offset, self.trouble = 0, ""
        os.environ["UCX_LOG_FILE"] = self.path
        os.environ["UCX_PROTO_INFO"] = "y"
        os.environ.setdefault("UCX_LOG_LEVEL", "warn")

    def show(self):
        ctypes.CDLL(None).fflush(None)
        with open(self.path, encoding="utf-8", errors="replace") as file:
            file.seek(self.offset)
            for line in iter(file.readline, ""):
                say("UCX", line.rstrip())
                if re.search(" (ERROR|WARN) ", line):
                    self.trouble = self.trouble or line.strip()
            self.offset = file.tell()


class Dram:
    """Memory of the host; pages are of the NUMA node of the CPU that fills them first."""

    kind, device, gpu = "DRAM", 0, None

    def __init__(self, size):
        self.pages = mmap.mmap(-1, size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))

    def put(self, offset, data):
        self.pages[offset : offset + len(data)] = data

    def get(self, offset, size):
        return self.pages[offset : offset + size]


class Vram:
    """Memory of the first GPU of the pod, by the CUDA driver's API."""

    kind, device = "VRAM", 0

    def __init__(self, size):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        number, name = ctypes.c_int(), ctypes.create_string_buffer(32)
        self.call("cuDeviceGet", ctypes.byref(number), 0)
        self.call("cuDeviceGetPCIBusId", name, len(name), number)
        self.gpu = name.value.decode().lower()
        context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
        self.call("cuCtxSetCurrent", context)
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        self.address = pointer.value

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise BenchmarkError(f"{name} of the CUDA driver failed with status {status}")

    def put(self, offset, data):
        at = ctypes.c_uint64(self.address + offset)
        self.call("cuMemcpyHtoD_v2", at, ctypes.c_char_p(data), ctypes.c_size_t(len(data)))
        self.call("cuCtxSynchronize")

    def get(self, offset, size):
        data = ctypes.create_string_buffer(size)
        at = ctypes.c_uint64(self.address + offset)
        self.call("cuMemcpyDtoH_v2", data, at, ctypes.c_size_t(size))
        return data.raw


def has_gpu():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    number = ctypes.c_int()
    return cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(number)) == 0 and number.value > 0


def opened_devices():
    """RDMA devices whose character device this pod may open; /sys may show those of others as well."""
    found = []
    for verbs in sorted(os.listdir("/dev/infiniband")) if os.path.isdir("/dev/infiniband") else []:
        name = read(f"/sys/class/infiniband_verbs/{verbs}/ibdev") if verbs.startswith("uverbs") else ""
        if name and os.access(f"/dev/infiniband/{verbs}", os.R_OK | os.W_OK):
            found.append(name)
    return found


def cpus_of(text):
    found = set()
    for part in filter(None, text.split(",")):
        first, _dash, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def pin(devices):
    """Puts this process on the CPUs near its first NIC, before memory is filled; says what is so now."""
    wanted = cpus_of(read(f"{CLASS}/{devices[0]}/device/local_cpulist")) if devices else set()
    near = wanted & os.sched_getaffinity(0)
    if near:
        os.sched_setaffinity(0, near)
    node = read(f"{CLASS}/{devices[0]}/device/numa_node") if devices else ""
    return {"pinned": bool(near), "nic_node": int(node) if node and node != "-1" else None}


def counters(devices):
    """Readings of the ports by device, port and name."""
    found = {}
    for device in devices:
        found.update(counted(f"{CLASS}/{device}/ports", device) or counted(f"{HOST}{CLASS}/{device}/ports", device))
    return found


def counted(ports, device):
    found = {}
    for port in sorted(os.listdir(ports)) if os.path.isdir(ports) else []:
        for directory in ("counters", "hw_counters"):
            for name in SENT + RECEIVED:
                value = read(f"{ports}/{port}/{directory}/{name}")
                if value.isdigit():
                    found[f"{device}/{port}/{name}"] = int(value)
    return found


def grown(before, after):
    """By how much; nothing if somebody has reset a counter meanwhile, since then none of them tells."""
    found = {name: after[name] - before[name] for name in before if name in after}
    return found if min(found.values(), default=0) >= 0 else {}


class Channel:
    """JSON messages on a TCP connection, by which both ends agree on what comes next."""

    def __init__(self, connection):
        self.connection = connection

    def send(self, **message):
        data = json.dumps(message).encode()
        self.connection.sendall(struct.pack("!I", len(data)) + data)

    def receive(self):
        """The next message; None where the other end has closed. Raises BenchmarkError with what the other end says."""
        head = self._exactly(4)
        if head is None:
            return None
        (size,) = struct.unpack("!I", head)
        data = self._exactly(size) if size <= CHUNK else None
        if data is None:
            raise BenchmarkError("the other end broke off within a message")
        message = json.loads(data)
        if "error" in message:
            raise BenchmarkError(f"the other end failed: {message['error']}")
        return message

    def ask(self, **message):
        self.send(**message)
        answer = self.receive()
        if answer is None:
            raise BenchmarkError("the other end has closed the connection")
        return answer

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.connection.recv(size - len(data))
            if not more:
                return None
            data += more
        return data


class End:
    """What target and initiator have in common: agent, memory, and who they are."""

    def __init__(self, options, size):
        devices = [entry.partition(":")[0] for entry in os.environ.get("UCX_NET_DEVICES", "").split(",")]
        self.devices = opened_devices()
        self.numa = pin([device for device in devices if device in self.devices])
        # UCX reads its environment when it is loaded.
        from nixl._api import nixl_agent, nixl_agent_config

        self.memory = (Vram if has_gpu() else Dram)(size)
        self.name = f"{options.role}-{os.getpid()}-{socket.gethostname()}"
        self.agent = nixl_agent(self.name, nixl_agent_config(backends=["UCX"]))
        self.agent.register_memory([(self.memory.address, size, self.memory.device, "")], self.memory.kind)

    def describe(self):
        return {
            "node": os.environ.get("ZEROCOPY_NODE", socket.gethostname()),
            "boot_id": read("/proc/sys/kernel/random/boot_id"),
            "devices": self.devices,
            "memory": self.memory.kind,
            "gpu": self.memory.gpu,
            "numa": self.numa,
        }

    def blocks(self, size, seed):
        """Random content; each chunk is the first one, shifted by its number: fast, and no two are alike."""
        first = random.Random(seed).randbytes(min(CHUNK, size))  # noqa: S311  (no secret)
        for number, offset in enumerate(range(0, size, CHUNK)):
            yield offset, (first[number:] + first[:number])[: size - offset]

    def fill(self, size, seed):
        for offset, block in self.blocks(size, seed):
            self.memory.put(offset, block)

    def wipe(self, size):
        for offset in range(0, size, CHUNK):
            self.memory.put(offset, bytes(min(CHUNK, size - offset)))

    def same(self, size, seed):
        return all(self.memory.get(offset, len(block)) == block for offset, block in self.blocks(size, seed))


def serve(options):
    """The target: has memory, and does what the initiator asks until that is gone."""
    listener = socket.create_server(("", options.port))
    listener.settimeout(options.timeout)
    say("READY", str(options.port))
    try:
        connection, _address = listener.accept()
    except socket.timeout as error:
        raise BenchmarkError(f"no initiator came within {options.timeout} s") from error
    connection.settimeout(options.timeout)
    channel = Channel(connection)
    hello = channel.receive()
    if not hello or hello.get("version") != VERSION:
        raise BenchmarkError("what connected is no initiator of this version")
    try:
        end = End(options, hello["size"])
        metadata = base64.b64encode(end.agent.get_agent_metadata()).decode()
        channel.send(metadata=metadata, address=end.memory.address, device=end.memory.device, end=end.describe())
        while True:
            message = channel.receive()
            if message is None:
                raise BenchmarkError("the initiator has gone")
            if "fill" in message:
                end.fill(message["fill"], message["seed"])
            elif "wipe" in message:
                end.wipe(message["wipe"])
            elif "compare" in message:
                channel.send(same=end.same(message["compare"], message["seed"]))
                continue
            elif "end" in message:
                return
            channel.send(done=True)
    except Exception as error:
        channel.send(error=str(error))
        raise


def connected(options):
    deadline = time.monotonic() + options.timeout
    while True:
        try:
            return socket.create_connection((options.peer, options.port), timeout=options.timeout)
        except OSError as error:
            if time.monotonic() > deadline:
                raise BenchmarkError(f"{options.peer} port {options.port} cannot be reached: {error}") from error
            time.sleep(0.2)


def quantile(times, percent):
    """The value below which so many percent are, between two of them in proportion."""
    ordered = sorted(times)
    place = (len(ordered) - 1) * percent / 100
    lower = int(place)
    upper = min(lower + 1, len(ordered) - 1)
    return ordered[lower] + (ordered[upper] - ordered[lower]) * (place - lower)


class Initiator:
    def __init__(self, options, log):
        self.options, self.log = options, log
        size = max(options.sizes)
        self.channel = Channel(connected(options))
        self.channel.send(version=VERSION, size=size)
        self.end = End(options, size)
        self.target = self.channel.receive()
        if self.target is None:
            raise BenchmarkError("the target has closed the connection")
        self.remote = self.end.agent.add_remote_agent(base64.b64decode(self.target["metadata"]))

    def transfer(self, handle):
        """One block, in seconds."""
        agent = self.end.agent
        began = time.perf_counter()
        state = agent.transfer(handle)
        while state == "PROC":
            state = agent.check_xfer_state(handle)
            if time.perf_counter() - began > self.options.timeout:
                raise BenchmarkError(f"a transfer did not end within {self.options.timeout} s")
        took = time.perf_counter() - began
        if state != "DONE":
            raise BenchmarkError(f"a transfer ended with state {state}")
        return took

    def times(self, operation, size, seed, number):
        """Transfers of blocks that have this content, which is compared afterwards."""
        end, channel, target = self.end, self.channel, self.target
        write = operation == "WRITE"
        if write:
            end.fill(size, seed)
            channel.ask(wipe=size)
        else:
            end.wipe(size)
            channel.ask(fill=size, seed=seed)
        local = end.agent.get_xfer_descs([(end.memory.address, size, end.memory.device)], end.memory.kind)
        there = end.agent.get_xfer_descs([(target["address"], size, target["device"])], target["end"]["memory"])
        handle = end.agent.initialize_xfer(operation, local, there, self.remote)
        found = [self.transfer(handle) for _index in range(number)]
        end.agent.release_xfer_handle(handle)
        self.log.show()
        same = channel.ask(compare=size, seed=seed)["same"] if write else end.same(size, seed)
        if not same:
            raise BenchmarkError(f"{operation} of {size} bytes: what arrived differs from what was sent")
        return found

    def case(self, operation, size, seed):
        options, devices = self.options, self.end.devices
        if options.warmup:
            self.times(operation, size, seed, options.warmup)
        before = counters(devices)
        times = self.times(operation, size, seed + 1, options.iterations)
        after = counters(devices)
        average = sum(times) / len(times)
        say(
            "RESULT",
            {
                "version": VERSION,
                "operation": operation,
                "bytes": size,
                "warmup": options.warmup,
                "iterations": len(times),
                "avg_seconds": average,
                "p50_seconds": quantile(times, 50),
                "p95_seconds": quantile(times, 95),
                "p99_seconds": quantile(times, 99),
                "avg_GBps": size / average / 1e9,
                "quantiles_seconds": [quantile(times, percent) for percent in QUANTILES],
                "verified": True,
                "counters": grown(before, after),
                "tls": os.environ.get("UCX_TLS", ""),
                "initiator": self.end.describe(),
                "target": self.target["end"],
            },
        )

    def run(self):
        try:
            cases = [(operation, size) for operation in self.options.operations for size in self.options.sizes]
            for number, (operation, size) in enumerate(cases):
                self.case(operation, size, 2 * number)
            self.channel.send(end=True)
        except Exception as error:
            self.channel.send(error=str(error))
            raise


def natural(text):
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 40):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return int(text)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["target", "initiator"])
    parser.add_argument("--peer", help="address of the target")
    parser.add_argument("--port", type=natural, default=5555)
    parser.add_argument("--operations", type=lambda text: text.split(","), default=["WRITE"])
    parser.add_argument("--sizes", type=lambda text: [natural(part) for part in text.split(",")], default=[1 << 30])
    parser.add_argument("--iterations", type=natural, default=100)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--timeout", type=natural, default=120, help="seconds to wait for the other end or a transfer")
    options = parser.parse_args()
    if options.role == "initiator" and not options.peer:
        parser.error("the initiator needs --peer")
    if not set(options.operations) <= {"READ", "WRITE"}:
        parser.error("--operations are READ and WRITE")
    return options


def main():
    options, log = arguments(), UcxLog()
    try:
        if options.role == "target":
            serve(options)
        else:
            Initiator(options, log).run()
    except Exception as error:
        log.show()
        reason = str(error) if isinstance(error, BenchmarkError) else f"{type(error).__name__}: {error}"
        say("ERROR", {"reason": reason, "ucx": log.trouble})
        return 1
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # With a libibverbs of the system in front of the wheel's, the process would crash in libnl-route's destructor.
    os._exit(status)
