// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestEveryFallbackHasATry(t *testing.T) {
	for _, tc := range []struct {
		maxRetries *int32
		fallback   []v1beta1.Name
		want       int
	}{
		{ptr.To(int32(0)), nil, 0},
		{ptr.To(int32(0)), []v1beta1.Name{"b"}, 1},
		{ptr.To(int32(1)), []v1beta1.Name{"b", "c"}, 2},
		{ptr.To(int32(5)), []v1beta1.Name{"b", "c"}, 5},
		{nil, []v1beta1.Name{"b"}, 1},
	} {
		if got := retries(v1beta1.ModelProviderSpec{MaxRetries: tc.maxRetries, Fallbacks: tc.fallback}); got != tc.want {
			t.Errorf("maxRetries %v with fallbacks %v: %d retries, want %d", tc.maxRetries, tc.fallback, got, tc.want)
		}
	}
}
