// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const config = "../../config/monitoring/"

type rules struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func TestAlertMetricsAndRunbooksExist(t *testing.T) {
	runbook, err := os.ReadFile("../../docs/reference/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(config + "rules_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file rules
	read(t, config+"rules.yaml", &file)
	metrics, alerts := documented(t), 0
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			alerts++
			metrics.check(t, r.Alert, r.Expr)
			if severity := r.Labels["severity"]; severity != "critical" && severity != "warning" && severity != "info" {
				t.Errorf("%s has the severity %q", r.Alert, severity)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s has no description", r.Alert)
			}
			if !strings.HasSuffix(r.Annotations["runbook_url"], "/docs/reference/alerts.md#"+strings.ToLower(r.Alert)) || !strings.Contains(string(runbook), "\n## "+r.Alert+"\n") {
				t.Errorf("%s has no runbook, or its link leads elsewhere: %s", r.Alert, r.Annotations["runbook_url"])
			}
			if !strings.Contains(string(tests), "alertname: "+r.Alert+"\n        exp_alerts:") {
				t.Errorf("no test checks that %s fires", r.Alert)
			}
		}
	}
	if documented := strings.Count(string(runbook), "\n## Nestor"); alerts < 8 || documented != alerts {
		t.Errorf("there are %d alerts and %d runbooks", alerts, documented)
	}
}

func TestPrometheusRuleIsCurrent(t *testing.T) {
	var plain rules
	var object struct {
		Kind string
		Spec rules
	}
	read(t, config+"rules.yaml", &plain)
	read(t, config+"prometheusrule.yaml", &object)
	if object.Kind != "PrometheusRule" || !reflect.DeepEqual(plain, object.Spec) {
		t.Error("prometheusrule.yaml is out of date: run make generate")
	}
}

// promtool runs the promtool in PROMTOOL, or that of this module. It is built without service discovery, which takes
// minutes instead of a quarter of an hour.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "promtool"}, args...)...)
	if program := os.Getenv("PROMTOOL"); program != "" {
		cmd = exec.CommandContext(t.Context(), program, args...)
	}
	cmd.Env = append(os.Environ(), "GOFLAGS=-tags=remove_all_sd")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

func TestPromtoolChecksTheRules(t *testing.T) { promtool(t, "check", "rules", config+"rules.yaml") }

func TestPromtoolTestsTheRules(t *testing.T) { promtool(t, "test", "rules", config+"rules_test.yaml") }
