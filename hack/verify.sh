#!/usr/bin/env bash
# verify.sh [quick]: runs all checks of the sources besides the tests. It updates generated files that are out of
# date, and reports that. quick runs only the checks that take seconds, for a commit hook.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
check() {
	local name=$1
	shift
	printf 'verify: %s\n' "$name"
	if ! "$@"; then
		printf 'verify: FAILED: %s\n' "$name" >&2
		failed=1
	fi
}

# Generated files are compared with a fresh generation, whether they are committed or not.
generated() {
	local paths=(api/v1beta1/zz_generated.*.go internal/conditions config/gitops api/history/v1beta1/zz_generated.*.go internal/history/openapi
		config/crd/bases config/rbac config/operator config/monitoring/prometheusrule.yaml charts/nestor/files charts/nestor-crds/files
		docs/reference/api.md docs/reference/conditions.md docs/reference/chart.md docs/reference/cli.md docs/reference/history-api.md docs/reference/metrics.md
		docs/images/turn.svg docs/images/approval.svg docs/images/ledger-and-etcd.svg docs/images/workspace-network.svg)
	local before after
	before=$(find "${paths[@]}" -type f -exec sha256sum {} + | sort)
	make --no-print-directory generate >/dev/null 2>&1 || make --no-print-directory generate
	after=$(find "${paths[@]}" -type f -exec sha256sum {} + | sort)
	if [ "$before" != "$after" ]; then
		echo "generated files were out of date; they are current now, commit them:" >&2
		diff <(echo "$before") <(echo "$after") | sed -n 's/^> [0-9a-f]* */  /p' >&2
		return 1
	fi
}

formatted() {
	local files
	files=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -s -l)
	[ -z "$files" ] || { echo "run gofmt -s -w on: $files" >&2; return 1; }
}

tidy() {
	go mod tidy -diff || { echo "run go mod tidy" >&2; return 1; }
	local dir
	for dir in hack/gitops hack/images; do
		(cd "$dir" && go mod tidy -diff) || { echo "run go mod tidy in $dir" >&2; return 1; }
	done
	# The other nested modules have tools, not code. Tidying would need the tests of all their dependencies, which conflict
	# with each other; what matters is that go.mod says everything that building the tools needs.
	for dir in hack/tools hack/controlplane hack/monitoring hack/realnode; do
		(cd "$dir" && go list -mod=readonly -deps tool >/dev/null) || { echo "go.mod in $dir lacks something" >&2; return 1; }
	done
}

scripts() {
	local file
	while read -r file; do bash -n "$file" || return 1; done < <(git ls-files -co --exclude-standard '*.sh' .ci/run)
}

# Code that only tests reach is dead.
reached() {
	local found allowed
	found=$(go tool -modfile=hack/tools/go.mod deadcode -f '{{range .Funcs}}{{$.Path}}.{{.Name}}{{"\n"}}{{end}}' ./cmd/... | sed '/^$/d' | LC_ALL=C sort) || return 1
	allowed=$(sed -e '/^#/d' -e 's/ .*//' hack/deadcode.txt | LC_ALL=C sort)
	[ "$found" = "$allowed" ] && return
	LC_ALL=C comm -23 <(echo "$found") <(echo "$allowed") | sed 's/^/only tests reach it, wire it or delete it: /' >&2
	LC_ALL=C comm -13 <(echo "$found") <(echo "$allowed") | sed 's/^/reached or gone, delete its line in hack\/deadcode.txt: /' >&2
	return 1
}

# Comments, strings, names, pages and subjects of commits use the words of the glossary.
prose() {
	git ls-files -co --exclude-standard '*.go' README.md SECURITY.md CHANGELOG.md 'docs/*.md' 'charts/*.md' 'web/src/*.ts' 'web/src/*.tsx' |
		grep -v -e zz_generated -e docs/reference/glossary.md -e '\.test\.ts' |
		xargs go run ./hack/prose && git log --no-merges --format=%s -n 1 | go run ./hack/prose -
}

# Prose ends before column 120. Tables, headings, images, code and single links have no line breaks to choose, and
# generated pages have those of their sources.
columns() {
	local wide
	wide=$(git ls-files -co --exclude-standard '*.md' ':!CHANGELOG.md' ':!internal' ':!config' ':!test' ':!web' ':!docs/performance.md' |
		grep -v -e '^docs/reference/\(api\|chart\|cli\|conditions\|history-api\|metrics\)\.md$' -e '/SKILL\.md$' |
		xargs awk 'FNR == 1 { code = 0 } /^ *```/ { code = !code }
			!code && !/^ *(\||#|<|!\[)/ && !/^ *([-*] )?\[[^]]*\]\([^ ]*$/ { print FILENAME ":" FNR "\t" $0 }' |
		LC_ALL=C.UTF-8 grep -E $'\t.{121,}' | cut -f1) || return 0
	printf 'longer than 120 columns: %s\n' $wide >&2
	return 1
}

# Messages, help texts and pages name fields that exist. Decision records and the changelog are about the fields of their time.
fields() {
	git ls-files -co --exclude-standard '*.go' '*.md' 'web/src/*.ts' 'web/src/*.tsx' 'config/crd/bases/*.yaml' config/operator/policies.yaml |
		grep -v -e _test.go -e '^test/' -e zz_generated -e '^docs/adr/' -e '\.test\.ts' -e '^CHANGELOG.md$' -e '^docs/reference/v1beta1.md$' | xargs go run ./hack/fieldpaths
}

check "Go files are formatted" formatted
check "comments, strings, names and pages use the words of the glossary" prose
check "prose ends before column 120" columns
check "fields that texts name exist" fields
check "shell scripts parse" scripts
check "packages import only what they may" go test ./test/arrows
[ "${1:-}" != quick ] || exit "$failed"
check "generated files are current" generated
check "module files are tidy" tidy
check "charts are as Helm likes them" make --no-print-directory chart-lint
check "everything compiles" go build ./...
check "the programs reach all of their code" reached
check "reasons are set and tested, fields of specs are read" go test ./test/declarations
check "the dashboard and the alerts hold" make --no-print-directory monitoring-check
check "no known vulnerability is reached" hack/vulnerabilities.sh
check "lint" go tool -modfile=hack/tools/go.mod golangci-lint run
exit "$failed"
