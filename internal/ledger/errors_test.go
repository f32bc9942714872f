// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
)

func TestErrorIsByReason(t *testing.T) {
	for reason, test := range map[ledger.Reason]struct{ passes, person bool }{
		ledger.ReasonUnavailable:   {passes: true},
		ledger.ReasonFull:          {person: true},
		ledger.ReasonReadOnly:      {person: true},
		ledger.ReasonCorrupt:       {person: true},
		ledger.ReasonDenied:        {person: true},
		ledger.ReasonMisconfigured: {person: true},
		ledger.ReasonSchemaTooNew:  {person: true},
		ledger.ReasonSchemaTooOld:  {person: true},
		ledger.ReasonIOError:       {person: true},
		ledger.ReasonFailed:        {},
	} {
		cause := errors.New("its own words")
		err := error(&ledger.Error{Ledger: "sqlite:/ledger.db", Op: "append", Reason: reason, Err: cause})
		if got := errors.Is(err, ledger.ErrUnavailable); got != test.passes {
			t.Errorf("%s: ErrUnavailable is %v, want %v", reason, got, test.passes)
		}
		if got := errors.Is(err, ledger.ErrNeedsAttention); got != test.person {
			t.Errorf("%s: ErrNeedsAttention is %v, want %v", reason, got, test.person)
		}
		for _, part := range []string{"append", "sqlite:/ledger.db", "its own words", reason.Advice()} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the message %q does not contain %q", reason, err, part)
			}
		}
	}
}
