// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package sqlite

import (
	"context"

	"github.com/nestor-dev/nestor/internal/ledger"
)

func (d *database) LockLiveness(context.Context, int) (unlock func() error, err error) {
	return nil, ledger.ErrUnsupported
}
