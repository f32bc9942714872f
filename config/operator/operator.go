// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package operator holds what the chart installs with its default values, embedded, so that suites give the operator
// and people exactly the permissions and policies that an installation gives them.
package operator

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Namespace is the namespace of the operator, and ServiceAccount its service account.
const (
	Namespace      = "nestor-system"
	ServiceAccount = "nestor-operator"
)

//go:embed *.yaml roles/*.yaml
var files embed.FS

// Access returns the operator's service account and permissions, the roles of people and the policies.
func Access() ([]*unstructured.Unstructured, error) {
	return Objects(files, "serviceaccount.yaml", "rbac.yaml", "userroles.yaml", "policies.yaml")
}

func PeopleRoles() ([]*unstructured.Unstructured, error) { return Objects(files, "userroles.yaml") }

// BuiltInRoles returns the built-in roles as AgentRoles.
func BuiltInRoles() ([]*unstructured.Unstructured, error) {
	return Objects(files, "roles/builtinroles.yaml")
}

// History returns what registers the history API.
func History() ([]*unstructured.Unstructured, error) { return Objects(files, "history.yaml") }

// Admission returns what registers the validating webhook.
func Admission() ([]*unstructured.Unstructured, error) { return Objects(files, "admission.yaml") }

func Objects(files fs.FS, names ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, name := range names {
		found, err := read(files, name)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func read(files fs.FS, name string) ([]*unstructured.Unstructured, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("read the manifests: %w", err)
	}
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
		objects = append(objects, object)
	}
}
