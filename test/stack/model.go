// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// ReadModelLog decodes the log of the scripted model: the requests whose idempotency keys begin with a prefix.
func (s *Stack) ReadModelLog(ctx context.Context, prefix string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.ModelAdmin+"/requests?key="+url.QueryEscape(prefix), nil)
	if err != nil {
		return fmt.Errorf("read the model's log: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("read the model's log: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("read the model's log: %w", err)
	}
	return nil
}
