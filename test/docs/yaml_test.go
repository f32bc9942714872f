// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/test/docs/page"
)

// Marks of YAML that is not a complete object of this cluster.
const (
	partOf  = "part of"  // a kind of ours: its fields must exist
	values  = "values"   // a chart: its schema must accept them
	notOurs = "not ours" // a project: it must be yaml
)

const yamlNamespace = "docs-yaml"

// TestExamplesAreValid validates every object in a page with the API server.
func TestExamplesAreValid(t *testing.T) {
	s := openSuite(t)
	if err := s.local.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: yamlNamespace}}); err != nil {
		t.Fatal(err)
	}
	fields := readFields(t)
	for _, p := range allPages(t) {
		for _, block := range p.Blocks {
			if block.Language != "yaml" {
				continue
			}
			if err := s.checkBlock(t, block, fields); err != nil {
				t.Errorf("%s:%d: %v", p.Path, block.Line, err)
			}
		}
	}
}

func (s *suite) checkBlock(t *testing.T, block page.Block, fields fields) error {
	t.Helper()
	documents, err := parts(block.Text)
	if err != nil {
		return err
	}
	for _, document := range documents {
		switch {
		case block.Marks[notOurs] != "":
			continue
		case block.Marks[values] != "":
			err = s.template(t, block.Marks[values], block.Text)
		case block.Marks[partOf] != "":
			err = fields.check(block.Marks[partOf], document)
		default:
			err = s.dryRun(t, document)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// template checks with Helm whether a chart accepts values.
func (s *suite) template(t *testing.T, chart, text string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.bin, "helm"), "template", "nestor", filepath.Join(root, filepath.FromSlash(chart)), "--values", "-")
	cmd.Stdin = strings.NewReader(text)
	if combined, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("helm: %w: %s", err, combined)
	}
	return nil
}

// dryRun validates an object with a dry run. Objects that it refers to need not exist.
func (s *suite) dryRun(t *testing.T, document map[string]any) error {
	t.Helper()
	object := &unstructured.Unstructured{Object: document}
	if object.GetKind() == "" {
		return errors.New("the YAML has neither apiVersion and kind nor a mark; see package page")
	}
	scoped, err := s.local.Client.IsObjectNamespaced(object)
	if err != nil {
		return fmt.Errorf("find the kind: %w", err)
	}
	if scoped {
		object.SetNamespace(yamlNamespace)
	}
	err = s.local.Client.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	if err != nil {
		return fmt.Errorf("the API server: %w", err)
	}
	return nil
}

// parts returns the documents of a YAML stream.
func parts(text string) ([]map[string]any, error) {
	var all []map[string]any
	reader := utilyaml.NewYAMLReader(newBuffered(text))
	for {
		one, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the yaml: %w", err)
		}
		if len(bytes.TrimSpace(one)) == 0 {
			continue
		}
		var document map[string]any
		if err := yaml.UnmarshalStrict(one, &document); err != nil {
			return nil, fmt.Errorf("read the yaml: %w", err)
		}
		all = append(all, document)
	}
}
