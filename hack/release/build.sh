#!/usr/bin/env bash
# build.sh VERSION: creates all files of a release in dist/VERSION: images with bills of materials, charts, archives of the kubectl
# plugin as hack/krew names them, the built web page and the site of the documentation (both need npm), the notes, PROVENANCE.json and SHA256SUMS. With a key they are signed. The same commit gives the same files, as long as Debian's archive, on
# which the workspace's image is based, stays the same.
# Environment: PLATFORMS (images; default linux/amd64,linux/arm64), PLUGIN_PLATFORMS (default linux and macOS, amd64 and arm64),
# IMAGE_REPOSITORY, IMAGE_PUSH (as in make images; the charts are pushed too, to IMAGE_PUSH/charts), RELEASE_SIGNING_KEY (a file with a private key, PKCS #8 in PEM, ECDSA or Ed25519;
# without it nothing is signed).
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
	hack/release/archive.sh "$dir" "$out/kubectl-nestor_${version}_$1_$2.tar.gz"
	rm -rf "$dir"
}

# charts: packages the charts. Helm keeps the times of files, so the files are extracted from the commit and have its time.
charts() {
	local dir chart
	dir=$(mktemp -d)
	git archive HEAD charts | tar -x -C "$dir"
	for chart in "$dir"/charts/*/Chart.yaml; do
		go tool -modfile=hack/tools/go.mod helm package "$(dirname "$chart")" --version "$version" --app-version "$version" --destination "$out" >/dev/null
	done
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
make --no-print-directory images VERSION="$version" IMAGES="$out" PLATFORMS="${PLATFORMS:-linux/amd64,linux/arm64}"
rm -rf "$out/.programs"
for platform in ${PLUGIN_PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
	say "kubectl-nestor for $platform"
	plugin "${platform%/*}" "${platform#*/}"
done
say "charts"
charts
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
