// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Directories of the examples.
const (
	samplesDir = "../../config/samples"
	validDir   = "../valid-examples"
	invalidDir = "../invalid-examples"
)

// example is a file with one document, or with two of the same object: the second is an update of the first.
type example struct {
	file    string
	text    string
	objects []*unstructured.Unstructured
}

// examples reads a directory. It panics on a broken file, because specs are generated from it before anything runs.
func examples(dir string) []example {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		panic(err)
	}
	var all []example
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		one, err := readExample(file)
		if err != nil {
			panic(err)
		}
		all = append(all, one)
	}
	return all
}

func readExample(file string) (example, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return example{}, fmt.Errorf("read example: %w", err)
	}
	one := example{file: filepath.Base(file), text: string(data)}
	documents := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return one, nil
		}
		if err != nil {
			return example{}, fmt.Errorf("read example %s: %w", file, err)
		}
		object, err := parseObject(document)
		if err != nil {
			return example{}, fmt.Errorf("parse example %s: %w", file, err)
		}
		one.objects = append(one.objects, object)
	}
}

// parseObject decodes through JSON, so that integers stay integers.
func parseObject(document []byte) (*unstructured.Unstructured, error) {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(text)
}

// header returns the text of a comment line such as "# Refused: ..." at the beginning of the file.
func (e example) header(name string) string {
	for line := range strings.Lines(e.text) {
		if !strings.HasPrefix(line, "#") {
			return ""
		}
		if text, found := strings.CutPrefix(line, "# "+name+": "); found {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// apply creates the first object and updates it with the following ones. It returns the error of the last request; an
// earlier one must not fail.
func (e example) apply(ctx context.Context, namespace string) error {
	GinkgoHelper()
	var version string
	for i, document := range e.objects {
		object := document.DeepCopy()
		object.SetNamespace(namespace)
		var err error
		if i == 0 {
			err = api.Create(ctx, object)
		} else {
			object.SetResourceVersion(version)
			err = api.Update(ctx, object)
		}
		if i == len(e.objects)-1 {
			return err
		}
		Expect(err).NotTo(HaveOccurred(), "document %d of %s", i+1, e.file)
		version = object.GetResourceVersion()
	}
	return fmt.Errorf("example %s holds no object", e.file)
}

// sample returns the simplest sample of a kind, without namespace.
func sample(kind string) *unstructured.Unstructured {
	GinkgoHelper()
	one, err := readExample(filepath.Join(samplesDir, strings.ToLower(kind)+".yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(one.objects).To(HaveLen(1))
	return one.objects[0]
}
