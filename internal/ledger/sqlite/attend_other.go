// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package sqlite

import (
	"context"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Attend implements sqlstore.Driver.
func (d *database) Attend(context.Context, int) (leave func() error, err error) {
	return nil, ledger.ErrUnsupported
}
