// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/localcluster"
)

// releaseDir returns the directory in RELEASE_DIR (make release-test), or else one with everything that installs a
// release but the images.
func releaseDir(t *testing.T) (dir, version string) {
	t.Helper()
	version = strings.TrimSpace(content(t, "VERSION"))
	if dir := os.Getenv("RELEASE_DIR"); dir != "" {
		return dir, version
	}
	dir = t.TempDir()
	for i, name := range []string{"operator", "gateway", "workspace", "scripted-model", "operator-fips", "gateway-fips", "workspace-fips"} {
		bill := fmt.Sprintf(`{"documentNamespace": "https://nestor.dev/spdx/nestor-%s/%064x"}`, name, i+1)
		if err := os.WriteFile(filepath.Join(dir, "nestor-"+name+billSuffix), []byte(bill), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, exec.Command("./installation.sh", dir, version), "SOURCE_DATE_EPOCH=1700000000")
	if err := writeImages(dir, version); err != nil {
		t.Fatal(err)
	}
	return dir, version
}

// execute runs a program and returns its output. A failure ends the test.
func execute(t *testing.T, cmd *exec.Cmd, env ...string) string {
	t.Helper()
	cmd.Env = append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, output)
	}
	return string(output)
}

// TestInstall installs from the files of a release alone, each way on a cluster without Nestor.
func TestInstall(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	dir, version := releaseDir(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	const manifests = "manifests and OLM"
	ways := map[string]func(t *testing.T, kubectl, helm func(args ...string) string){
		manifests: func(t *testing.T, kubectl, _ func(args ...string) string) {
			t.Helper()
			kubectl("apply", "--server-side", "-f", file("install.yaml"))
			kubectl("wait", "--for", "condition=Established", "crd", "--selector", "app.kubernetes.io/part-of=nestor")
			kubectl("apply", "--server-side", "-f", file("roles.yaml"))
			kubectl("apply", "--server-side", "--dry-run=server", "-f", file(olmPrerequisites))
			checkBundle(t, dir, version, kubectl)
		},
		"kustomize": func(t *testing.T, kubectl, _ func(args ...string) string) {
			t.Helper()
			unpacked := t.TempDir()
			execute(t, exec.Command("tar", "-xzf", file("nestor-kustomize_"+version+".tar.gz"), "-C", unpacked))
			config := filepath.Join(unpacked, "nestor-kustomize_"+version)
			kubectl("apply", "--server-side", "-k", filepath.Join(config, "default"))
			kubectl("wait", "--for", "condition=Established", "crd", "--selector", "app.kubernetes.io/part-of=nestor")
			kubectl("apply", "--server-side", "-k", filepath.Join(config, "operator", "roles"))
		},
		"charts": func(t *testing.T, kubectl, helm func(args ...string) string) {
			t.Helper()
			helm("install", "nestor-crds", file("nestor-crds-"+version+".tgz"), "--create-namespace")
			helm("install", "nestor", file("nestor-"+version+".tgz"))
			if _, err := os.Stat(file("values-fips.yaml")); err == nil {
				helm("upgrade", "nestor", file("nestor-"+version+".tgz"), "--values", file("values-fips.yaml"))
			}
		},
	}
	for name, install := range ways {
		t.Run(name, func(t *testing.T) {
			if name != manifests && os.Getenv("RELEASE_DIR") == "" {
				t.Skip("make release-test installs this way; test/chart and test/docs install the same objects")
			}
			t.Parallel()
			cluster := emptyCluster(t)
			kubectl := func(args ...string) string {
				t.Helper()
				return execute(t, exec.Command(cluster.Kubectl, args...), "KUBECONFIG="+cluster.Kubeconfig)
			}
			helm := func(args ...string) string {
				t.Helper()
				cmd := exec.Command("go", append([]string{"tool", "-modfile=hack/tools/go.mod", "helm", "--namespace", operator.Namespace}, args...)...)
				cmd.Dir = root
				return execute(t, cmd, "KUBECONFIG="+cluster.Kubeconfig)
			}
			install(t, kubectl, helm)
			images := kubectl("get", "deployments", "--namespace", operator.Namespace, "-o", "jsonpath={..image}")
			if !strings.Contains(images, team+"/nestor-operator@sha256:") || strings.Contains(images, ":"+version) {
				t.Errorf("the operator's image is not referred to by digest: %s", images)
			}
			if roles := kubectl("get", "agentroles", "--namespace", operator.Namespace, "-o", "name"); strings.Count(roles, "\n") < 10 {
				t.Errorf("built-in roles are missing: %s", roles)
			}
		})
	}
}

func emptyCluster(t *testing.T) *localcluster.Cluster {
	t.Helper()
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	execute(t, exec.Command(cluster.Kubectl, "--kubeconfig", cluster.Kubeconfig, "delete", "crds", "--all"))
	return cluster
}

// checkBundle checks the bundle against the form that OLM documents. The API server accepts what OLM creates from it.
func checkBundle(t *testing.T, dir, version string, kubectl func(args ...string) string) {
	t.Helper()
	unpacked := t.TempDir()
	execute(t, exec.Command("tar", "-xzf", filepath.Join(dir, "nestor-olm_"+version+".tar.gz"), "-C", unpacked))
	bundle := os.DirFS(filepath.Join(unpacked, "nestor-olm_"+version, "manifests"))
	read, err := operator.Objects(bundle, "nestor.clusterserviceversion.yaml")
	if err != nil || len(read) != 1 {
		t.Fatalf("%d objects: %v", len(read), err)
	}
	csv := read[0].Object
	if read[0].GetName() != "nestor.v"+version {
		t.Errorf("its name is %s", read[0].GetName())
	}
	definitions, err := filepath.Glob(filepath.Join(unpacked, "*", "manifests", "*_customresourcedefinition.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	owned, _, err := unstructured.NestedSlice(csv, "spec", "customresourcedefinitions", "owned")
	if err != nil || len(owned) != len(definitions) {
		t.Errorf("%d definitions are owned, and %d are in the bundle: %v", len(owned), len(definitions), err)
	}
	install := []string{"spec", "install", "spec"}
	deployments, _, err := unstructured.NestedSlice(csv, append(install, "deployments")...)
	if err != nil || len(deployments) != 1 {
		t.Fatalf("%d deployments: %v", len(deployments), err)
	}
	deployment, ok := deployments[0].(map[string]any)
	if !ok {
		t.Fatal("the deployment is no object")
	}
	created := []map[string]any{{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "from-bundle", "namespace": operator.Namespace}, "spec": deployment["spec"],
	}}
	for field, kind := range map[string]string{"clusterPermissions": "ClusterRole", "permissions": "Role"} {
		permissions, _, err := unstructured.NestedSlice(csv, append(install, field)...)
		if err != nil || len(permissions) != 1 {
			t.Fatalf("%d %s: %v", len(permissions), field, err)
		}
		rules, ok := permissions[0].(map[string]any)
		if !ok || rules["serviceAccountName"] != operator.ServiceAccount {
			t.Errorf("%s are those of %v", field, rules["serviceAccountName"])
		}
		created = append(created, map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": "from-bundle", "namespace": operator.Namespace}, "rules": rules["rules"],
		})
	}
	manifests := filepath.Join(unpacked, "created.yaml")
	if err := writeYAML(manifests, created...); err != nil {
		t.Fatal(err)
	}
	kubectl("create", "--dry-run=server", "-f", manifests)
	modes, _, err := unstructured.NestedSlice(csv, "spec", "installModes")
	if err != nil || len(modes) != 4 {
		t.Errorf("OLM requires four install modes: %v, %v", modes, err)
	}
}
