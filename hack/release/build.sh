#!/usr/bin/env bash
# build.sh VERSION: creates all files of a release in dist/VERSION. docs/tasks/release.md lists them. The same commit gives the same files, as
# long as Debian's archive, on which the workspace's image is based, stays the same.
# Environment: PLATFORMS (images; default linux/amd64,linux/arm64), PLUGIN_PLATFORMS (default linux and macOS, amd64 and arm64),
# FIPS (the version of Go's FIPS 140-3 module; default v1.0.0; empty: no FIPS images), IMAGE_REPOSITORY, IMAGE_PUSH (as in make images; the
# charts are pushed too, to IMAGE_PUSH/charts), RELEASE_SIGNING_KEY (a file with a private key, PKCS #8 in PEM, ECDSA or Ed25519; without it
# nothing is signed).
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:?usage: build.sh VERSION}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "build.sh: VERSION must be like 0.2.0 or 0.2.0-rc.1, not $version" >&2; exit 1; }
# The images of a release do not contain the Dockerfile's base images. Those who build with Docker from its tag get them.
if ! hack/release/pinned.sh Dockerfile && [ -n "${IMAGE_PUSH:-}${RELEASE_SIGNING_KEY:-}" ]; then
	echo "build.sh: a release with unpinned base images is neither pushed nor signed" >&2
	exit 1
fi
out=$PWD/dist/$version
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
mkdir -p "$out"

say() { printf 'release: %s\n' "$*"; }

# plugin OS ARCH: creates a reproducible archive of kubectl-nestor, without times and owners.
plugin() {
	local dir
	dir=$(mktemp -d)
	CGO_ENABLED=0 GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=false \
		-ldflags "-s -w -buildid= -X github.com/nestor-dev/nestor/internal/version.version=$version" -o "$dir/kubectl-nestor" ./cmd/kubectl-nestor
	cp LICENSE hack/krew/kubectl_complete-nestor "$dir"
	hack/release/archive.sh "$dir" "$out/kubectl-nestor_v${version}_$1_$2.tar.gz"
	rm -rf "$dir"
}

if command -v npm >/dev/null; then
	# The page comes first: the programs in the images contain it.
	say "web page"
	make --no-print-directory web >/dev/null
	hack/release/archive.sh web/dist "$out/nestor-web_$version.tar.gz" web/dist
	say "site of the documentation"
	make --no-print-directory site >/dev/null
	hack/release/archive.sh dist/site "$out/nestor-docs_$version.tar.gz" "nestor-docs_$version"
else
	say "no npm: the release has no web page and no site of the documentation"
fi
say "images"
make --no-print-directory images VERSION="$version" IMAGES="$out" PLATFORMS="${PLATFORMS:-linux/amd64,linux/arm64}" FIPS=
if [ -n "${FIPS-v1.0.0}" ]; then
	say "FIPS images"
	make --no-print-directory images VERSION="$version" IMAGES="$out" PLATFORMS="${PLATFORMS:-linux/amd64,linux/arm64}" FIPS="${FIPS-v1.0.0}"
fi
rm -rf "$out/.programs"
go run ./hack/release images "$out" "$version"
cp hack/release/mirror.sh "$out"
for platform in ${PLUGIN_PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
	say "kubectl-nestor for $platform"
	plugin "${platform%/*}" "${platform#*/}"
done
if [ -z "${PLUGIN_PLATFORMS:-}" ]; then
	go run ./hack/release krew "$out" "$version" hack/krew/nestor.yaml
else
	say "no krew.yaml: it needs the plugin for all platforms"
fi
say "charts, manifests and OLM bundle"
hack/release/installation.sh "$out" "$version"
hack/release/notes.sh "$version" "$out" >"$out/NOTES.md"
go run ./hack/provenance state "$out" "$version" "$(git rev-parse HEAD)"
(cd "$out" && rm -f SHA256SUMS SHA256SUMS.sig PROVENANCE.dsse.json && sha256sum -- * >SHA256SUMS)
if [ -n "${RELEASE_SIGNING_KEY:-}" ]; then
	say "signatures"
	go run ./hack/provenance sign "$out" "$RELEASE_SIGNING_KEY"
else
	say "no RELEASE_SIGNING_KEY: nothing is signed"
fi
if [ -n "${IMAGE_PUSH:-}" ]; then
	say "charts to $IMAGE_PUSH/charts"
	hack/release/push-charts.sh "$out" "$IMAGE_PUSH"
fi
say "all files are in $out"
