// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/localcluster"
)

// cluster is the mark of pages that need a separate cluster.
const cluster = "cluster"

// installation and quickstart are the pages about an installation, in order: each starts where the previous one ends.
var (
	installation = []string{"tasks/gitops", "tasks/install", "tasks/high-availability", "tasks/upgrade", "tasks/uninstall"}
	quickstart   = []string{"tasks/kind"}
)

// TestInstallation runs them on a cluster without Nestor. It has no nodes: what needs a pod is left to make e2e.
func TestInstallation(t *testing.T) {
	t.Parallel()
	followOnEmptyCluster(t, installation)
}

func TestQuickstart(t *testing.T) {
	t.Parallel()
	followOnEmptyCluster(t, quickstart)
}

func followOnEmptyCluster(t *testing.T, names []string) {
	t.Helper()
	s := openSuite(t)
	kubeconfig := emptyCluster(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			for _, p := range allPages(t) {
				if title(p) != name {
					continue
				}
				in := environment{dir: t.TempDir(), scratch: t.TempDir()}
				s.prepareDirectory(t, &in, kubeconfig)
				read(t, s, p, in).follow()
			}
		})
	}
}

func TestEveryPageHasACluster(t *testing.T) {
	for _, p := range allPages(t) {
		if wants := p.Marks[cluster]; (wants == "empty") != slices.Contains(slices.Concat(installation, quickstart), title(p)) || (wants != "" && wants != "empty") {
			t.Errorf("%s: a page for an empty cluster must have the mark \"cluster: empty\" and be listed in installation or quickstart", p.Path)
		}
	}
}

// emptyCluster starts a cluster without Nestor, and returns its kubeconfig.
func emptyCluster(t *testing.T) string {
	t.Helper()
	empty, err := localcluster.Start(t.Context(), localcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := empty.Stop(); err != nil {
			t.Error(err)
		}
	})
	combined, err := exec.CommandContext(t.Context(), empty.Kubectl, "--kubeconfig", empty.Kubeconfig, "delete", "crds", "--all").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, combined)
	}
	releaseVolumes(t, empty)
	return empty.Kubeconfig
}

// releaseVolumes imitates the volume controller: it removes the finalizer of deleted claims that no pod uses.
func releaseVolumes(t *testing.T, in *localcluster.Cluster) {
	t.Helper()
	api, err := client.New(in.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = wait.PollUntilContextCancel(t.Context(), 200*time.Millisecond, false, func(ctx context.Context) (bool, error) {
			var claims corev1.PersistentVolumeClaimList
			if err := api.List(ctx, &claims); err != nil {
				return false, nil //nolint:nilerr // it is retried
			}
			for _, claim := range claims.Items {
				if claim.DeletionTimestamp != nil && len(claim.Finalizers) > 0 {
					claim.Finalizers = nil
					_ = api.Update(ctx, &claim) // it is retried
				}
			}
			return false, nil
		})
	}()
}
