// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/backend"
)

// mostPrice returns the highest price that a call of a model may have, or nil if the provider lists none. It includes
// the provider's fallbacks, so that a dearer one cannot exceed a limit. A fallback with another currency is left out:
// below a limit of money it is not called.
func (r *Resolver) mostPrice(ctx context.Context, provider *v1beta1.ModelProvider, model string) *agent.Price {
	most := priceAt(provider, model)
	if most == nil {
		return nil
	}
	for _, name := range provider.Spec.Fallbacks {
		var fallback v1beta1.ModelProvider
		if err := r.Finder.Reader.Get(ctx, types.NamespacedName{Namespace: provider.Namespace, Name: name}, &fallback); err != nil {
			continue // the scheduler does not use it either; the provider's condition names it
		}
		if price := priceAt(&fallback, cmp.Or(fallback.Spec.DefaultModel, model)); price != nil && price.Currency == most.Currency {
			most.Input, most.Output = max(most.Input, price.Input), max(most.Output, price.Output)
		}
	}
	return most
}

func priceAt(provider *v1beta1.ModelProvider, model string) *agent.Price {
	price, ok := backend.Prices(provider).Of(model)
	if !ok || price.InputMicrosPerMillion == nil || price.OutputMicrosPerMillion == nil {
		return nil
	}
	return &agent.Price{Currency: price.Currency, Input: price.MostInput(), Output: *price.OutputMicrosPerMillion}
}
