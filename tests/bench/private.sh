#!/usr/bin/env bash
# private.sh COMMAND...: runs it where /etc, /usr and /var are copies of their own and /proc/modules says what it should,
# with a real NetworkManager and modprobe installed only there, in a network namespace without devices. So modules which
# know no other root than / can be timed without touching this machine. Needs root, apt and a Debian mirror.
set -euo pipefail
case "${ZEROCOPY_PRIVATE:-}" in
    '')
        scratch=$(mktemp -d)
        trap 'rmdir "$scratch"' EXIT
        ZEROCOPY_PRIVATE=mounts:$scratch unshare --mount --propagation private "$0" "$@"
        exit
        ;;
    mounts:*)
        scratch=${ZEROCOPY_PRIVATE#mounts:}
        mount -t tmpfs zerocopy-bench "$scratch"
        for part in etc usr var; do
            mkdir -p "$scratch/$part"/{upper,work}
            mount -t overlay zerocopy-bench -o \
                "lowerdir=/$part,upperdir=$scratch/$part/upper,workdir=$scratch/$part/work" "/$part"
        done
        mount -t tmpfs zerocopy-bench /run
        # No daemon of the machine is to be started, or restarted, by what is installed.
        printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
        chmod +x /usr/sbin/policy-rc.d
        DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends network-manager kmod dbus \
            </dev/null >"$scratch/apt.log" 2>&1 || { cat "$scratch/apt.log" >&2; exit 1; }
        ZEROCOPY_PRIVATE=network:$scratch unshare --net "$0" "$@"
        exit
        ;;
esac
scratch=${ZEROCOPY_PRIVATE#network:}
mkdir -p /etc/{security/limits.d,containerd/conf.d,modules-load.d,modprobe.d,systemd/system/containerd.service.d}
ip link set lo up
mkdir -p /run/dbus
dbus-daemon --system --nopidfile --nofork >"$scratch/dbus.log" 2>&1 &
bus=$!
for _ in $(seq 100); do [ -S /run/dbus/system_bus_socket ] && break; sleep 0.1; done
NetworkManager --no-daemon >"$scratch/nm.log" 2>&1 &
manager=$!
trap 'kill $manager $bus; wait $manager $bus || true' EXIT
nmcli --wait 30 general status >/dev/null 2>&1 || true
for _ in $(seq 100); do nmcli -t -f RUNNING general 2>/dev/null | grep -q running && break; sleep 0.1; done
# Not every machine has a /proc/modules to mount over (a sandbox's kernel may know no modules).
mkdir "$scratch/proc"
mount --rbind /proc "$scratch/proc"
mount -t tmpfs zerocopy-bench /proc
for entry in "$scratch"/proc/[!0-9]*; do ln -s "$entry" /proc/; done
rm -f /proc/modules
printf '%s 16384 0 - Live 0x0000000000000000\n' rdma_cm rdma_ucm ib_uverbs ib_umad >/proc/modules
"$@"
