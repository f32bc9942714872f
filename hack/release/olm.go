// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/config/operator"
)

const (
	// bundleMetadata describes the bundle to OLM. bundle.Dockerfile has the same as labels.
	bundlePrefix = "operators.operatorframework.io.bundle."
	// olmPrerequisites has the objects of an installation that a bundle must not contain.
	olmPrerequisites = "olm-prerequisites.yaml"
)

var bundleMetadata = [][2]string{
	{"mediatype.v1", "registry+v1"},
	{"manifests.v1", "manifests/"},
	{"metadata.v1", "metadata/"},
	{"package.v1", "nestor"},
	{"channels.v1", "beta"},
	{"channel.default.v1", "beta"},
}

// writeOLM writes the OLM bundle of DIR/install.yaml to DIR/olm, and what OLM does not install to
// DIR/olm-prerequisites.yaml. The chart below TREE has the descriptions.
func writeOLM(dir, version, tree string) error {
	all, err := operator.Objects(os.DirFS(dir), "install.yaml")
	if err != nil {
		return fmt.Errorf("read the installation: %w", err)
	}
	about, err := readChart(filepath.Join(tree, "charts", "nestor", "Chart.yaml"))
	if err != nil {
		return err
	}
	parts := divide(all)
	csv := clusterServiceVersion(version, about, parts)
	manifests := filepath.Join(dir, "olm", "manifests")
	metadata := filepath.Join(dir, "olm", "metadata")
	for _, path := range []string{manifests, metadata} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("create the bundle: %w", err)
		}
	}
	if err := writeYAML(filepath.Join(manifests, "nestor.clusterserviceversion.yaml"), csv); err != nil {
		return err
	}
	for _, object := range parts.bundle {
		name := fmt.Sprintf("%s_%s.yaml", object.GetName(), strings.ToLower(object.GetKind()))
		if err := writeYAML(filepath.Join(manifests, name), object.Object); err != nil {
			return err
		}
	}
	annotations := map[string]string{}
	dockerfile := "FROM scratch\n"
	for _, pair := range bundleMetadata {
		annotations[bundlePrefix+pair[0]] = pair[1]
		dockerfile += fmt.Sprintf("LABEL %s%s=%s\n", bundlePrefix, pair[0], pair[1])
	}
	dockerfile += "COPY manifests /manifests/\nCOPY metadata /metadata/\n"
	if err := writeYAML(filepath.Join(metadata, "annotations.yaml"), map[string]any{"annotations": annotations}); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "olm", "bundle.Dockerfile"), []byte(dockerfile), 0o644); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	return writeYAML(filepath.Join(dir, olmPrerequisites), parts.prerequisites...)
}

// bundleParts are the objects of an installation by the place where OLM expects them.
type bundleParts struct {
	deployment *unstructured.Unstructured
	// roles and clusterRoles are the operator's own, which OLM creates from rules.
	roles, clusterRoles []*unstructured.Unstructured
	bundle              []*unstructured.Unstructured
	prerequisites       []map[string]any
}

// divide divides the objects. OLM creates the operator's service account and its permissions itself. It installs only
// some kinds, and only in the operator's namespace; the history API's Secret is written by the operator and must
// survive an upgrade.
func divide(all []*unstructured.Unstructured) bundleParts {
	own := map[string]bool{"nestor-operator": true, "nestor-operator-heartbeat": true}
	var parts bundleParts
	for _, object := range all {
		kind := object.GetKind()
		switch {
		case kind == "Deployment":
			parts.deployment = object
		case kind == "ServiceAccount", own[object.GetName()] && (kind == "ClusterRoleBinding" || kind == "RoleBinding"):
			continue
		case kind == "ClusterRole" && own[object.GetName()]:
			parts.clusterRoles = append(parts.clusterRoles, object)
		case kind == "Role" && own[object.GetName()]:
			parts.roles = append(parts.roles, object)
		case kind == "CustomResourceDefinition", kind == "Service", kind == "ClusterRole", kind == "ClusterRoleBinding":
			object.SetNamespace("")
			parts.bundle = append(parts.bundle, object)
		default:
			parts.prerequisites = append(parts.prerequisites, object.Object)
		}
	}
	return parts
}

// chart is the part of a chart's description that the bundle uses.
type chart struct {
	Description string   `json:"description"`
	Home        string   `json:"home"`
	Keywords    []string `json:"keywords"`
	Annotations struct {
		Definitions string `json:"artifacthub.io/crds"`
		Examples    string `json:"artifacthub.io/crdsExamples"`
	} `json:"annotations"`
	definitions []map[string]any
	examples    []byte
}

func readChart(path string) (chart, error) {
	var c chart
	text, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read the chart: %w", err)
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read the chart: %w", err)
	}
	if err := yaml.Unmarshal([]byte(c.Annotations.Definitions), &c.definitions); err != nil {
		return c, fmt.Errorf("read the chart's definitions: %w", err)
	}
	var examples []any
	if err := yaml.Unmarshal([]byte(c.Annotations.Examples), &examples); err != nil {
		return c, fmt.Errorf("read the chart's examples: %w", err)
	}
	c.examples, err = json.MarshalIndent(examples, "", "  ")
	return c, err
}

// writeYAML writes objects as the documents of one file.
func writeYAML(path string, objects ...map[string]any) error {
	var documents []string
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("encode %s: %w", path, err)
		}
		documents = append(documents, string(text))
	}
	if err := os.WriteFile(path, []byte(strings.Join(documents, "---\n")), 0o644); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	return nil
}
