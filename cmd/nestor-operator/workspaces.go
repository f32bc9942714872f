// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// parseEgress parses the rules of --workspace-egress. An unknown field is an error: a rule without it could allow more than intended.
func parseEgress(text string) ([]networkingv1.NetworkPolicyEgressRule, error) {
	if text == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewBufferString(text))
	decoder.DisallowUnknownFields()
	var rules []networkingv1.NetworkPolicyEgressRule
	if err := decoder.Decode(&rules); err != nil {
		return nil, fmt.Errorf("--workspace-egress must be a JSON list of NetworkPolicyEgressRules: %w", err)
	}
	return rules, nil
}

// parseSize parses the size of --workspace-max-size.
func parseSize(text string) (resource.Quantity, error) {
	size, err := resource.ParseQuantity(text)
	if err != nil || size.Sign() <= 0 {
		return resource.Quantity{}, fmt.Errorf("--workspace-max-size is %q: set it to a size greater than 0, such as 20Gi", text)
	}
	return size, nil
}
