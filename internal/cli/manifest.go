// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// readManifest reads the object of a kind in the file of a flag.
func readManifest(flag, file, kind string, into client.Object) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return &exitStatus{exitUsage, fmt.Errorf("read --%s: %w", flag, err)}
	}
	if err := yaml.UnmarshalStrict(content, into); err != nil {
		return usagef("--%s %s is no %s: %s", flag, file, kind, err)
	}
	if found := into.GetObjectKind().GroupVersionKind().Kind; found != kind {
		return usagef("--%s %s is of the kind %q, not %s", flag, file, found, kind)
	}
	return nil
}
