// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nestor-dev/nestor/internal/controller/workspace"
)

// parseEgress parses the rules of --workspace-egress.
func parseEgress(text string) (rules []networkingv1.NetworkPolicyEgressRule, err error) {
	if err := decodeFlag(text, &rules); err != nil {
		return nil, fmt.Errorf("--workspace-egress must be a JSON list of NetworkPolicyEgressRules: %w", err)
	}
	return rules, nil
}

// parseAllow parses the runtimes and nodes of --workspace-allow.
func parseAllow(text string) (allow workspace.Placements, err error) {
	if err := decodeFlag(text, &allow); err != nil {
		return workspace.Placements{}, fmt.Errorf("--workspace-allow must be a JSON object with runtimeClassNames, nodeSelector and tolerations: %w", err)
	}
	for _, t := range allow.Tolerations {
		if t.Key == "" {
			return workspace.Placements{}, errors.New("--workspace-allow: a toleration needs a key; without one it would allow every node")
		}
	}
	return allow, nil
}

// decodeFlag decodes the JSON of a flag. An unknown field is an error: a rule without it could allow more than intended.
func decodeFlag(text string, value any) error {
	if text == "" {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(value)
}

// parseSize parses the size of --workspace-max-size.
func parseSize(text string) (resource.Quantity, error) {
	size, err := resource.ParseQuantity(text)
	if err != nil || size.Sign() <= 0 {
		return resource.Quantity{}, fmt.Errorf("--workspace-max-size is %q: set it to a size greater than 0, such as 20Gi", text)
	}
	return size, nil
}
