#!/usr/bin/env bash
# clean.sh NODE_DIR: waits until its input is closed, when run.sh has ended, and then removes everything that is left of the node.
set -uo pipefail
trap '' INT TERM HUP
export NODE_DIR=$1
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
cat >/dev/null

# end PIDFILE: kills a recorded process and waits until it is gone.
end() {
	local pid
	pid=$(cat "$1" 2>/dev/null) || return 0
	# It may have ended, and another program may have its ID now; ours have their directory in the command line.
	grep -qzxF "NODE_DIR=$NODE_DIR" "/proc/$pid/environ" 2>/dev/null || return 0
	kill -KILL "$pid" 2>/dev/null
	for _ in $(seq 300); do kill -0 "$pid" 2>/dev/null || return 0; sleep 0.1; done
}

end "$RUN/input.pid"
end "$RUN/relay.pid"
end "$RUN/unshare.pid" # which ends the first process of the node with it
end "$RUN/init.pid"
[ -s "$NODE_DIR/sysctl" ] && sysctl -qp "$NODE_DIR/sysctl" 2>/dev/null
for _ in $(seq 100); do
	left=$(cgroup_dirs | while read -r dir; do [ ! -d "$dir" ] || find "$dir" -depth -type d ! -exec rmdir {} \; -print 2>/dev/null; done)
	[ -n "$left" ] || break
	sleep 0.1
done
[ -n "${NODE_KEEP:-}" ] || rm -rf "$NODE_DIR"
