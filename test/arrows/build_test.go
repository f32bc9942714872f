// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package arrows

import (
	"os/exec"
	"strings"
	"testing"
)

// The build time of a program grows with its packages. Raise a limit only for packages that it cannot do without, as
// kubectl-nestor cannot try a policy without CEL.
func TestProgramsHaveFewPackages(t *testing.T) {
	packages := list(t)
	for name, limit := range map[string]int{"nestor-operator": 1742, "nestor-gateway": 1203, "kubectl-nestor": 1022} {
		if n := len(packages[module+"cmd/"+name]); n == 0 || n > limit {
			t.Errorf("%s has %d packages, at most %d are allowed", name, n, limit)
		}
	}
}

// The packages of Kubernetes are compiled once for the control plane and the operator if all modules that they need have one version.
func TestControlPlaneHasSameVersions(t *testing.T) {
	ours := versions(t, "../..")
	shared := 0
	for path, version := range versions(t, "../../hack/controlplane") {
		if ours[path] == "" {
			continue
		}
		shared++
		if ours[path] != version {
			t.Errorf("hack/controlplane requires %s %s, the operator %s: run go get %[1]s@%[3]s there", path, version, ours[path])
		}
	}
	if shared < 50 {
		t.Errorf("only %d modules are shared", shared)
	}
}

// versions returns the modules whose packages the programs of a module are built from: those of cmd/ here, the tools of the control plane.
func versions(t *testing.T, dir string) map[string]string {
	t.Helper()
	programs := []string{"./cmd/..."}
	if strings.HasSuffix(dir, "controlplane") {
		programs = []string{"go.etcd.io/etcd/server/v3", "k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kubectl", "./controllers"}
	}
	const format = "{{with .Module}}{{.Path}} {{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}{{end}}"
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-mod=readonly", "-deps", "-f", format}, programs...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v", dir, err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all[path] = version
		}
	}
	return all
}
