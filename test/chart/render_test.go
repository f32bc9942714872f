// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// tool returns the path of a pinned program in the Go tool's cache.
func tool(ctx context.Context, name string) string {
	GinkgoHelper()
	path, err := toolPath(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	return path
}

// run runs a program in the repository. The error contains its output.
func run(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = root
	var out, output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &output
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, output.String())
	}
	return out.String(), nil
}

// renderings caches the output of helm by its arguments, because each call takes half a second.
var renderings = map[string]string{}

// render returns the objects of a chart with values such as replicas=1.
func render(ctx context.Context, chart string, values ...string) ([]*unstructured.Unstructured, error) {
	args := []string{"template", "nestor", filepath.Join("charts", chart), "--namespace", release}
	for _, value := range values {
		args = append(args, "--set", value)
	}
	key := strings.Join(args, "\n")
	if _, done := renderings[key]; !done {
		text, err := run(ctx, helmPath, args...)
		if err != nil {
			return nil, err
		}
		renderings[key] = text
	}
	return parse(renderings[key])
}

func rendered(ctx context.Context, values ...string) []*unstructured.Unstructured {
	GinkgoHelper()
	objects, err := render(ctx, "nestor", values...)
	Expect(err).NotTo(HaveOccurred())
	return objects
}

func parse(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			return nil, fmt.Errorf("%w in:\n%s", err, document)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// find returns the object with a kind and name, or nil.
func find(objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, object := range objects {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	return nil
}
