# shellcheck shell=sh
# What a pod was given, in its own words, for verify; then ib_write_bw with another such pod.
# POSIX shell; needs /proc, /sys, cat, grep and sort. Where the image has them, `ip` tells addresses and `ib_write_bw` measures,
# on CPUs that `taskset` chooses.
# ZEROCOPY_SERVER: not empty where a peer will come. ZEROCOPY_PEER: address of the pod that waits for this one.
# ZEROCOPY_LOOPBACK: not empty where each port is to be measured to itself.
# ZEROCOPY_QPS: number of queue pairs. ZEROCOPY_ALL_SIZES: not empty where all sizes from 2 bytes to 8 MiB are measured.
# ZEROCOPY_SIZE: bytes of a message, by default more than a pod may lock by default, which smaller ones would not show.

section() { printf '==> %s\n' "$*"; }

# Whether each RDMA device of this pod, as its character device tells, has a port that is up.
ready() {
    for verbs in /dev/infiniband/uverbs*; do
        [ -e "$verbs" ] || continue
        device=$(cat "/sys/class/infiniband_verbs/${verbs##*/}/ibdev" 2>/dev/null)
        grep -q ACTIVE "/sys/class/infiniband/$device"/ports/*/state 2>/dev/null || return 1
    done
}

# The netdev was down for its way into the pod, and a link may need seconds to come up.
tries=30
until ready || [ "$tries" -eq 0 ]; do
    tries=$((tries - 1))
    sleep 1
done

section limits
cat /proc/self/limits

section nodes
for node in /dev/infiniband/*; do [ -e "$node" ] && echo "${node##*/}"; done

# The device cgroup decides when it is opened: a node that came by a host path is there, and is of no use.
section opens
for verbs in /dev/infiniband/uverbs*; do
    [ -e "$verbs" ] && (: <>"$verbs") 2>/dev/null && echo "${verbs##*/}"
done

section verbs
for verbs in /sys/class/infiniband_verbs/uverbs*; do
    [ -e "$verbs" ] && echo "${verbs##*/} $(cat "$verbs/ibdev")"
done

section ports
for port in /sys/class/infiniband/*/ports/*; do
    [ -e "$port/state" ] || continue
    device=${port#/sys/class/infiniband/}
    echo "${device%%/*} ${port##*/} $(cat "$port/link_layer") $(cat "$port/state")"
done

# 0x0000 is an entry that is not used.
section pkeys
for port in /sys/class/infiniband/*/ports/*; do
    [ -e "$port/pkeys" ] || continue
    device=${port#/sys/class/infiniband/}
    cat "$port"/pkeys/* 2>/dev/null | sort -u | while read -r key; do
        [ "$key" = 0x0000 ] || echo "${device%%/*} ${port##*/} $key"
    done
done

section netdevs
for netdev in /sys/class/net/*; do
    [ -e "$netdev/address" ] || continue
    # LOWER_UP. Of a netdev that is down it cannot be read.
    carrier=$(cat "$netdev/carrier" 2>/dev/null)
    echo "${netdev##*/} $(cat "$netdev/address") $(cat "$netdev/mtu") ${carrier:-0}"
done

# A container runtime or CDI brings it with the GPUs.
if command -v nvidia-smi >/dev/null; then
    section topo
    timeout 20 nvidia-smi topo -m 2>&1
fi

if command -v ip >/dev/null; then
    section addresses
    ip -o addr show
fi

# The RDMA devices of this pod are those whose character device it has; in shared netns mode /sys shows all.
devices() {
    for verbs in /dev/infiniband/uverbs*; do
        [ -e "$verbs" ] && cat "/sys/class/infiniband_verbs/${verbs##*/}/ibdev"
    done | sort
}

# The last RoCE v2 GID with an IPv4 address, else the last one: that of the address which came with the pod.
gid_index() {
    mapped='' any=''
    # One process for a table that may have a thousand entries, most of which cannot be read.
    for index in $(cd "$1/gid_attrs/types" 2>/dev/null && grep -lx 'RoCE v2' ./* 2>/dev/null); do
        index=${index#./}
        any="$any$index "
        case $(cat "$1/gids/$index") in 0000:0000:0000:0000:0000:ffff:*) mapped="$mapped$index " ;; esac
    done
    printf '%s' "${mapped:-$any}" | tr ' ' '\n' | sort -n | tail -n 1
}

# Runs a program on the CPUs near a device, where the image has taskset and the pod may use some of them.
near() {
    cpus=$(cat "/sys/class/infiniband/$1/device/local_cpulist" 2>/dev/null)
    shift
    if [ -n "$cpus" ] && taskset -c "$cpus" true 2>/dev/null; then
        taskset -c "$cpus" "$@"
    else
        echo 'not pinned'
        "$@"
    fi
}

# With the address of a peer the client, else the server. A client waits for a server of its own only while that runs.
measure() {
    device=$1 port=$2 tcp=$3 peer=$4 server=$5
    set -- --ib-dev="$device" --ib-port="$port" --port="$tcp" --report_gbits --CPU-freq
    # perftest runs all sizes by a number of messages only.
    if [ -n "$ZEROCOPY_ALL_SIZES" ]; then
        set -- "$@" --all --iters=1000
    else
        set -- "$@" --duration=3 --size="${ZEROCOPY_SIZE:-8388608}"
    fi
    [ "${ZEROCOPY_QPS:-1}" -eq 1 ] || set -- "$@" --qp="$ZEROCOPY_QPS"
    if [ "$(cat "/sys/class/infiniband/$device/ports/$port/link_layer")" = Ethernet ]; then
        set -- "$@" --gid-index="$(gid_index "/sys/class/infiniband/$device/ports/$port")"
    fi
    if [ -z "$peer" ]; then
        near "$device" timeout 60 ib_write_bw "$@" 2>&1
        return
    fi
    tries=60
    while :; do
        output=$(near "$device" timeout 60 ib_write_bw "$@" "$peer" 2>&1)
        status=$?
        [ "$status" -ne 0 ] || break
        tries=$((tries - 1))
        [ -z "$server" ] || kill -0 "$server" 2>/dev/null || break
        # Until the other one listens, its port refuses.
        case $output in *"Couldn't connect"*) [ "$tries" -gt 0 ] && sleep 1 && continue ;; esac
        break
    done
    printf '%s\n' "$output"
    # It may have measured some sizes before it failed.
    [ "$status" -eq 0 ] || echo "exit status $status"
    return "$status"
}

between() {
    section write_bw "$1" "$2"
    measure "$1" "$2" "$3" "$ZEROCOPY_PEER" ''
}

itself() {
    section loopback "$1" "$2"
    measure "$1" "$2" "$3" '' '' &
    server=$!
    measure "$1" "$2" "$3" 127.0.0.1 "$server" || kill "$server" 2>/dev/null
    wait "$server"
}

# Calls a function with each port of this pod that is up: device, port, and a TCP port of its own.
each_port() {
    each=$1 number=$2
    for of in $(devices); do
        for path in /sys/class/infiniband/"$of"/ports/*; do
            case $(cat "$path/state") in *ACTIVE*) ;; *) continue ;; esac
            "$each" "$of" "${path##*/}" "$number"
            number=$((number + 1))
        done
    done
}

if [ -n "$ZEROCOPY_SERVER$ZEROCOPY_PEER$ZEROCOPY_LOOPBACK" ]; then
    if command -v ib_write_bw >/dev/null; then
        [ -z "$ZEROCOPY_SERVER$ZEROCOPY_PEER" ] || each_port between 18515
        # A peer that is late finds nobody on these.
        [ -z "$ZEROCOPY_LOOPBACK" ] || each_port itself 18615
    else
        section no-perftest
    fi
fi
section end
