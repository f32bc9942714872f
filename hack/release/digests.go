// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// team is the part of the images' names between registry and program, as in the charts.
	team       = "nestor-dev"
	fipsSuffix = "-fips"
	billSuffix = ".spdx.json"
)

// digests returns the digests of the images in a directory by name. The namespace of a bill of materials ends with
// the image's digest.
func digests(dir string) (map[string]string, error) {
	bills, err := filepath.Glob(filepath.Join(dir, "nestor-*"+billSuffix))
	if err != nil {
		return nil, err
	}
	if len(bills) == 0 {
		return nil, fmt.Errorf("%s has no images", dir)
	}
	byName := map[string]string{}
	for _, bill := range bills {
		text, err := os.ReadFile(bill)
		if err != nil {
			return nil, fmt.Errorf("read a bill of materials: %w", err)
		}
		var document struct {
			Namespace string `json:"documentNamespace"`
		}
		if err := json.Unmarshal(text, &document); err != nil {
			return nil, fmt.Errorf("read %s: %w", bill, err)
		}
		byName[strings.TrimSuffix(filepath.Base(bill), billSuffix)] = "sha256:" + path.Base(document.Namespace)
	}
	return byName, nil
}

// writeImages writes the list of images, one NAME:TAG@DIGEST a line, and the values for the FIPS images.
func writeImages(dir, version string) error {
	byName, err := digests(dir)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		program, fips := strings.CutSuffix(name, fipsSuffix)
		tag := version
		if fips {
			tag += fipsSuffix
		}
		fmt.Fprintf(&list, "%s/%s:%s@%s\n", team, program, tag, byName[name])
	}
	if err := os.WriteFile(filepath.Join(dir, "images.txt"), []byte(list.String()), 0o644); err != nil {
		return fmt.Errorf("write the list of images: %w", err)
	}
	if byName["nestor-operator"+fipsSuffix] == "" {
		return nil
	}
	values := fmt.Sprintf(`# The images of %[1]s whose programs use Go's FIPS 140-3 module:
#   helm install nestor nestor-%[1]s.tgz --namespace nestor-system --values values-fips.yaml
image: {tag: %[1]s%[2]s, digest: %[3]q}
gateway: {image: {digest: %[4]q}}
workspace: {image: {digest: %[5]q}}
`, version, fipsSuffix, byName["nestor-operator-fips"], byName["nestor-gateway-fips"], byName["nestor-workspace-fips"])
	return os.WriteFile(filepath.Join(dir, "values-fips.yaml"), []byte(values), 0o644)
}
