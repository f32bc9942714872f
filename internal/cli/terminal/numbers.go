// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/nestor-dev/nestor/internal/money"
)

// Count shortens a number: 1234 is 1.2k.
func Count(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 999_950:
		return trimZero(fmt.Sprintf("%.1f", float64(n)/1000)) + "k"
	case n < 999_950_000:
		return trimZero(fmt.Sprintf("%.1f", float64(n)/1e6)) + "M"
	}
	return trimZero(fmt.Sprintf("%.1f", float64(n)/1e9)) + "G"
}

func trimZero(s string) string { return strings.TrimSuffix(s, ".0") }

// Cost formats a price given in millionths of a currency. An unknown one is "-".
func Cost(micros *int64, currency string) string {
	if micros == nil {
		return "-"
	}
	return money.Format(*micros, currency)
}

// Since formats how long ago a time was, like kubectl.
func Since(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return duration.HumanDuration(now.Sub(t))
}

// Bar returns a bar of at most width columns for part out of whole.
func Bar(part, whole int64, width int) string {
	if whole <= 0 || part <= 0 {
		return ""
	}
	const eighths = " ▏▎▍▌▋▊▉"
	filled := int(float64(part) / float64(whole) * float64(width) * 8)
	bar := strings.Repeat("█", filled/8)
	if rest := filled % 8; rest > 0 {
		bar += string([]rune(eighths)[rest])
	}
	if bar == "" {
		return "▏" // a small part is visible
	}
	return bar
}
