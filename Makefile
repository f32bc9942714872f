# Nestor's Makefile. `make help` is the index; CI runs the same targets that a person runs.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOL := go tool -modfile=hack/tools/go.mod
K8S_BIN := $(CURDIR)/bin/k8s
# Runs a build and prints its progress: $(PROGRESS) WHAT SECONDS COMMAND...
PROGRESS := label=demo bash -euc '. hack/gobuild.sh && with_progress "$$@"' build
# The version of charts, images and programs. Programs that are built between releases have the commit as well: 0.1.0+0a96f0b5.
VERSION ?= $(shell cat VERSION)
COMMIT := $(shell git describe --exact-match --tags >/dev/null 2>&1 || git describe --always --dirty --exclude '*' 2>/dev/null)
LDFLAGS := -s -w -X github.com/nestor-dev/nestor/internal/version.version=$(VERSION)$(addprefix +,$(COMMIT))
# go test starts packages in this order: those that take longest come first, so that none of them runs alone at the end.
PACKAGES ?= $(addprefix ./,test/flows test/attacks test/bench/scenario test/chaos hack/demo internal/history test/docs) ./...
# Suites that start a control plane wait for half of their time: twice as many as there are processors run at once.
PARALLEL_PACKAGES ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
# The aliases of string in the API, for the reference.
ALIASES := Name|MessageName|ObjectName|DataKey|UserName|ModelName|ToolName|ToolGlob|ToolCallID|ArgumentsDigest|FilePath|Expression|RecentKey|ObjectHash|ReportedPath|Remark|ServerToolName|OAuthScope|Revision|Expectation
# The packages of Kubernetes whose types the history's OpenAPI definitions refer to.
APIMACHINERY := $(addprefix k8s.io/apimachinery/pkg/,apis/meta/v1 runtime version api/resource)
# The seed of the property tests: the commit, so that every run of a commit checks the same cases and every commit others; 1 outside a
# checkout. `make test` prints it, and a failing test prints its own. RAPID_SEED=0 draws a new one; `make soak` explores.
RAPID_SEED ?= $(shell commit=$$(git rev-parse --short=15 HEAD 2>/dev/null) && echo $$((16#$$commit)) || echo 1)
# How many times 15 seconds a test waits for a condition: suites run beside each other.
export TEST_PATIENCE ?= 4
# Tests allocate much and keep little: with fewer collections the property tests take a quarter less CPU time. Operators under test keep
# their own setting.
TEST_GOGC ?= 400
# Extra flags for go test, for example GOTESTFLAGS='-run TestX -v'.
GOTESTFLAGS ?=

export GOWORK := off
# Tests, programs, images and linters are built with the same flags, so that everything is compiled once. The race detector needs cgo.
# grpcnotrace leaves out gRPC's trace pages. They execute templates, which may call any method by its name, so that the linker would
# have to keep every method of every type: a third of the operator.
export GOFLAGS ?= -trimpath -tags=grpcnotrace
export CGO_ENABLED ?= $(if $(findstring -race,$(GOTESTFLAGS)),1,0)

include web/web.mk
include test/e2e/e2e.mk
include charts/charts.mk
include hack/monitoring/monitoring.mk
include test/upgrade/upgrade.mk
include hack/site/site.mk

##@ Start here

.PHONY: help
help: ## Show this index
	@[ -t 1 ] && colour=1 || colour=; awk -v c="$$colour" 'BEGIN {FS = ":.*## "; if (c) {b = "\033[1m"; n = "\033[36m"; e = "\033[0m"}} \
		/^##@/ {printf "\n%s%s%s\n", b, substr($$0, 5), e} \
		/^[a-zA-Z0-9_-]+:.*## / {printf "  %s%-16s%s %s\n", n, $$1, e, $$2}' $(MAKEFILE_LIST)

# Without npm, or if the page cannot be built, the demo runs without the page and says so.
.PHONY: demo
demo: ## Run all of Nestor on this machine until Ctrl-C (DEMO_SCRIPT=tour plays a tour; OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, or MODEL_BASE_URL and MODEL for a real model)
	@echo "make demo builds what is missing: a control plane, the web page, kubectl nestor and the operator."
	@echo "The first time this takes about five minutes on two processors, or thirteen if the control plane must be built from source. Later starts take seconds."
	@$(MAKE) --no-print-directory control-plane
	@if ! command -v npm >/dev/null; then [ -e web/dist/index.html ] || echo "npm is not installed: the demo runs without the web page"; \
	elif [ ! -e web/dist/index.html ] || [ -n "$$(find web/src web/index.html web/package.json -newer web/dist/index.html | head -n 1)" ]; then \
		$(PROGRESS) "the web page" 60 $(MAKE) --no-print-directory web || echo "the demo runs without the web page"; fi
	@$(PROGRESS) "kubectl nestor and the operator" 120 go build -v -ldflags "$(LDFLAGS)" -o bin/ ./hack/demo ./cmd/kubectl-nestor
	@KUBEBUILDER_ASSETS="$(K8S_BIN)" exec bin/demo

.PHONY: demo-clean
demo-clean: ## Remove what the demo has kept
	@dir="$${DEMO_DIR:-.demo}"; if [ -e "$$dir/nestor-demo.json" ] || [ -d "$$dir/cluster/etcd" ] || [ ! -e "$$dir" ]; then rm -rf "$$dir"; \
	else echo "$$dir was not made by the demo: remove it yourself" >&2; exit 1; fi

# make verify vets, with golangci-lint.
.PHONY: test
test: control-plane mcp-servers model-servers a2a-sdk door-client-packages skills-ref oidc-provider ## Run all tests and print the slowest ten (PACKAGES=./internal/agent/... for some)
	@go build -o bin/slowest ./hack/slowest
	KUBEBUILDER_ASSETS="$(K8S_BIN)" RAPID_SEED=$(RAPID_SEED) GOGC=$(TEST_GOGC) go test -json -vet=off -timeout 20m -p $(PARALLEL_PACKAGES) $(GOTESTFLAGS) $(PACKAGES) | bin/slowest $(filter -v,$(GOTESTFLAGS))
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory web-test; else echo "no npm: the tests of the web page are skipped"; fi

##@ Build

.PHONY: build
build: ## Build the programs into bin/
	CGO_ENABLED=0 go build -trimpath -tags=grpcnotrace -ldflags "$(LDFLAGS)" -o bin/ ./cmd/...

.PHONY: control-plane
control-plane: ## Put etcd, kube-apiserver, kubectl and the controllers that tests need into bin/k8s
	@KUBERNETES= hack/controlplane/install.sh "$(K8S_BIN)"

# etcd, kubectl and the controllers are those of every test. The flows are the ones whose behaviour depends on the API server: watches, owners, status
# updates, the garbage collector, authorization and the kinds that triggers watch.
COMPAT_FLOWS := With SQLite (000 Nested agents|001 Central orchestration|A conversation|Deleting|Triggers|An object with the name of another)
.PHONY: compat
compat: control-plane ## Test on another release of Kubernetes, which is built if no prebuilt one can be had (KUBERNETES=1.32.0)
	@[ -n "$(KUBERNETES)" ] || { echo "say which release: make compat KUBERNETES=1.32.0" >&2; exit 1; }
	@env -u KUBEBUILDER_ASSETS KUBERNETES=$(KUBERNETES) hack/controlplane/install.sh bin/k8s-$(KUBERNETES) kube-apiserver
	@ln -sfn "$(K8S_BIN)/etcd" "$(K8S_BIN)/kubectl" "$(K8S_BIN)/controllers" bin/k8s-$(KUBERNETES)/
	KUBEBUILDER_ASSETS="$(CURDIR)/bin/k8s-$(KUBERNETES)" go test -count 1 -timeout 30m -p 1 $(GOTESTFLAGS) ./test/api ./test/rbac
	KUBEBUILDER_ASSETS="$(CURDIR)/bin/k8s-$(KUBERNETES)" go test -count 1 -timeout 30m $(GOTESTFLAGS) ./test/flows -run '^TestFlows$$' -ginkgo.focus '$(COMPAT_FLOWS)'

.PHONY: mcp-servers
mcp-servers: hack/mcp-servers/node_modules/.package-lock.json ## Install the MCP servers from npm that tests talk to, and the conformance suite of MCP

hack/mcp-servers/node_modules/.package-lock.json: hack/mcp-servers/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix hack/mcp-servers --no-audit --no-fund && touch $@; \
	else echo "no npm: the tests against MCP servers from npm are skipped"; fi

.PHONY: model-servers
model-servers: hack/model-servers/node_modules/.package-lock.json ## Install the model endpoint from npm that tests talk to

hack/model-servers/node_modules/.package-lock.json: hack/model-servers/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix hack/model-servers --no-audit --no-fund && touch $@; \
	else echo "no npm: the tests against a model endpoint from npm are skipped"; fi

.PHONY: a2a-sdk
a2a-sdk: hack/a2a-sdk/node_modules/.package-lock.json ## Install the A2A SDK for JavaScript from npm that tests talk to

hack/a2a-sdk/node_modules/.package-lock.json: hack/a2a-sdk/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix hack/a2a-sdk --no-audit --no-fund && touch $@; \
	else echo "no npm: the tests against the A2A SDK for JavaScript are skipped"; fi

.PHONY: door-clients
door-clients: control-plane a2a-sdk door-client-packages more-door-clients ## Run all clients of other projects against the gateway
	KUBEBUILDER_ASSETS="$(K8S_BIN)" DOOR_CLIENTS=all go test ./test/doors -count 1 -timeout 30m $(GOTESTFLAGS)

.PHONY: door-client-packages
door-client-packages: hack/door-clients/node_modules/.package-lock.json ## Install the clients from npm with which all tests use the gateway

hack/door-clients/node_modules/.package-lock.json: hack/door-clients/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix hack/door-clients --no-audit --no-fund --ignore-scripts && touch $@; \
	else echo "no npm: the tests with clients of the gateway from npm are skipped"; fi

.PHONY: more-door-clients
more-door-clients: hack/more-door-clients/node_modules/.package-lock.json ## Install the clients from npm that only make door-clients runs

hack/more-door-clients/node_modules/.package-lock.json: hack/more-door-clients/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix hack/more-door-clients --no-audit --no-fund --ignore-scripts --omit=optional && touch $@; \
	else echo "no npm: the tests with more clients of the gateway from npm are skipped"; fi

.PHONY: skills-ref
skills-ref: hack/skills-ref/node_modules/.package-lock.json ## Install the reference library of Agent Skills from npm that a test compares with

hack/skills-ref/node_modules/.package-lock.json: hack/skills-ref/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix hack/skills-ref --no-audit --no-fund --ignore-scripts && touch $@; \
	else echo "no npm: the comparison with the reference library of Agent Skills is skipped"; fi

.PHONY: oidc-provider
oidc-provider: hack/oidc-provider/node_modules/.package-lock.json ## Install the OpenID Connect issuer from npm that tests sign in at

hack/oidc-provider/node_modules/.package-lock.json: hack/oidc-provider/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix hack/oidc-provider --no-audit --no-fund --ignore-scripts && touch $@; \
	else echo "no npm: the tests of sign-in at an issuer from npm are skipped"; fi

##@ Measure

.PHONY: chaos
chaos: control-plane ## Let everything fail around a working operator, and check its promises (SEED, AGENTS, DURATION, LEDGERS)
	KUBEBUILDER_ASSETS="$(K8S_BIN)" CHAOS_SEED=$(or $(SEED),$(shell date +%s)) CHAOS_AGENTS=$(or $(AGENTS),200) CHAOS_DURATION=$(or $(DURATION),30s) \
		CHAOS_LEDGERS=$(LEDGERS) go test ./test/chaos -count 1 -timeout 1h -v -artifacts -run TestInvariants

.PHONY: chaos-replicas
chaos-replicas: control-plane ## The same with three replicas on PostgreSQL (SEED, AGENTS, DURATION, SHARDS, LEASE)
	KUBEBUILDER_ASSETS="$(K8S_BIN)" CHAOS_SEED=$(or $(SEED),$(shell date +%s)) CHAOS_AGENTS=$(or $(AGENTS),60) CHAOS_DURATION=$(or $(DURATION),30s) \
		CHAOS_SHARDS=$(SHARDS) CHAOS_LEASE=$(LEASE) go test ./test/chaos -count 1 -timeout 1h -v -artifacts -run TestReplicas

.PHONY: bench
bench: control-plane ## Measure all of Nestor on this machine (SCENARIOS='agents-1000x5*' for some, BENCHFLAGS=--pprof, OPERATORFLAGS)
	@go build -o bin/bench ./test/bench
	@KUBEBUILDER_ASSETS="$(K8S_BIN)" bin/bench --scenarios '$(SCENARIOS)' --operator-flags '$(OPERATORFLAGS)' $(BENCHFLAGS)

.PHONY: bench-compare
bench-compare: ## Compare two reports of the benchmark (OLD=a.json NEW=b.json)
	@go run ./test/bench --compare '$(OLD)' '$(NEW)'

.PHONY: bench-go
bench-go: ## Run the Go benchmarks and print figures (BENCH=Append for some)
	go test -run '^$$' -bench '$(or $(BENCH),.)' -benchtime $(or $(BENCHTIME),1s) ./internal/...
	NESTOR_BENCH=1 go test ./internal/tool/workspace/search -run TestSpeedBesideRipgrep -count=1 -v

.PHONY: soak
soak: ## Run the core's property tests on many more random sequences (SOAK_CHECKS)
	RAPID_SEED=0 go test ./internal/agent -count 1 -timeout 2h -rapid.checks=$(or $(SOAK_CHECKS),1000000) -run TestInvariant

.PHONY: fuzz
fuzz: ## Fuzz the core with arbitrary event logs (FUZZTIME)
	go test ./internal/agent -run '^$$' -fuzz FuzzEvents -fuzztime $(or $(FUZZTIME),5m) -fuzzminimizetime 100x

##@ Check

.PHONY: generate
generate: ## Regenerate conditions, deepcopy functions, CRDs, RBAC, OpenAPI definitions, references, pictures and the PrometheusRule
	go run ./hack/conditions .
	$(TOOL) controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...
	$(TOOL) controller-gen crd:allowDangerousTypes=false paths=./api/v1beta1 output:crd:dir=config/crd/bases
	@awk -f hack/temperature.awk config/crd/bases/nestor.dev_agentroles.yaml > config/crd/bases/new && mv config/crd/bases/new config/crd/bases/nestor.dev_agentroles.yaml
	$(TOOL) crd-ref-docs --config=hack/crd-ref-docs.yaml --source-path=api/v1beta1 --renderer=markdown --output-path=docs/reference/api.md
	@# Aliases of string have no section of their own: say what they are instead of linking to nowhere.
	@sed -E -i.bak 's/_\[($(ALIASES))\]\(#[a-z]+\)( array)?_/_string\2_/g; /^- \[($(ALIASES))\]/d' docs/reference/api.md && rm docs/reference/api.md.bak
	$(TOOL) controller-gen rbac:roleName=nestor-operator paths=./internal/controller/... output:rbac:dir=config/rbac
	$(TOOL) crd-ref-docs --config=hack/crd-ref-docs.yaml --source-path=api/history/v1beta1 --renderer=markdown --output-path=docs/reference/history-api.md
	$(TOOL) openapi-gen --go-header-file=hack/boilerplate.go.txt --output-pkg=github.com/nestor-dev/nestor/internal/history/openapi --output-dir=internal/history/openapi \
		--output-file=zz_generated.openapi.go --output-model-name-file=zz_generated.model_name.go --report-filename=/dev/null $(APIMACHINERY:%=--readonly-pkg=%) \
		$(APIMACHINERY) github.com/nestor-dev/nestor/api/history/v1beta1
	go run ./hack/clidocs docs/reference/cli.md
	go run ./hack/drawings docs/images
	go run ./hack/metricsdocs docs/reference/metrics.md config/monitoring/rules.yaml config/monitoring/prometheusrule.yaml
	gofmt -s -w api internal/history/openapi
	$(MAKE) --no-print-directory generate-charts

.PHONY: verify
verify: ## Check that generated files are current, then formatting, modules, dependencies and lint
	hack/verify.sh

.PHONY: verify-quick
verify-quick: ## Run the checks of make verify that take seconds
	hack/verify.sh quick

.PHONY: lint
lint: ## Run golangci-lint
	$(TOOL) golangci-lint run

.PHONY: clean
clean: ## Remove bin/ (the per-user cache of the control plane stays)
	rm -rf bin
