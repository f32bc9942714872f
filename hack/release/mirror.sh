#!/usr/bin/env bash
# mirror.sh copies the images and charts of a release to a registry.
set -euo pipefail
usage() {
	cat <<'TEXT'
mirror.sh [--fips] REGISTRY

Copies the images and charts of this directory to a registry, for clusters without internet access. It uses skopeo or
crane for the images, whichever is installed, and helm for the charts; without helm it leaves the charts out. The
credentials are those of these programs. The digests stay the same, so the charts refer to the copies with

  helm install nestor oci://REGISTRY/nestor-dev/charts/nestor --set image.registry=REGISTRY

  --fips   copy the FIPS images too
  --help   print this text
TEXT
}
fips=
while [ $# -gt 0 ]; do
	case $1 in
	--help | -h) usage && exit ;;
	--fips) fips=1 && shift ;;
	-*) echo "mirror.sh: there is no flag $1; see --help" >&2 && exit 2 ;;
	*) break ;;
	esac
done
[ $# = 1 ] || { usage >&2; exit 2; }
registry=${1%/}
cd "$(dirname "$0")"
sha256sum --quiet --check --ignore-missing SHA256SUMS

if command -v skopeo >/dev/null; then
	copy() { skopeo copy --all --preserve-digests "oci-archive:$1" "docker://$2"; }
elif command -v crane >/dev/null; then
	# crane reads a layout from a directory only.
	copy() {
		local layout
		layout=$(mktemp -d)
		tar -x -C "$layout" -f "$1"
		crane push "$layout" "$2"
		rm -rf "$layout"
	}
else
	echo "mirror.sh: install skopeo or crane first" >&2
	exit 1
fi
while read -r image; do
	name=${image%@*}
	archive=${name##*/}
	archive=${archive%:*}.tar
	if [[ $name = *-fips ]]; then
		[ -n "$fips" ] || continue
		archive=${archive%.tar}-fips.tar
	fi
	echo "mirror.sh: $registry/$image"
	copy "$archive" "$registry/$name"
done <images.txt
if ! command -v helm >/dev/null; then
	echo "mirror.sh: without helm the charts are not copied: install them from the files *.tgz"
	exit
fi
for chart in *.tgz; do helm push "$chart" "oci://$registry/nestor-dev/charts"; done
