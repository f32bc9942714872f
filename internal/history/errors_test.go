// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/internal/ledger"
)

func TestErrorsBecomeKubernetesStatuses(t *testing.T) {
	down := &ledger.Error{Ledger: "postgres://nestor@db.internal/ledger", Op: "list runs", Reason: ledger.ReasonUnavailable, Err: errors.New("connection refused")}
	for name, test := range map[string]struct {
		err    error
		status int32
		words  string
	}{
		"a ledger that is down": {down, http.StatusServiceUnavailable, "LedgerUnavailable"},
		"a wrong cursor":        {fmt.Errorf("%w: cursor", ledger.ErrInvalid), http.StatusBadRequest, "cursor"},
		"an ended request":      {fmt.Errorf("list: %w", context.Canceled), http.StatusGatewayTimeout, "the request ended"},
		"a refusal":             {fmt.Errorf("sum: %w", notFound("usages", "x", "there is none")), http.StatusNotFound, "there is none"},
		"anything else":         {errors.New("what"), http.StatusInternalServerError, "what"},
	} {
		t.Run(name, func(t *testing.T) {
			err := statusError(test.err)
			var status *apierrors.StatusError
			if !errors.As(err, &status) || status.ErrStatus.Code != test.status || !strings.Contains(err.Error(), test.words) {
				t.Errorf("%v, want status %d and %q", err, test.status, test.words)
			}
			if strings.Contains(err.Error(), "db.internal") {
				t.Errorf("%v reveals the ledger's address", err)
			}
		})
	}
	if statusError(nil) != nil {
		t.Error("nil became an error")
	}
}
