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

# watch_build PID LOG NAME: prints the progress of a build, in place on a terminal and every half minute elsewhere.
watch_build() {
	local start=$SECONDS every=30
	[ -t 1 ] && every=1
	while kill -0 "$1" 2>/dev/null; do
		sleep 1
		(((SECONDS - start) % every)) && continue
		local line="building $3: $(wc -l <"$2") packages compiled, $((SECONDS - start)) s"
		if [ -t 1 ]; then printf '\r%s: %s\033[K' "$label" "$line"; else say "$line"; fi
	done
	[ -t 1 ] && printf '\r\033[K'
	return 0
}

# build NAME MODULE_DIR PACKAGE [FLAG...]: builds a program into the cache; the flags are those of go build.
build() {
	local name=$1 module=$2 package=$3 log start=$SECONDS pid
	shift 3
	log=$(mktemp)
	mkdir -p "$(dirname "$cache/$name")"
	# -v prints a line for each package that had to be compiled: that is the progress.
	(cd "$module" && CGO_ENABLED=0 GOWORK=off go build -v -trimpath "$@" -o "$cache/$name.partial" "$package") >"$log" 2>&1 &
	pid=$!
	trap 'kill "$pid" 2>/dev/null || true' INT TERM EXIT
	watch_build "$pid" "$log" "$name"
	if ! wait "$pid"; then
		trap - INT TERM EXIT
		say "building $name failed; the last lines were:" >&2
		tail -n 20 "$log" >&2
		rm -f "$log"
		exit 1
	fi
	trap - INT TERM EXIT
	mv "$cache/$name.partial" "$cache/$name"
	say "built $name in $((SECONDS - start)) s"
	rm -f "$log"
}
