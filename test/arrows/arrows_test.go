// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package arrows holds the dependency arrows of the design: which package may import which.
package arrows

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/nestor-dev/nestor/"

// rule lists the packages that a part of the tree must not depend on, directly or indirectly; its tests may.
type rule struct {
	part   string
	may    []string // if set, the only parts of this module that it may depend on
	mayNot []string
	why    string
}

var kubernetesClients = []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "k8s.io/apiserver"}

// commandLine is the part of kubectl-nestor.
var commandLine = []string{module + "internal/cli"}

// operatorParts are the packages that the public programs must not contain.
var operatorParts = []string{
	module + "internal/engine", module + "internal/ledger", module + "internal/operator", module + "internal/webhook", module + "internal/intake/endpoint",
}

var rules = []rule{
	{part: "internal/tokens", may: []string{"internal/tokens"}, mayNot: []string{"k8s.io/", "sigs.k8s.io/", "github.com/", "golang.org/x/"},
		why: "the core depends on it; real tokenizers are for its test alone"},
	{part: "internal/plainjson", may: []string{"internal/plainjson"}, mayNot: []string{"k8s.io/", "sigs.k8s.io/", "github.com/", "golang.org/x/"},
		why: "the core depends on it"},
	{part: "internal/money", may: []string{"internal/money"}, mayNot: []string{"k8s.io/", "sigs.k8s.io/", "github.com/", "golang.org/x/"},
		why: "the core and the ledger depend on it"},
	{part: "internal/linediff", may: []string{"internal/linediff"}, mayNot: []string{"k8s.io/", "sigs.k8s.io/", "github.com/", "golang.org/x/"},
		why: "it compares texts"},
	{part: "internal/shorten", may: []string{"internal/shorten"}, mayNot: []string{"k8s.io/", "sigs.k8s.io/", "github.com/", "golang.org/x/"},
		why: "the core depends on it"},
	{part: "internal/similar", may: []string{"internal/similar"}, mayNot: []string{"k8s.io/", "sigs.k8s.io/", "github.com/", "golang.org/x/"},
		why: "the command line and the gateway suggest names"},
	{part: "internal/attachment", may: []string{"internal/attachment"}, mayNot: []string{"k8s.io/", "sigs.k8s.io/", "github.com/", "golang.org/x/"},
		why: "tools, the controllers and the command line share the checks of images"},
	{part: "internal/agent", may: []string{"internal/agent", "internal/money", "internal/tokens", "internal/plainjson", "internal/shorten"}, mayNot: []string{"k8s.io/", "sigs.k8s.io/", "github.com/", "golang.org/x/"},
		why: "the core is pure and stands on the standard library"},
	{part: "internal/model", may: []string{"internal/model", "internal/outbound", "internal/plainjson", "internal/share", "internal/shorten"}, mayNot: kubernetesClients,
		why: "only the engine brings agent, model and tool together"},
	{part: "internal/tool", may: []string{"internal/tool", "internal/attachment", "internal/linediff", "internal/outbound", "internal/shorten", "internal/version"}, mayNot: kubernetesClients,
		why: "only the engine brings agent, model and tool together"},
	{part: "internal/outbound", may: []string{"internal/outbound", "internal/shorten"}, mayNot: []string{"k8s.io/", "sigs.k8s.io/", "github.com/"},
		why: "what guards connections stands on the standard library"},
	{part: "internal/trigger", may: []string{"internal/trigger", "internal/shorten", "api"}, mayNot: kubernetesClients,
		why: "which firings start work is a pure function of the spec, the status and the time"},
	{part: "internal/role", may: []string{"internal/role", "api"}, mayNot: kubernetesClients,
		why: "built-in roles are data with the fields of an AgentRole's spec, which the API defines"},
	{part: "internal/localcluster/lifeline", may: []string{"internal/localcluster/lifeline"}, mayNot: []string{"k8s.io/", "sigs.k8s.io/", "github.com/"},
		why: "whatever starts processes may use it"},
	{part: "internal/ledger", may: []string{"internal/ledger", "internal/money", "internal/plainjson", "internal/localcluster/lifeline", "internal/shard", "internal/share", "internal/words"}, mayNot: append([]string{"k8s.io/"}, kubernetesClients...),
		why: "the ledger imports no other part; its tests run a database server"},
	{part: "internal/words", may: []string{"internal/words"}, mayNot: append([]string{"k8s.io/"}, kubernetesClients...),
		why: "the division of text into words is a pure function that the ledger and the history share"},
	{part: "internal/shard", may: []string{"internal/shard"}, mayNot: []string{"k8s.io/", "sigs.k8s.io/", "github.com/"},
		why: "the division into shards is a pure function that all parts share"},
	{part: "internal/share", may: []string{"internal/share"}, mayNot: kubernetesClients,
		why: "the scheduler of model calls depends on it; it knows neither the ledger nor the engine"},
	{part: "internal/replicas", may: []string{"internal/replicas", "internal/ledger", "internal/money", "internal/plainjson", "internal/shard", "internal/share"}, mayNot: kubernetesClients,
		why: "who should own a shard is decided by the ledger, without knowing what that means"},
	{part: "internal/projection", may: []string{"internal/projection", "internal/money", "internal/agent", "internal/tokens", "internal/plainjson", "internal/shorten", "internal/conditions", "internal/statusobject", "api"}, mayNot: kubernetesClients,
		why: "status is a pure function of the state"},
	{part: "internal/view", may: []string{"internal/view", "internal/money", "internal/agent", "internal/tokens", "internal/plainjson", "internal/shorten", "internal/conditions", "api"}, mayNot: kubernetesClients,
		why: "clients show what is a pure function of the objects"},
	{part: "cmd/nestor-operator", mayNot: commandLine, why: "the operator does not depend on its clients"},
	{part: "cmd/nestor-operator", mayNot: []string{"github.com/anthropics/", "github.com/openai/openai-go/v3/option", "go.opentelemetry.io/contrib/exporters/"},
		why: "these take a quarter of the build time, and little of them is needed"},
	{part: "internal/operator", mayNot: append([]string{module + "internal/server", module + "internal/public"}, commandLine...), why: "the operator does not depend on its clients"},
	{part: "internal/controller", mayNot: commandLine, why: "the operator does not depend on its clients"},
	{part: "internal/cluster", mayNot: append([]string{module + "internal/controller"}, commandLine...), why: "controllers read through it"},
	{part: "cmd/nestor-gateway", mayNot: operatorParts, why: "a public program does everything with its caller's token, and hands the rest to the operator"},
	{part: "internal/public", mayNot: operatorParts, why: "a public program does everything with its caller's token, and hands the rest to the operator"},
	{part: "internal/server", mayNot: operatorParts, why: "the page does everything with its user's token"},
	{part: "internal/gateway", mayNot: append([]string{module + "internal/cli"}, operatorParts...),
		why: "a door does everything with its caller's token, and hands the rest to the operator: webhooks and the secrets of push notifications"},
	{part: "internal/diagnose", mayNot: commandLine, why: "the operator and the command line share these checks"},
	{part: "cmd/kubectl-nestor", mayNot: []string{module + "internal/tool/workspace/gitclone", module + "internal/tool/workspace/gitpush", module + "internal/tool/workspace/shell",
		module + "internal/tool/workspace/search", module + "internal/engine", module + "internal/ledger", "github.com/modelcontextprotocol/"},
		why: "a client lists the tools of workspaces and runs none of them"},
	{part: "cmd/kubectl-nestor", mayNot: []string{"charm.land/glamour/"}, why: "it executes templates, for which the linker keeps all methods of all types"},
	{part: "internal/engine", mayNot: append([]string{module + "internal/controller", module + "internal/cluster", module + "internal/cli"}, kubernetesClients...),
		why: "only controllers and commands know Kubernetes clients"},
	{part: "internal/engine/admission", mayNot: []string{module + "internal/tool", module + "internal/model/wire"},
		why: "whether a call may start depends on its size, not on how it is made"},
	{part: "internal/validation", mayNot: []string{module + "internal/controller", module + "internal/engine", module + "internal/ledger"},
		why: "what is refused depends on the object and what it refers to, not on what runs"},
	{part: "internal/telemetry", mayNot: append([]string{module + "internal/controller", module + "internal/cluster"}, kubernetesClients...),
		why: "spans are a function of what the engine has recorded"},
	{part: "internal/history", mayNot: []string{module + "internal/controller", module + "internal/engine"},
		why: "the history is read from the ledger; it serves whether or not this process drives agents"},
	{part: "internal/history/transcript", mayNot: kubernetesClients,
		why: "entries are a function of events and the core"},
	{part: "internal/history/live", may: []string{"internal/history/live", "internal/money", "internal/ledger", "internal/plainjson", "internal/model", "internal/outbound", "internal/shard", "internal/share", "internal/shorten"}, mayNot: kubernetesClients,
		why: "the engine's process hands pieces on; it must not wait for a reader"},
	{part: "api", may: []string{"api"}, mayNot: []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"},
		why: "users import the API types; they should not get a client with them"},
}

func TestArrows(t *testing.T) {
	packages := list(t)
	for _, rule := range rules {
		for path, deps := range packages {
			local, ok := strings.CutPrefix(path, module)
			if !ok || !within(local, rule.part) {
				continue
			}
			for _, dep := range deps {
				if bad(rule, dep) {
					t.Errorf("%s depends on %s: %s", local, dep, rule.why)
				}
			}
		}
	}
}

func bad(r rule, dep string) bool {
	local, ours := strings.CutPrefix(dep, module)
	for _, part := range r.may {
		if ours && within(local, part) {
			return false
		}
	}
	for _, prefix := range r.mayNot {
		// Vendored copies inside the standard library have a path of their own and do not count.
		if part, isOurs := strings.CutPrefix(prefix, module); isOurs && ours && within(local, part) || !isOurs && strings.HasPrefix(dep, prefix) {
			return true
		}
	}
	return ours && r.may != nil
}

func within(path, part string) bool { return path == part || strings.HasPrefix(path, part+"/") }

// list returns every package of this module with all that it depends on, tests aside.
func list(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Deps", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string][]string{}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			ImportPath string
			Deps       []string
		}
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages[p.ImportPath] = p.Deps
	}
	if len(packages) == 0 {
		t.Fatal("go list found no packages")
	}
	return packages
}
