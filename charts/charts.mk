# The charts, and what is made from them.

##@ Charts

HELM := $(TOOL) helm
HELM_DOCS := $(TOOL) helm-docs --dry-run --log-level=warning --sort-values-order=file --template-files=$(CURDIR)/hack/chart-values.gotmpl

# It comes last in `make generate`: the charts hold copies of what was generated before.
.PHONY: generate-charts
generate-charts: ## Copy definitions, permissions and alerts into the charts, and make config/operator and the reference of their values
	rm -f charts/nestor-crds/files/*.yaml
	cp config/crd/bases/*.yaml charts/nestor-crds/files/
	rm -f charts/nestor/files/policies/*.yaml
	cp $(filter-out %/kustomization.yaml,$(wildcard config/policies/*.yaml)) charts/nestor/files/policies/
	cp config/rbac/role.yaml config/monitoring/rules.yaml config/monitoring/dashboard.json charts/nestor/files/
	go run ./hack/builtinroles charts/nestor/files/roles.yaml
	@# The resource policy is Helm's; Kustomize deletes what it is told to.
	$(HELM) template nestor charts/nestor --namespace nestor-system --skip-tests --set ledger.sqlite.volume=Delete | go run ./hack/manifests config/operator
	@{ cat hack/chart-values.md; $(HELM_DOCS) --chart-search-root=charts/nestor; $(HELM_DOCS) --chart-search-root=charts/nestor-crds; } >docs/reference/chart.md
	@# helm-docs lists a value without a comment, with nothing in the last column.
	@if grep '|  |$$' docs/reference/chart.md; then echo 'the values above need a comment in values.yaml that begins with "# -- "' >&2; exit 1; fi

.PHONY: chart-lint
chart-lint: ## Lint the charts
	$(HELM) lint --strict charts/nestor charts/nestor-crds

.PHONY: chart-package
chart-package: ## Package the charts into bin/charts (CHART_VERSION=1.2.3 for a release)
	mkdir -p bin/charts
	$(HELM) package charts/nestor charts/nestor-crds --destination bin/charts $(if $(CHART_VERSION),--version $(CHART_VERSION) --app-version $(CHART_VERSION))
