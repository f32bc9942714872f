// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// clusterServiceVersion returns OLM's description of a version of the operator.
func clusterServiceVersion(version string, about chart, parts bundleParts) map[string]any {
	image := operatorImage(parts.deployment)
	return map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": map[string]any{
			"name": "nestor.v" + version, "namespace": "placeholder",
			"labels": map[string]any{
				"operatorframework.io/os.linux": "supported", "operatorframework.io/arch.amd64": "supported", "operatorframework.io/arch.arm64": "supported",
			},
			"annotations": map[string]any{
				"alm-examples": string(about.examples), "capabilities": "Full Lifecycle", "categories": "AI/Machine Learning",
				"containerImage": image, "createdAt": createdAt(), "description": about.Description,
				"repository": about.Home, "support": "The Nestor Authors", "operatorframework.io/suggested-namespace": "nestor-system",
			},
		},
		"spec": map[string]any{
			"displayName": "Nestor", "version": version, "maturity": "beta", "minKubeVersion": "1.32.0",
			"description": about.Description + "\n\nApply " + olmPrerequisites + " of the release before you subscribe: it has the ledger's volume, the policies " +
				"and the history API, which OLM does not install.",
			"provider": map[string]any{"name": "The Nestor Authors", "url": about.Home},
			"links":    []map[string]any{{"name": "Documentation", "url": about.Home}},
			"keywords": about.Keywords,
			// The policies identify the operator by its namespace and service account, so it watches all namespaces
			// from one.
			"installModes": []map[string]any{
				{"type": "OwnNamespace", "supported": false}, {"type": "SingleNamespace", "supported": false},
				{"type": "MultiNamespace", "supported": false}, {"type": "AllNamespaces", "supported": true},
			},
			"install": map[string]any{"strategy": "deployment", "spec": map[string]any{
				"clusterPermissions": permissions(parts.clusterRoles), "permissions": permissions(parts.roles),
				"deployments": []map[string]any{{
					"name": parts.deployment.GetName(), "label": parts.deployment.GetLabels(), "spec": parts.deployment.Object["spec"],
				}},
			}},
			"customresourcedefinitions": map[string]any{"owned": owned(about.definitions)},
			"relatedImages":             relatedImages(parts.deployment),
		},
	}
}

// permissions returns the rules of roles for the operator's service account.
func permissions(roles []*unstructured.Unstructured) []map[string]any {
	var rules []any
	for _, role := range roles {
		list, _, _ := unstructured.NestedSlice(role.Object, "rules") // rendered by the chart
		rules = append(rules, list...)
	}
	return []map[string]any{{"serviceAccountName": "nestor-operator", "rules": rules}}
}

// owned returns the definitions with the keys of OLM, which are those of Artifact Hub.
func owned(definitions []map[string]any) []map[string]any {
	var list []map[string]any
	for _, d := range definitions {
		list = append(list, map[string]any{
			"name": d["name"], "version": d["version"], "kind": d["kind"], "displayName": d["displayName"], "description": d["description"],
		})
	}
	return list
}

// container returns the first container of a Deployment.
func container(deployment *unstructured.Unstructured) map[string]any {
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers") // rendered by the chart
	first, _ := containers[0].(map[string]any)
	return first
}

func operatorImage(deployment *unstructured.Unstructured) string {
	image, _ := container(deployment)["image"].(string)
	return image
}

// relatedImages returns the images that a mirror for OLM needs: the operator's, and that of workspaces, which is a
// flag.
func relatedImages(deployment *unstructured.Unstructured) []map[string]any {
	images := []map[string]any{{"name": "nestor-operator", "image": operatorImage(deployment)}}
	args, _, _ := unstructured.NestedStringSlice(container(deployment), "args")
	for _, arg := range args {
		if image, ok := strings.CutPrefix(arg, "--workspace-image="); ok {
			images = append(images, map[string]any{"name": "nestor-workspace", "image": image})
		}
	}
	return images
}

// createdAt returns the time of the commit, so that the same commit gives the same bundle.
func createdAt() string {
	seconds, _ := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
}
