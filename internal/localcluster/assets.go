// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
)

// The programs of a control plane.
const (
	etcd        = "etcd"
	apiServer   = "kube-apiserver"
	controllers = "controllers"
	kubectl     = "kubectl"
)

// Assets returns the directory with the control plane's binaries: dir if it is not empty, else KUBEBUILDER_ASSETS,
// else bin/k8s beside the nearest go.mod above the working directory.
func Assets(dir string) (string, error) {
	advice := "run `make control-plane` first"
	if from := os.Getenv("KUBEBUILDER_ASSETS"); dir == "" && from != "" {
		dir, advice = from, "complete what KUBEBUILDER_ASSETS names, or unset it and run `make control-plane`"
	}
	if dir == "" {
		root, err := moduleRoot()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, "bin", "k8s")
	}
	for _, name := range []string{etcd, apiServer, controllers, kubectl} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("no %s in %s: %s", name, dir, advice)
		}
	}
	return filepath.Abs(dir)
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working directory: set KUBEBUILDER_ASSETS to the control plane's binaries")
		}
		dir = parent
	}
}
