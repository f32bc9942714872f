# Functions that build programs from Go modules into a per-user cache, for the install.sh scripts in hack/. They set
#   label    the prefix of output lines
#   cache    the directory of built programs
#   binaries the names of the programs, relative to the cache and to the directory of links
# shellcheck shell=bash disable=SC2154

say() { printf '%s: %s\n' "$label" "$*"; }

# user_cache NAME: prints the cache directory of one version for this platform.
user_cache() { echo "${XDG_CACHE_HOME:-${HOME:?set HOME or XDG_CACHE_HOME}/.cache}/nestor/$1-$(go env GOOS)-$(go env GOARCH)"; }

# missing DIR: prints the binaries that DIR lacks.
missing() {
	local name
	for name in "${binaries[@]}"; do [ -x "$1/$name" ] || echo "$name"; done
}

# link SOURCE TARGET: links instead of copying, so that a second clone needs no space.
link() { mkdir -p "$(dirname "$2")" && ln -sfn "$1" "$2"; }

# lock_cache: locks the cache, so that a second clone waits for the build of the first.
lock_cache() {
	mkdir -p "$cache"
	exec 9>"$cache/.lock"
	if command -v flock >/dev/null && ! flock -n 9; then
		say "another build is under way on this machine; waiting for it"
		flock 9
	fi
}

# watch_process PID LOG WHAT SECONDS: prints the progress of a process, in place on a terminal and every half minute elsewhere.
watch_process() {
	local start=$SECONDS every=30 line packages
	[ -t 1 ] && every=1
	while kill -0 "$1" 2>/dev/null; do
		sleep 1
		(((SECONDS - start) % every)) && continue
		line="building $3: $((SECONDS - start)) s of about $4 s"
		packages=$(grep -cE '^[^ :]+$' "$2" || true)
		((packages < 5)) || line+=", $packages packages compiled"
		if [ -t 1 ]; then printf '\r%s: %s\033[K' "$label" "$line"; else say "$line"; fi
	done
	[ -t 1 ] && printf '\r\033[K'
	return 0
}

# with_progress WHAT SECONDS COMMAND...: runs a build, which takes about that many seconds on two processors if nothing is cached, and
# prints its progress. The output is printed if it fails. With -v, go build prints a line for each package that had to be compiled.
with_progress() {
	local what=$1 seconds=$2 log start=$SECONDS pid
	shift 2
	log=$(mktemp)
	"$@" >"$log" 2>&1 &
	pid=$!
	trap 'kill "$pid" 2>/dev/null || true' INT TERM EXIT
	watch_process "$pid" "$log" "$what" "$seconds"
	if ! wait "$pid"; then
		trap - INT TERM EXIT
		say "building $what failed; the last lines were:" >&2
		tail -n 20 "$log" >&2
		rm -f "$log"
		return 1
	fi
	trap - INT TERM EXIT
	rm -f "$log"
	say "built $what in $((SECONDS - start)) s"
}

# build NAME SECONDS MODULE_DIR PACKAGE [FLAG...]: builds a program into the cache; the flags are those of go build.
build() {
	local name=$1 seconds=$2 module=$3 package=$4
	shift 4
	mkdir -p "$(dirname "$cache/$name")"
	with_progress "$name" "$seconds" env CGO_ENABLED=0 GOWORK=off go build -C "$module" -v -trimpath "$@" -o "$cache/$name.partial" "$package" || exit 1
	mv "$cache/$name.partial" "$cache/$name"
}
