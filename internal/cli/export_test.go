// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/nestor-dev/nestor/internal/view"
	"github.com/nestor-dev/nestor/test/patience"
)

// WaitForChanges makes decisions wait for the files that calls would replace, as long as a busy machine may need.
func WaitForChanges() { changesTimeout = patience.Limit() }

// ReadsFileCall reports whether an ask is about a call of write or patch that is shown as a diff, and what the call makes of text.
func ReadsFileCall(ask view.Ask, before string) (path, cwd, after string, ok bool) {
	call, ok := parseFileCall(ask)
	if !ok {
		return "", "", "", false
	}
	after, err := call.apply(before)
	return call.path, call.cwd, after, err == nil
}
