// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestOldClustersFail(t *testing.T) {
	for release, want := range map[string]Status{
		"v1.31.14":       Failed,
		"v1.32.0":        OK,
		"v1.33.1+k3s1":   OK,
		"v1.40.0-alpha":  OK,
		"something else": OK,
	} {
		target := Target{
			Host: "https://cluster.example", API: clientfake.NewFakeClient(),
			Discovery: &fake.FakeDiscovery{Fake: &clienttesting.Fake{}, FakedServerVersion: &version.Info{GitVersion: release}},
		}
		finding := target.cluster(t.Context())
		if finding.Status != want {
			t.Errorf("%s: %+v, want %s", release, finding, want)
		}
		if want == Failed && !strings.Contains(finding.Message, OldestKubernetes+" or newer") {
			t.Errorf("%s: the message does not name the oldest release: %q", release, finding.Message)
		}
	}
}
