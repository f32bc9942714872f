// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrTooLarge means that an endpoint sends more than its limit.
var ErrTooLarge = errors.New("the endpoint sends too much")

// LimitBody returns a body that fails with ErrTooLarge after limit bytes, counted after decompression.
func LimitBody(body io.ReadCloser, limit int) io.ReadCloser {
	return &bounded{ReadCloser: body, limit: limit, left: limit}
}

type bounded struct {
	io.ReadCloser
	limit, left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left > 0 {
		n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
		b.left -= n
		return n, err
	}
	// A body of exactly limit bytes ends here.
	var one [1]byte
	if n, err := b.ReadCloser.Read(one[:]); n == 0 {
		return 0, err
	}
	return 0, fmt.Errorf("%w: the answer is larger than %s", ErrTooLarge, size(b.limit))
}

// TruncateBody truncates a body to limit bytes, for error bodies, whose beginning is enough.
func TruncateBody(body io.ReadCloser, limit int64) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(body, limit), body}
}

// RateLimit is the rate limit of an endless stream: Burst at once, then PerSecond.
type RateLimit struct{ Burst, PerSecond int }

// LimitStream returns a body that fails with ErrTooLarge if it exceeds the rate limits in bytes or lines.
func LimitStream(body io.ReadCloser, bytes, lines RateLimit) io.ReadCloser {
	now := time.Now()
	return &stream{ReadCloser: body, bytes: bucket{bytes, float64(bytes.Burst), now}, lines: bucket{lines, float64(lines.Burst), now}}
}

type stream struct {
	io.ReadCloser
	bytes, lines bucket
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	now := time.Now()
	if !s.bytes.take(n, now) || !s.lines.take(bytes.Count(p[:n], []byte{'\n'}), now) {
		return 0, fmt.Errorf("%w: the stream has more than %s or %d lines a second", ErrTooLarge, size(s.bytes.limit.PerSecond), s.lines.limit.PerSecond)
	}
	return n, err
}

type bucket struct {
	limit RateLimit
	left  float64
	at    time.Time
}

func (b *bucket) take(n int, now time.Time) bool {
	b.left = min(b.left+now.Sub(b.at).Seconds()*float64(b.limit.PerSecond), float64(b.limit.Burst))
	b.at = now
	b.left -= float64(n)
	return b.left >= 0
}

func size(bytes int) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}
