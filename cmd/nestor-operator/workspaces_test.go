// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestWorkspaceEgressIsRead(t *testing.T) {
	rules, err := parseEgress(`[{"to":[{"ipBlock":{"cidr":"192.0.2.0/24"}}],"ports":[{"port":443,"protocol":"TCP"}]}]`)
	if err != nil || len(rules) != 1 || rules[0].To[0].IPBlock.CIDR != "192.0.2.0/24" {
		t.Errorf("got %v, %v", rules, err)
	}
	if rules, err := parseEgress(""); err != nil || rules != nil {
		t.Errorf("nothing: %v, %v", rules, err)
	}
	for _, text := range []string{"everything", `{"to":[]}`, `[{"too":[]}]`} {
		if _, err := parseEgress(text); err == nil || !strings.Contains(err.Error(), "--workspace-egress must be") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTheLargestSizeIsRead(t *testing.T) {
	if size, err := parseSize("2Gi"); err != nil || size.Value() != 2<<30 {
		t.Errorf("got %v, %v", size, err)
	}
	for _, text := range []string{"", "0", "-1Gi", "large"} {
		if _, err := parseSize(text); err == nil || !strings.Contains(err.Error(), "--workspace-max-size") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAllowedPlacementsAreRead(t *testing.T) {
	allow, err := parseAllow(`{"runtimeClassNames":["gvisor"],"nodeSelector":{"pool":["agents"]},"tolerations":[{"key":"spot","operator":"Exists"}]}`)
	if err != nil || allow.String() != "only runtimeClassName gvisor, nodeSelector pool=agents, toleration spot" {
		t.Errorf("got %v, %v", allow, err)
	}
	for _, text := range []string{"gvisor", `["gvisor"]`, `{"runtimeClass":["gvisor"]}`, `{"tolerations":[{"operator":"Exists"}]}`} {
		if _, err := parseAllow(text); err == nil || !strings.Contains(err.Error(), "--workspace-allow") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
