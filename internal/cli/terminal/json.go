// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import "github.com/nestor-dev/nestor/internal/plainjson"

// JSON returns JSON for people, such as the arguments of a call: <, > and & are not escaped.
func JSON[T string | []byte](data T) string { return string(plainjson.Unescape([]byte(data))) }
