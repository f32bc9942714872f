// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestBodyIsBounded(t *testing.T) {
	for length, want := range map[int]error{0: nil, 9: nil, 10: nil, 11: ErrTooLarge, 5000: ErrTooLarge} {
		read, err := io.ReadAll(LimitBody(io.NopCloser(strings.NewReader(strings.Repeat("a", length))), 10))
		if !errors.Is(err, want) || err == nil && len(read) != length || len(read) > 10 {
			t.Errorf("%d bytes: %d were read, %v", length, len(read), err)
		}
	}
	if read, err := io.ReadAll(TruncateBody(io.NopCloser(strings.NewReader("0123456789")), 4)); err != nil || string(read) != "0123" {
		t.Errorf("the beginning is %q, %v", read, err)
	}
}

func TestFastStreamIsCut(t *testing.T) {
	endless := io.NopCloser(repeating("x\n"))
	many := RateLimit{Burst: 1 << 40, PerSecond: 1}
	for name, s := range map[string]io.ReadCloser{
		"bytes": LimitStream(endless, RateLimit{Burst: 1 << 20, PerSecond: 1 << 10}, many),
		"lines": LimitStream(endless, many, RateLimit{Burst: 1000, PerSecond: 1}),
	} {
		if n, err := io.Copy(io.Discard, s); !errors.Is(err, ErrTooLarge) || n > 2<<20 {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
	if _, err := io.ReadAll(LimitStream(io.NopCloser(strings.NewReader("a\nb\n")), RateLimit{Burst: 10, PerSecond: 1}, RateLimit{Burst: 10, PerSecond: 1})); err != nil {
		t.Errorf("a short stream: %v", err)
	}
}

// repeating returns the same text forever.
type repeating string

func (r repeating) Read(p []byte) (int, error) {
	n := 0
	for n+len(r) <= len(p) {
		n += copy(p[n:], r)
	}
	return n, nil
}
