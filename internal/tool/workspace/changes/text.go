// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"strings"

	"golang.org/x/sys/unix"
)

// nonblock keeps an open from waiting for a pipe.
const nonblock = unix.O_NONBLOCK

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func join(texts ...string) string {
	return strings.TrimSpace(strings.Join(texts, " "))
}
