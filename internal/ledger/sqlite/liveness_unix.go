// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// LockLiveness implements sqlstore.Driver with a file lock next to the ledger, which the system releases when the process ends.
func (d *database) LockLiveness(_ context.Context, shard int) (unlock func() error, err error) {
	file, err := os.OpenFile(fmt.Sprintf("%s-holder%d", d.path, shard), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrPermission) { // the file belongs to another user
		return nil, ledger.ErrUnsupported
	}
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return file.Close, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ledger.ErrLivenessLocked
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
		err = ledger.ErrUnsupported
	}
	return nil, errors.Join(err, file.Close())
}
