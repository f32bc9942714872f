// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
)

func priced(name, currency, model string, input, output int64, fallbacks ...string) *v1beta1.ModelProvider {
	return &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: v1beta1.ModelProviderSpec{
		Currency: currency, DefaultModel: model, Fallbacks: fallbacks,
		Models: []v1beta1.ModelInfo{{Name: model, InputMicrosPerMillion: &input, OutputMicrosPerMillion: &output}},
	}}
}

func TestDearerFallbackIsReserved(t *testing.T) {
	reader := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(
		priced("dear", "USD", "large", 900, 800), priced("cheap", "USD", "tiny", 1, 1), priced("foreign", "EUR", "large", 9000, 9000)).Build()
	r := &Resolver{Finder: resolve.Finder{Reader: reader}}
	for name, tc := range map[string]struct {
		fallbacks []string
		want      agent.Price
	}{
		"no fallback":      {nil, agent.Price{Currency: "USD", Input: 100, Output: 850}},
		"a cheaper one":    {[]string{"cheap"}, agent.Price{Currency: "USD", Input: 100, Output: 850}},
		"a dearer one":     {[]string{"cheap", "dear"}, agent.Price{Currency: "USD", Input: 900, Output: 850}},
		"another currency": {[]string{"foreign"}, agent.Price{Currency: "USD", Input: 100, Output: 850}},
		"one that is gone": {[]string{"gone", "dear"}, agent.Price{Currency: "USD", Input: 900, Output: 850}},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.mostPrice(t.Context(), priced("main", "USD", "small", 100, 850, tc.fallbacks...), "small")
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := r.mostPrice(t.Context(), priced("main", "USD", "small", 1, 1, "dear"), "other"); got != nil {
		t.Errorf("a model without a price is reserved at %+v", got)
	}
}
