// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package gateway holds what the chart installs for the gateway, embedded, so that suites give it exactly the permissions that an installation
// gives it.
package gateway

import (
	"embed"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nestor-dev/nestor/config/operator"
)

// ServiceAccount is the name of the gateway's service account in the operator's namespace.
const ServiceAccount = "nestor-gateway"

//go:embed access.yaml
var files embed.FS

// Access returns the gateway's service account and permissions.
func Access() ([]*unstructured.Unstructured, error) { return operator.Objects(files, "access.yaml") }
