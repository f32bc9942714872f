// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package plainjson

// Unescape returns JSON with <, > and & instead of their escapes, as Marshal would have written it. The API server and
// many programs escape them for HTML, which makes commands hard to read.
func Unescape(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' || i+1 == len(data) {
			out = append(out, data[i])
			continue
		}
		if c, ok := htmlEscape(data[i:]); ok {
			out = append(out, c)
			i += len(`\u0026`) - 1
			continue
		}
		out = append(out, data[i], data[i+1]) // also "\\", so that its second half does not begin an escape
		i++
	}
	return out
}

// htmlEscape returns the character that an escape at the beginning of data stands for. It reports false for other escapes.
func htmlEscape(data []byte) (byte, bool) {
	if len(data) < len(`\u0026`) {
		return 0, false
	}
	switch string(data[:len(`\u0026`)]) {
	case `\u0026`:
		return '&', true
	case `\u003c`, `\u003C`:
		return '<', true
	case `\u003e`, `\u003E`:
		return '>', true
	}
	return 0, false
}
