#!/bin/sh
# shellcheck shell=sh
# Sets what NCCL, UCX, NVSHMEM and vLLM have to know about the RDMA devices of this pod, then runs the command:
#   rdma-env.sh vllm serve ...
# or only checks them, and sets nothing:
#   rdma-env.sh --check
# Which NICs a pod was given is known in the pod only. Variables that are set already are left as they are.
# Refuses to start if RDMA would not be used, because these libraries would use TCP then and not say so; also where
# variables that are set already make them do so.
# Runs in pods of rdma_workloads (as a ConfigMap, see plugins/module_utils/_workloads/pod.py) and of rdma_benchmark (copied
# into their command, see its vars/main.yml). The strategy inject does not use it.
# With --check it runs in init containers, and on nodes as a hook of DRANET, which says in DRANET_NETNS where the network
# namespace of the pod is. There it sees neither the device nodes, nor the image, nor the limits of a container.
# POSIX shell; needs /proc and /sys, and `sleep` while it waits for a link. Output goes to standard error.
#
# ZEROCOPY_RDMA: `required` (default), `optional` (a problem is a warning, nothing is set), or `off`.
# ZEROCOPY_RDMA_DEVICES: number of RDMA devices that the pod asked for (default 1).
# ZEROCOPY_RDMA_FAMILY: `4` (default) prefers the RoCE GIDs of IPv4 addresses, `6` those of IPv6 addresses.
# ZEROCOPY_RDMA_MTU: bytes that the netdevs of all RoCE ports have at least (default: netdevs are not checked).
# ZEROCOPY_RDMA_WAIT: seconds to wait for devices, links and addresses (default 30, as a hook 5).
# ZEROCOPY_RDMA_LIBRARIES: `all` (default) checks every libibverbs of the image, those inside Python wheels too;
#   `system` leaves the wheels out; `none` checks nothing, for programs that bring a libibverbs of their own.
# ZEROCOPY_RDMA_MEMLOCK: bytes of locked memory that are enough (default `unlimited`).
# ZEROCOPY_RDMA_MAPPING: `yes` lets vLLM choose the NIC of each GPU, `no` gives all NICs to all; `auto` (default) is
#   `yes` for a vLLM that can (VLLM_GPU_NIC_PCIE_MAPPING).
# ZEROCOPY_RDMA_RAILS: which rails reach each other: `all`, `some`, or `subnet` (a port only those in its own subnet). By
#   default nothing is set for it.
# ZEROCOPY_RDMA_ROOT: directory that stands in for / (for tests).

say() { printf 'rdma-env: %s\n' "$*" >&2; }

usage() {
    say "$*"
    exit "$BAD_USE"
}

# A problem with its exit status. Returns only where RDMA is optional.
refuse() {
    status=$1
    shift
    if [ "$mode" = required ]; then
        say "not started: $*. Without RDMA, the command would use TCP; ZEROCOPY_RDMA=optional allows that"
        exit "$status"
    fi
    say "no RDMA: $*"
}

# The first line of a file in `line`. Unused entries of tables in /sys cannot be read.
first() {
    line=''
    { IFS= read -r line <"$1"; } 2>/dev/null
    [ -n "$line" ]
}

# Names become parts of lists and paths.
plain() {
    case $1 in '' | .* | *[!A-Za-z0-9_.-]*) return 1 ;; esac
}

# Not with zeros in front, which would make it octal.
number() {
    case $1 in '' | *[!0-9]* | 0?* | ????????????????*) return 1 ;; esac
}

# Directory of a device behind its link, in `real`.
resolve() {
    real=$(cd -P "$1" 2>/dev/null && pwd -P) && [ -n "$real" ]
}

# Runs this script again in the network namespace of the pod, with the /sys of that.
enter() {
    for program in nsenter unshare mount; do
        command -v "$program" >/dev/null || usage "as a hook of DRANET it needs $program on the node"
    done
    # A hook has the environment that DRANET gives it only.
    export PATH="${PATH:-/usr/sbin:/usr/bin:/sbin:/bin}" ZEROCOPY_RDMA_NETNS="$DRANET_NETNS"
    unset DRANET_NETNS
    # shellcheck disable=SC2016 # The inner shell expands it.
    exec nsenter --net="$ZEROCOPY_RDMA_NETNS" unshare --mount \
        /bin/sh -c 'mount -t sysfs sysfs /sys && exec /bin/sh "$0" --check' "$0"
}

# The RDMA devices of the network namespace in `devices`, where there are no device nodes to go by. In RDMA netns mode
# `shared` all namespaces show all devices, but each has its netdevs only.
find_in_namespace() {
    devices='' closed='' hidden='' nodes=''
    first "$root/sys/module/ib_core/parameters/netns_mode" && mode_of_netns=$line || mode_of_netns=Y
    for path in "$class"/*; do
        device=${path##*/}
        if ! [ -e "$path/ports" ] || ! plain "$device"; then continue; fi
        parent=''
        first "$path/parent" && plain "$line" && parent=$line
        if [ "$mode_of_netns" = N ] || exists "$path"/device/net/* ||
            { [ -n "$parent" ] && [ -e "$root/sys/class/net/$parent" ]; }; then
            devices="$devices $device" nodes="$nodes $device"
        fi
    done
}

# The RDMA devices of this pod in `devices`. /sys shows those of others as well in RDMA netns mode `shared`, so the
# character devices count, if they can be opened: the device cgroup decides that.
find_devices() {
    if [ -n "$netns" ]; then
        find_in_namespace
        return
    fi
    devices='' closed='' hidden='' nodes=''
    for node in "$root"/dev/infiniband/uverbs*; do
        [ -e "$node" ] || continue
        verbs=${node##*/}
        plain "$verbs" || continue
        nodes="$nodes $verbs"
        if ! (: <>"$node") 2>/dev/null; then
            closed="$closed $verbs"
        elif ! first "$root/sys/class/infiniband_verbs/$verbs/ibdev" || ! [ -e "$class/$line/ports" ]; then
            hidden="$hidden $verbs"
        elif ! plain "$line"; then
            say "ignored: the name of the RDMA device of $verbs has characters that lists of devices cannot have"
        else
            devices="$devices $line"
        fi
    done
}

# How good a GID is in `rank`, less is better: its netdev is in this pod, family of its address, netdev of the port.
rank_of() {
    rank=100
    case $2 in
    '' | . | .. | */*) ;;
    *)
        [ -e "$root/sys/class/net/$2" ] && rank=0
        [ -e "$class/$device/device/net/$2" ] || rank=$((rank + 1))
        ;;
    esac
    case $1 in
    0000:0000:0000:0000:0000:ffff:*) [ "$family" = 4 ] || rank=$((rank + 30)) ;;
    fe80:*) rank=$((rank + 20)) ;;
    *) [ "$family" = 6 ] || rank=$((rank + 10)) ;;
    esac
}

# The best RoCE v2 GIDs of a port: `indexes` in ascending order, with `gid` and `netdev` of the first one.
find_gids() {
    indexes='' gid='' netdev='' best=1000 index=-1
    while index=$((index + 1)) && [ -e "$1/gids/$index" ]; do
        first "$1/gids/$index" || continue
        case $line in
        # Also what mlx5 shows of a port without a MAC.
        *[!0-9a-f:]* | 0000:0000:0000:0000:0000:0000:0000:0000 | fe80:0000:0000:0000:0000:0000:0000:0000) continue ;;
        esac
        of_index=$line
        if ! first "$1/gid_attrs/types/$index" || [ "$line" != 'RoCE v2' ]; then continue; fi
        line=''
        first "$1/gid_attrs/ndevs/$index"
        rank_of "$of_index" "$line"
        if [ "$rank" -lt "$best" ]; then
            best=$rank indexes=$index gid=$of_index netdev=$line
        elif [ "$rank" -eq "$best" ]; then
            indexes="$indexes $index"
        fi
    done
    [ -n "$indexes" ]
}

# Ports that are up in `ports` (mlx5_0:1), those that are not in `down`, RoCE ports without a GID in `bare`. `common`
# are the GID indexes that are right for all of them, `idle` the devices without a port in `ports`, `links` the RoCE ports
# with their netdevs (mlx5_0:1=eth2).
find_ports() {
    ports='' down='' bare='' idle='' common='' infiniband='' ethernet='' six='' report='' links=''
    used=0
    for device in $devices; do
        before=$ports
        for path in "$class/$device"/ports/*; do
            port=${path##*/}
            if ! number "$port" || ! first "$path/state"; then continue; fi
            case $line in
            *ACTIVE*) ;;
            *)
                down="$down $device:$port"
                continue
                ;;
            esac
            first "$path/link_layer"
            if [ "$line" = InfiniBand ]; then
                infiniband=1
                report="$report$device port $port: InfiniBand
"
            elif find_gids "$path"; then
                add_indexes
                links="$links $device:$port=$netdev"
                best="GID index ${indexes%% *} ($gid, netdev ${netdev:-unknown})"
                report="$report$device port $port: Ethernet, $best
"
            else
                bare="$bare $device:$port"
                continue
            fi
            ports="$ports $device:$port"
        done
        if [ "$ports" = "$before" ]; then idle="$idle $device"; else used=$((used + 1)); fi
    done
}

# Keeps of `common` what is among `indexes`.
add_indexes() {
    case $gid in 0000:0000:0000:0000:0000:ffff:*) ;; *) six=1 ;; esac
    if [ -z "$ethernet" ]; then
        ethernet=1 common=$indexes
        return
    fi
    both=''
    for known in $common; do
        case " $indexes " in *" $known "*) both="$both $known" ;; esac
    done
    common=${both# }
}

# The netdev was down for its way into the pod, and a link may need seconds to come up. A device that belongs to its
# netdev (Soft-RoCE) is made again in the pod, and may come after this script.
wait_for_ports() {
    left=$wait
    while find_devices && [ -n "$nodes" ] && find_ports && [ "$left" -gt 0 ]; do
        if [ -z "$idle" ] && [ "$used" -ge "$wanted" ]; then return; fi
        left=$((left - 1))
        sleep 1
    done
}

# The netdevs of RoCE ports: in this pod, and with the MTU that it expects.
check_netdevs() {
    [ -n "$mtu" ] || return 0
    away='' small=''
    for link in $links; do
        netdev=${link#*=}
        if ! plain "$netdev" || ! first "$root/sys/class/net/$netdev/mtu" || ! number "$line"; then
            away="$away ${link%%=*} (${netdev:-unknown})"
        elif [ "$line" -lt "$mtu" ]; then
            small="$small $netdev of ${link%%=*} ($line)"
        fi
    done
    if [ -n "$away" ]; then
        refuse "$NO_NETDEV" "the pod does not have the netdevs of${away}: the driver or plugin did not move them into" \
            "the pod"
        return 1
    fi
    # RDMA works with it, only not as well as planned.
    if [ -n "$small" ]; then
        small="the MTU of${small} is below $mtu: set it on the node (rdma_links_mtu) or in the claim"
        if [ "$mode" = required ]; then
            say "not started: $small; ZEROCOPY_RDMA=optional allows that"
            exit "$SMALL_MTU"
        fi
        say "$small"
    fi
    [ -z "$infiniband" ] || say 'the MTU of InfiniBand ports is not checked'
}

# rdma-core's name for the provider of a device, in `provider`; empty where it is not known.
provider_of() {
    provider=''
    if resolve "$class/$1/device/driver"; then
        case ${real##*/} in
        mlx5_core) provider=mlx5 ;;
        mlx4_core) provider=mlx4 ;;
        bnxt_en) provider=bnxt_re ;;
        ionic) provider=ionic ;;
        ice | i40e | irdma | idpf) provider=irdma ;;
        efa) provider=efa ;;
        hns3) provider=hns ;;
        mana) provider=mana ;;
        erdma) provider=erdma ;;
        qede) provider=qedr ;;
        cxgb4) provider=cxgb4 ;;
        hfi1) provider=hfi1verbs ;;
        virtio-pci) provider='' ;;
        esac
        # A Soft-RoCE device may have the PCI function of the NIC below it.
        [ -e "$class/$1/parent" ] && provider=rxe
    elif [ -e "$class/$1/parent" ]; then
        provider=rxe
    fi
    [ -n "$provider" ]
}

exists() {
    for exists_path; do [ -e "$exists_path" ] && return 0; done
    return 1
}

# Runs a command with each directory of libraries, or of Python packages, of the image.
each_library_directory() {
    for directory in "$root"/lib "$root"/lib64 "$root"/lib/* "$root"/usr/lib "$root"/usr/lib64 "$root"/usr/lib/* \
        "$root"/usr/local/lib "$root"/usr/local/lib64 "$root"/usr/local/lib/* "$root"/opt/*/lib "$root"/opt/*/lib64; do
        [ -d "$directory" ] && "$@" "$directory"
    done
    saved=$IFS
    IFS=:
    # shellcheck disable=SC2086 # It is split at its colons.
    set -- "$1" "$2" ${LD_LIBRARY_PATH:-}
    IFS=$saved
    called=$1 called_with=$2
    shift 2
    for directory; do [ -d "$root$directory" ] && "$called" "$called_with" "$root$directory"; done
    return 0
}

each_python_directory() {
    for directory in "$root"/usr/lib/python3* "$root"/usr/lib64/python3* "$root"/usr/local/lib/python3* \
        "$root"/usr/local/lib64/python3* "$root"/opt/*/lib/python3* "$root"/opt/*/lib64/python3* \
        "$root"/opt/*/*/lib/python3* "$root${VIRTUAL_ENV:-/nowhere}"/lib*/python3* \
        "$root${CONDA_PREFIX:-/nowhere}"/lib/python3*; do
        for packages in "$directory/site-packages" "$directory/dist-packages"; do
            [ -d "$packages" ] && "$@" "$packages"
        done
    done
    return 0
}

look_for_system() {
    exists "$2"/libibverbs.so* && verbs_there=1
    # Where libmlx5 is linked with a program directly, its plug-in may be missing, but not the library.
    exists "$2/libibverbs/lib$1-rdmav"*.so && provider_there=1
}

# auditwheel renames libraries (libibverbs-0a1b2c3d.so.1) and puts them beside the package.
look_for_wheel() {
    for bundle in "$2"/*.libs "$2"/.*.libs; do
        exists "$bundle"/libibverbs[-.]*so* || continue
        wheel_there=1
        exists "$bundle/lib$1"[-.]*so* "$bundle/libibverbs/lib$1"-rdmav*.so || lacking="$lacking ${bundle#"$root"}"
    done
}

check_providers() {
    [ "$libraries" != none ] || return 0
    for device in $devices; do
        if ! provider_of "$device"; then
            say "whether libibverbs has a provider for $device is not known"
            continue
        fi
        verbs_there='' provider_there='' wheel_there='' lacking=''
        each_library_directory look_for_system "$provider"
        [ "$libraries" = system ] || each_python_directory look_for_wheel "$provider"
        if [ -z "$verbs_there$wheel_there" ]; then
            refuse "$NO_PROVIDER" "the image has no libibverbs: install it with its providers (ibverbs-providers," \
                "libibverbs), or set ZEROCOPY_RDMA_LIBRARIES=none if the program brings one of its own"
            return 1
        fi
        if [ -n "$verbs_there" ] && [ -z "$provider_there" ]; then
            refuse "$NO_PROVIDER" "the image's libibverbs has no provider $provider, which $device needs: install" \
                "rdma-core's providers (ibverbs-providers, libibverbs)"
            return 1
        fi
        # What is preloaded takes the place of the wheel's.
        case ${LD_PRELOAD:-} in *libibverbs*) continue ;; esac
        if [ -n "$lacking" ]; then
            refuse "$NO_PROVIDER" "the libibverbs in${lacking} has no provider $provider, which $device needs:" \
                "preload the system's (LD_PRELOAD=libibverbs.so.1), or set ZEROCOPY_RDMA_LIBRARIES=system if that" \
                "wheel is not used"
            return 1
        fi
    done
}

# CAP_IPC_LOCK lifts the limit, but not in a user namespace.
may_lock() {
    effective=''
    while read -r key value _rest; do
        [ "$key" = CapEff: ] && effective=$value
    done 2>/dev/null <"$root/proc/self/status"
    case $effective in '' | *[!0-9a-f]*) return 1 ;; esac
    last=${effective#"${effective%????}"}
    [ $((0x$last & 0x4000)) -ne 0 ] || return 1
    read -r inside outside count 2>/dev/null <"$root/proc/self/uid_map" || return 0
    [ "$inside:$outside:$count" = 0:0:4294967295 ]
}

check_memlock() {
    soft='' hard=''
    while read -r one two three four five _units; do
        [ "$one $two $three" = 'Max locked memory' ] && soft=$four hard=$five
    done 2>/dev/null <"$root/proc/self/limits"
    [ "$soft" = unlimited ] && return 0
    may_lock && return 0
    # shellcheck disable=SC3045 # dash, ash and bash have it; others keep the limit.
    [ "$hard" = unlimited ] && ulimit -S -l unlimited 2>/dev/null && echo 'ulimit -S -l unlimited' && return 0
    if [ "$memlock" != unlimited ] && number "$soft" && [ "$soft" -ge "$memlock" ]; then return 0; fi
    refuse "$MEMLOCK" "locked memory is limited to ${soft:-an unknown number of} bytes, so memory cannot be" \
        "registered: add the capability IPC_LOCK and run as root without a user namespace, or raise the runtime's limit"
    return 1
}

# Whether an entry of a list means a port. Kinds: `ucx` has device:port, with * and ?; of `nccl` a device without its port
# is enough, or the start of its name; `exact` is the same without the latter; `name` are devices.
entry_means() {
    case $1 in
    ucx)
        [ "$2" = all ] && return 0
        # shellcheck disable=SC2254 # It is a pattern for UCX, too.
        case $3 in $2) return 0 ;; esac
        return 1
        ;;
    nccl) case ${3%:*} in "${2%%:*}"*) ;; *) return 1 ;; esac ;;
    *) [ "${3%:*}" = "${2%%:*}" ] || return 1 ;;
    esac
    case $2 in *:*) [ "${3##*:}" = "${2##*:}" ] ;; esac
}

# Whether a list leaves a port to use. A ^ in front leaves what is not in the list.
leaves_port() {
    kind=$1 entries=$2 except=''
    case $entries in '^'*) except=1 entries=${entries#^} ;; esac
    case $kind$entries in nccl=*) kind=exact entries=${entries#=} ;; esac
    for port in $ports; do
        listed='' rest=$entries,
        while [ -n "$rest" ]; do
            entry=${rest%%,*} rest=${rest#*,}
            if [ -n "$entry" ] && entry_means "$kind" "$entry" "$port"; then listed=1; fi
        done
        [ "$listed" = "$except" ] || return 0
    done
    return 1
}

# Whether UCX has a transport over RDMA left.
leaves_transport() {
    case $1 in
    '^'*)
        case ",${1#^}," in
        *,ib,* | *,all,*) return 1 ;;
        *,rc,*) case ",${1#^}," in *,ud,*) case ",${1#^}," in *,dc,*) return 1 ;; esac ;; esac ;;
        esac
        return 0
        ;;
    esac
    rest=$1,
    while [ -n "$rest" ]; do
        entry=${rest%%,*} rest=${rest#*,}
        case ${entry#\\} in
        *:aux) ;;
        all | ib | rc | rc_* | dc | dc_* | ud | ud_* | srd | gga | gga_*) return 0 ;;
        esac
    done
    return 1
}

# A variable, its value and what it does. Returns only where RDMA is optional.
switched_off() {
    refuse "$SWITCHED_OFF" "the pod has $1=$2, $3"
    return 1
}

# What the pod has set itself, and excludes RDMA.
check_given() {
    # NCCL ignores what is no number.
    case ${NCCL_IB_DISABLE:-0} in
    *[!0-9]*) ;;
    *[1-9]*) switched_off NCCL_IB_DISABLE "$NCCL_IB_DISABLE" "so NCCL uses TCP: remove it" || return ;;
    esac
    case ${NCCL_NET:-} in
    [Ss][Oo][Cc][Kk][Ee][Tt]) switched_off NCCL_NET "$NCCL_NET" "which is TCP: remove it, or set it to IB" || return ;;
    esac
    if [ -n "${UCX_TLS:-}" ] && ! leaves_transport "$UCX_TLS"; then
        switched_off UCX_TLS "$UCX_TLS" "which has no transport over RDMA: add rc and ud, or remove it" || return
    fi
    for variable in NCCL_IB_HCA:nccl UCX_NET_DEVICES:ucx NVSHMEM_HCA_LIST:nccl MOONCAKE_DEVICE:name; do
        how=${variable#*:} variable=${variable%:*}
        eval "now=\${$variable:-}"
        # Mooncake also reads JSON.
        case $variable$now in "$variable" | MOONCAKE_DEVICE*[!A-Za-z0-9_.,-]*) continue ;; esac
        leaves_port "$how" "$now" && continue
        switched_off "$variable" "$now" "which leaves none of its ports${ports}: remove it" || return
    done
}

# GPUs of this pod as PCI addresses in `gpus`. /proc may show all of the node, /dev only those of the pod.
find_gpus() {
    gpus=''
    for directory in "$root"/proc/driver/nvidia/gpus/*; do
        minor=''
        while read -r one two value _rest; do
            [ "$one $two" = 'Device Minor:' ] && minor=$value
        done 2>/dev/null <"$directory/information"
        if ! number "$minor" || ! [ -e "$root/dev/nvidia$minor" ]; then continue; fi
        case ${directory##*/} in *[!0-9a-fA-F:.]*) continue ;; esac
        gpus="$gpus ${directory##*/}"
    done
    [ -n "$gpus" ]
}

# How near two directories below /sys/devices are, in `near`: shared bridges count most, then the NUMA node.
nearness() {
    near=0 left_path=${1#"$base"/} right_path=${2#"$base"/}
    while [ -n "$left_path" ] && [ "${left_path%%/*}" = "${right_path%%/*}" ]; do
        near=$((near + 2))
        case $left_path in */*) left_path=${left_path#*/} ;; *) left_path='' ;; esac
        case $right_path in */*) right_path=${right_path#*/} ;; *) right_path='' ;; esac
    done
    [ "$near" -eq 0 ] || return 0
    first "$1/numa_node" && numa=$line && first "$2/numa_node" && [ "$line" = "$numa" ] && [ "$numa" != -1 ] && near=1
}

# How many GPUs have a NIC already, in `users`.
count_users() {
    users=0 rest=$mapping
    while :; do
        case $rest in *"=$1,"*) users=$((users + 1)) rest=${rest#*"=$1,"} ;; *) return ;; esac
    done
}

# GPU=NIC for each GPU in `mapping`, and the number of the port in `suffix`. None where a GPU would be left out or the
# ports differ in their number, which vLLM's variable cannot say.
map_gpus() {
    mapping='' suffix='' nics=''
    resolve "$root/sys/devices" || return 1
    base=$real
    for port in $ports; do
        [ "${port##*:}" = "${suffix:=${port##*:}}" ] || return 1
        resolve "$class/${port%:*}/device" || return 1
        nics="$nics ${real##*/}"
    done
    for gpu in $gpus; do
        resolve "$root/sys/bus/pci/devices/$gpu" || return 1
        gpu_path=$real chosen='' most=-1 fewest=0
        for nic in $nics; do
            resolve "$root/sys/bus/pci/devices/$nic" || return 1
            nearness "$gpu_path" "$real"
            count_users "$nic"
            if [ "$near" -gt "$most" ] || { [ "$near" -eq "$most" ] && [ "$users" -lt "$fewest" ]; }; then
                chosen=$nic most=$near fewest=$users
            fi
        done
        mapping="$mapping$gpu=$chosen,"
    done
    mapping=${mapping%,}
}

look_for_vllm() {
    exists "$2"/vllm/v1/executor/vllm_net_devices.py && vllm_there=1
}

vllm_can_map() {
    vllm_there=''
    case $map in
    yes) return 0 ;;
    no) return 1 ;;
    esac
    each_python_directory look_for_vllm vllm
    [ -n "$vllm_there" ]
}

# Sets a variable that has no value. The line is evaluated, so only what values consist of may be in it.
give() {
    case $2 in *[!A-Za-z0-9_.:,=-]*) return ;; esac
    eval "now=\${$1:-}"
    # shellcheck disable=SC2154 # The line above sets it.
    if [ -n "$now" ]; then
        say "$1=$now was set before, and stays$([ "$now" = "$2" ] || echo "; here it would be $2")"
    else
        echo "export $1='$2'"
        say "$1=$2"
    fi
}

# vLLM puts the NIC of each worker in front of what is there, so that these must not have a value.
give_mapping() {
    selected=''
    for variable in UCX_NET_DEVICES NVSHMEM_HCA_LIST NCCL_IB_HCA; do
        eval "now=\${$variable:-}"
        [ -n "$now" ] || selected="$selected,$variable:$suffix"
    done
    [ -n "$selected" ] || return 1
    give VLLM_GPU_NIC_PCIE_MAPPING "$mapping"
    give VLLM_NIC_SELECTION_VARS "${selected#,}"
}

set_variables() {
    list=''
    for port in $ports; do list="$list,$port"; done
    list=${list#,}
    if ! { [ -z "${VLLM_GPU_NIC_PCIE_MAPPING:-}" ] && vllm_can_map && find_gpus && map_gpus && give_mapping; }; then
        # With `=` names are compared as a whole: mlx5_1 is not mlx5_10.
        give NCCL_IB_HCA "=$list"
        give UCX_NET_DEVICES "$list"
        give NVSHMEM_HCA_LIST "$list"
    fi
    # 0: NCCL does not use another rail on the other node (2, its default, allows that if it is faster).
    case $rails in some | subnet) give NCCL_CROSS_NIC 0 ;; esac
    # InfiniBand has its GID at another index, and each of these variables is for all ports.
    [ -n "$ethernet" ] || return 0
    # By default, UCX takes for reachable what the netdev has a route to, which it may lack in a pod.
    case $rails in
    all) give UCX_IB_ROCE_REACHABILITY_MODE all ;;
    subnet) give UCX_IB_ROCE_REACHABILITY_MODE local_subnet ;;
    esac
    if [ -z "$infiniband" ] && [ -n "$common" ]; then
        give NCCL_IB_GID_INDEX "${common%% *}"
        give UCX_IB_GID_INDEX "${common%% *}"
        give NVSHMEM_IB_GID_INDEX "${common%% *}"
    else
        say "no GID index is right for all ports: NCCL, UCX and NVSHMEM look for that of each port"
        [ -z "$six" ] || give NCCL_IB_ADDR_FAMILY AF_INET6
    fi
}

prepare() {
    wait_for_ports
    if [ -z "$nodes" ] && [ -n "$netns" ]; then
        refuse "$NO_DEVICE" "there is no RDMA device in the network namespace $netns: the driver did not attach any"
        return
    fi
    if [ -z "$nodes" ]; then
        refuse "$NO_DEVICE" "the pod has no RDMA device (no /dev/infiniband/uverbs*): nothing was claimed, or the" \
            "driver or plugin did not attach it"
        return
    fi
    if [ -z "$devices" ]; then
        if [ -n "$closed" ]; then
            refuse "$NO_ACCESS" "the pod may not open${closed}: /dev/infiniband is from a hostPath volume, not from" \
                "a claim or a limit"
        elif ! [ -d "$root/sys/class/infiniband_verbs" ]; then
            refuse "$NO_ACCESS" "the pod has no /sys/class/infiniband_verbs, so nothing can be found out about${nodes}"
        else
            refuse "$NO_ACCESS" "the RDMA devices of${nodes} are not in the pod's network namespace (RDMA netns mode" \
                "exclusive), or have names that lists of devices cannot have"
        fi
        return
    fi
    [ -z "$down" ] || say "not up:$down"
    [ -z "$bare" ] || say "without a RoCE v2 GID:$bare"
    if [ -z "$ports" ] && [ -n "$bare" ]; then
        refuse "$NO_GID" "no RoCE v2 GID on${bare} after $wait s: its netdev has no address, or the NIC knows RoCE v1" \
            "only"
        return
    fi
    if [ -z "$ports" ]; then
        refuse "$NO_LINK" "no port of${devices} is ACTIVE after $wait s: look at cable, switch and subnet manager"
        return
    fi
    if [ "$used" -lt "$wanted" ]; then
        refuse "$TOO_FEW" "$used of $wanted RDMA devices can be used (ports:${ports})"
        return
    fi
    check_netdevs || return
    if [ -z "$netns" ]; then check_given && check_providers && check_memlock || return; fi
    printf '%s' "$report" | while IFS= read -r line; do say "$line"; done
    if [ -n "$checks" ]; then say "RDMA devices that can be used: $used"; else set_variables; fi
}

# What the shell of the command has to do, as lines for it. In a subshell: a variable of the pod that is called like one
# of these stays as it is for the command.
settings() {
    # Exit status, one for each reason. Shells use 126 and above, sysexits.h 64 to 78.
    BAD_USE=80 NO_DEVICE=81 NO_ACCESS=82 NO_LINK=83 NO_GID=84 TOO_FEW=85 NO_PROVIDER=86 MEMLOCK=87
    SWITCHED_OFF=88 NO_NETDEV=89 SMALL_MTU=90
    root=${ZEROCOPY_RDMA_ROOT:-}
    class=$root/sys/class/infiniband
    checks='' netns='' mtu=${ZEROCOPY_RDMA_MTU:-}
    if [ "${1:-}" = --check ]; then
        checks=1 netns=${ZEROCOPY_RDMA_NETNS:-}
        [ $# -eq 1 ] || usage "--check stands alone: rdma-env.sh --check"
        [ -z "${DRANET_NETNS:-}" ] || enter
    fi
    mode=${ZEROCOPY_RDMA:-required} family=${ZEROCOPY_RDMA_FAMILY:-4}
    wait=${ZEROCOPY_RDMA_WAIT:-${netns:+5}} wait=${wait:-30}
    wanted=${ZEROCOPY_RDMA_DEVICES:-1} libraries=${ZEROCOPY_RDMA_LIBRARIES:-all} map=${ZEROCOPY_RDMA_MAPPING:-auto}
    memlock=${ZEROCOPY_RDMA_MEMLOCK:-unlimited} rails=${ZEROCOPY_RDMA_RAILS:-}
    [ $# -gt 0 ] || usage "no command: rdma-env.sh COMMAND [ARGUMENT]..., or rdma-env.sh --check"
    case $mode in required | optional | off) ;; *) usage "ZEROCOPY_RDMA=$mode is not required, optional or off" ;; esac
    case $family in 4 | 6) ;; *) usage "ZEROCOPY_RDMA_FAMILY=$family is not 4 or 6" ;; esac
    case $libraries in
    all | system | none) ;;
    *) usage "ZEROCOPY_RDMA_LIBRARIES=$libraries is not all, system or none" ;;
    esac
    case $map in auto | yes | no) ;; *) usage "ZEROCOPY_RDMA_MAPPING=$map is not auto, yes or no" ;; esac
    case $rails in '' | all | some | subnet) ;; *) usage "ZEROCOPY_RDMA_RAILS=$rails is not all, some or subnet" ;; esac
    number "$wait" || usage "ZEROCOPY_RDMA_WAIT=$wait is not a number of seconds"
    number "$wanted" || usage "ZEROCOPY_RDMA_DEVICES=$wanted is not a number"
    [ -z "$mtu" ] || number "$mtu" || usage "ZEROCOPY_RDMA_MTU=$mtu is not a number of bytes"
    [ "$memlock" = unlimited ] || number "$memlock" ||
        usage "ZEROCOPY_RDMA_MEMLOCK=$memlock is not unlimited or a number"
    [ "$mode" = off ] || prepare
    return 0
}

zerocopy_rdma_settings=$(settings "$@") || exit
[ "$1" != --check ] || exit 0
eval "$zerocopy_rdma_settings"
unset zerocopy_rdma_settings
exec "$@"
