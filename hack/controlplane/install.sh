#!/usr/bin/env bash
# install.sh DIR: puts etcd, kube-apiserver, kube-controller-manager and kubectl into DIR as links.
#
# Each binary comes from the first place that has it:
#   1. the directory in KUBEBUILDER_ASSETS, if that is set;
#   2. the per-user cache, keyed by version, operating system and architecture;
#   3. the prebuilt envtest archive (it has no controller manager), unless CONTROL_PLANE_PREBUILT=0;
#   4. a build from Go modules with the nested module beside this script.
# What 3 and 4 produce goes into the cache, so a second clone only links.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
dest=${1:?usage: install.sh DIR}
version=$(sed -n 's/^\tk8s\.io\/kubernetes \(v[0-9.]*\).*/\1/p' "$here/go.mod")
platform=$(cd "$here" && go env GOOS)-$(cd "$here" && go env GOARCH)
cache=${XDG_CACHE_HOME:-${HOME:?set HOME or XDG_CACHE_HOME}/.cache}/nestor/control-plane/$version-$platform
binaries=(etcd kube-apiserver kube-controller-manager kubectl)

say() { printf 'control-plane: %s\n' "$*"; }

package_of() {
	case $1 in
	etcd) echo go.etcd.io/etcd/server/v3 ;;
	*) echo "k8s.io/kubernetes/cmd/$1" ;;
	esac
}

# link SOURCE NAME: a link, not a copy, so that a second clone costs nothing.
link() { mkdir -p "$dest" && ln -sfn "$1" "$dest/$2"; }

missing() {
	local name
	for name in "${binaries[@]}"; do [ -x "$1/$name" ] || echo "$name"; done
}

# version_flags stamps the release into the binaries; without it they call themselves v0.0.0-master and version
# checks between client and server fail.
version_flags() {
	local commit major minor field pkg
	commit=$(cd "$here" && go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"Hash": "\([0-9a-f]*\)".*/\1/p')
	IFS=. read -r major minor _ <<<"${version#v}"
	for pkg in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		for field in "gitVersion=$version" "gitMajor=$major" "gitMinor=$minor" "gitCommit=${commit:-unknown}" \
			gitTreeState=clean buildDate=1970-01-01T00:00:00Z; do
			printf -- '-X %s.%s ' "$pkg" "$field"
		done
	done
}

# watch_build PID LOG NAME: tells how far a build is, in place on a terminal and every half minute elsewhere.
watch_build() {
	local start=$SECONDS every=30
	[ -t 1 ] && every=1
	while kill -0 "$1" 2>/dev/null; do
		sleep 1
		(((SECONDS - start) % every)) && continue
		local line="building $3: $(wc -l <"$2") packages compiled, $((SECONDS - start)) s"
		if [ -t 1 ]; then printf '\rcontrol-plane: %s\033[K' "$line"; else say "$line"; fi
	done
	[ -t 1 ] && printf '\r\033[K'
	return 0
}

build() {
	local name=$1 log start=$SECONDS pid
	log=$(mktemp)
	# -v prints a line for each package that had to be compiled: that is the progress.
	(cd "$here" && CGO_ENABLED=0 GOWORK=off go build -v -trimpath -ldflags "-s -w $(version_flags)" \
		-o "$cache/.$name.partial" "$(package_of "$name")") >"$log" 2>&1 &
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
	mv "$cache/.$name.partial" "$cache/$name"
	say "built $name $version in $((SECONDS - start)) s"
	rm -f "$log"
}

fetch_prebuilt() {
	[ "${CONTROL_PLANE_PREBUILT:-1}" = 1 ] || return 1
	local dir
	say "looking for prebuilt binaries of ${version#v} (CONTROL_PLANE_PREBUILT=0 skips this)"
	dir=$(timeout 300 go tool -modfile="$here/../tools/go.mod" setup-envtest use "${version#v}" --bin-dir "$cache/envtest" -p path 2>/dev/null) || return 1
	local name
	for name in etcd kube-apiserver kubectl; do
		[ -x "$dir/$name" ] && cp "$dir/$name" "$cache/$name"
	done
	say "prebuilt etcd, kube-apiserver and kubectl taken"
}

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
	[ -d "$KUBEBUILDER_ASSETS" ] || { say "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS is not a directory" >&2; exit 1; }
	for name in "${binaries[@]}"; do
		if [ -x "$KUBEBUILDER_ASSETS/$name" ]; then link "$(cd "$KUBEBUILDER_ASSETS" && pwd)/$name" "$name"; fi
	done
	if [ -z "$(missing "$KUBEBUILDER_ASSETS")" ]; then
		say "all binaries come from KUBEBUILDER_ASSETS"
		exit 0
	fi
	say "KUBEBUILDER_ASSETS lacks $(missing "$KUBEBUILDER_ASSETS" | tr '\n' ' ')- taking those from elsewhere"
fi

# Two clones may build at the same time; the second waits and then finds everything in the cache.
mkdir -p "$cache"
exec 9>"$cache/.lock"
if command -v flock >/dev/null && ! flock -n 9; then
	say "another build of $version is under way on this machine; waiting for it"
	flock 9
fi

if [ -n "$(missing "$cache")" ]; then
	[ -z "$(ls "$cache")" ] && { fetch_prebuilt || say "no prebuilt binaries to be had; building from Go modules (about ten minutes on two cores, once)"; }
	for name in $(missing "$cache"); do build "$name"; done
fi

for name in "${binaries[@]}"; do
	if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$name" ]; then continue; fi
	link "$cache/$name" "$name"
done
say "$version is in $dest"
