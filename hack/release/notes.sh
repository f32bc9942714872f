#!/usr/bin/env bash
# notes.sh VERSION [IMAGES_DIR]: prints the notes of a release in Markdown: the changelog's section of that version (while it
# has none, the one called Unreleased), what was committed since the release before, and the digests of the images.
set -euo pipefail
version=${1:?usage: notes.sh VERSION [IMAGES_DIR]}
root=$(git rev-parse --show-toplevel)
images=${2:-$root/dist/images}

# section NAME: the text under a heading of the changelog, without blank lines at its ends.
section() {
	awk -v name="$1" '/^## / {inside = ($2 == name); next} inside {text = text $0 "\n"} END {gsub(/^\n+|\n+$/, "", text); print text}' "$root/CHANGELOG.md"
}

text=$(section "$version")
[ -n "$text" ] || text=$(section Unreleased)
[ -n "$text" ] || { echo "notes.sh: CHANGELOG.md has no section for $version, and none called Unreleased" >&2; exit 1; }
printf '# Nestor %s\n\n%s\n' "$version" "$text"

# The commit that is released: the tag's, or the one that will be tagged.
end=HEAD
git rev-parse -q --verify "refs/tags/v$version" >/dev/null && end=v$version
before=$(git describe --tags --abbrev=0 "$end^" 2>/dev/null || true)
printf '\n## Commits%s\n\n' "${before:+ since $before}"
git log --no-merges --format='- %s (%h)' "${before:+$before..}$end"

if compgen -G "$images/*.spdx.json" >/dev/null; then
	printf '\n## Images\n\n| image | digest |\n|---|---|\n'
	for bill in "$images"/*.spdx.json; do
		name=$(basename "$bill" .spdx.json)
		# The document's namespace ends with the image's digest.
		digest=$(sed -n 's|.*"documentNamespace": ".*/\([0-9a-f]\{64\}\)".*|\1|p' "$bill")
		# shellcheck disable=SC2016 # the backticks are Markdown
		case $name in nestor-*) printf '| `%s` | `sha256:%s` |\n' "$name" "$digest" ;; esac
	done
	printf '\nEach image comes with an SPDX document that says what is in it; `SHA256SUMS` has the checksums of all files.\n'
fi
