#!/usr/bin/env bash
# run.sh [IMAGE.tar...]: runs a real one-node Kubernetes on this machine until its input is closed or it gets a signal.
#
# The node has its own network, mount and process namespaces and its own cgroup. When this script ends, in whatever way, a
# cleaner ends the node's first process, and so the kernel ends all others, mounts and interfaces included; then it removes
# the cgroup and the directory, and sets back the kernel settings that the kubelet changed.
#
# Environment: NODE_BIN (from install.sh), NODE_DIR (a new directory; default a temporary one), NODE_TIMEOUT (seconds to start),
# NODE_SNAPSHOTTER (native where overlayfs is not available), NODE_REPOSITORY (images also get the names NODE_REPOSITORY/ARCHIVE@DIGEST). When the node is ready it prints the path of a kubeconfig.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo "node: namespaces and cgroups need root: use sudo, or give a cluster with E2E_KUBECONFIG" >&2; exit 1; }
export NODE_BIN=${NODE_BIN:-$here/../../bin/node}
NODE_BIN=$(realpath "$NODE_BIN")
if [ -n "${NODE_DIR:-}" ]; then mkdir "$NODE_DIR" && NODE_DIR=$(realpath "$NODE_DIR"); else NODE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/nestor-node.XXXXXX"); fi
export NODE_DIR
# shellcheck source=lib.sh
. "$here/lib.sh"
deadline=$((SECONDS + ${NODE_TIMEOUT:-300}))

# fail TEXT: prints a failure with the logs, and exits.
fail() {
	say "$*" >&2
	[ -e "$RUN/failed" ] && cat "$RUN/failed" >&2
	local log
	for log in "$LOG"/*.log; do [ -s "$log" ] && { echo "--- ${log##*/}"; tail -n 8 "$log"; } >&2; done
	exit 1
}

# await WHAT COMMAND...: waits until a command succeeds.
await() {
	local what=$1
	shift
	until "$@" >/dev/null 2>&1; do
		[ ! -e "$RUN/failed" ] || fail "a part of the node has ended"
		kill -0 "$namespaces" 2>/dev/null || fail "the node has ended"
		[ "$SECONDS" -lt "$deadline" ] || fail "$what was not ready after $SECONDS s"
		sleep 0.2
	done
}

inside() { nsenter -t "$(cat "$RUN/init.pid")" -n -m -p -- "$@"; }
ctl() { inside ctr -a "$RUN/containerd.sock" -n k8s.io "$@"; }

free_port() {
	local port
	while :; do
		port=$((RANDOM % 20000 + 20000))
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
	done
}

# make_cgroups makes the node's cgroup. With cgroup v2 it has the controllers that its parent passes on.
make_cgroups() {
	local dir controller
	if [ -e /sys/fs/cgroup/cgroup.subtree_control ]; then
		for controller in cpu cpuset memory pids io hugetlb; do echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control; done 2>/dev/null || true
	fi
	cgroup_dirs | while read -r dir; do mkdir "$dir"; done
}

start_node() {
	mkdir -p "$RUN" "$LOG/pods" "$NODE_DIR/volumes"
	kernel_settings >"$NODE_DIR/sysctl"
	# The cleaner reads the other end of this descriptor, and continues when it is closed everywhere.
	mkfifo "$NODE_DIR/lifeline"
	setsid "$here/clean.sh" "$NODE_DIR" <"$NODE_DIR/lifeline" >/dev/null 2>&1 &
	cleaner=$!
	exec 8>"$NODE_DIR/lifeline"
	make_cgroups
	"$here/pki.sh" "$port"
	"$here/configure.sh"
	setsid unshare --net --mount --pid --fork --kill-child --mount-proc --propagation private "$here/init.sh" </dev/null >"$LOG/init.log" 2>&1 8>&- &
	namespaces=$!
	echo "$namespaces" >"$RUN/unshare.pid"
	await "the namespace" pgrep -P "$namespaces"
	pgrep -P "$namespaces" >"$RUN/init.pid"
}

# furnish_node installs what a cluster has besides the API: images, name resolution and volumes.
furnish_node() {
	local image words
	await containerd ctl version
	for image in "$@"; do
		words=$(ctl images import "$(realpath "$image")" 2>&1) || fail "image $image cannot be imported: $words"
		[ -n "${NODE_REPOSITORY:-}" ] || continue
		words=$(ctl images import --digests --base-name "$NODE_REPOSITORY/$(basename "$image" .tar)" "$(realpath "$image")" 2>&1) || fail "image $image cannot be imported: $words"
	done
	sed "s#@VOLUMES@#$NODE_DIR/volumes#g" "$here/volumes.yaml" | kubectl apply -f - >/dev/null
	mkdir -m 777 "$NODE_DIR"/volumes/{1..6}
	await "the node" kubectl wait --for=condition=Ready "node/$NODE_NAME" --timeout=10s
	say "the node is Ready after $SECONDS s"
	kubectl apply -f "$here/coredns.yaml" >/dev/null
	await CoreDNS kubectl -n kube-system rollout status deployment/coredns --timeout=10s
}

# finish starts the cleaner and waits for it.
finish() {
	trap '' INT TERM HUP
	[ -z "${input:-}" ] || kill "$input" 2>/dev/null || true
	exec 8>&-
	wait "${cleaner:-}" || true
	say "stopped; nothing is left"
}

port=$(free_port)
trap 'exit 130' INT TERM HUP
trap finish EXIT
start_node
export KUBECONFIG=$NODE_DIR/kubeconfig
await "the API server" test -e "$RUN/started"
await "the relay" test -S "$RUN/api.sock"
socat "TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr" "UNIX-CONNECT:$RUN/api.sock" </dev/null >"$LOG/relay-outside.log" 2>&1 8>&- &
echo $! >"$RUN/relay.pid"
disown
await "the relay" kubectl get --raw /readyz
say "the API server is ready after $SECONDS s"
furnish_node "$@"
say "ready after $SECONDS s: $KUBECONFIG"

# Until the input is closed (the caller has ended) or the node ends.
cat <&0 >/dev/null 2>&1 8>&- &
input=$!
echo "$input" >"$RUN/input.pid"
wait -n "$input" "$namespaces" || true
[ ! -e "$RUN/failed" ] || fail "the node has ended by itself"
