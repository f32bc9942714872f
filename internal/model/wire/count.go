// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"math"
	"strconv"
)

// maxCount bounds a count of tokens, so that sums and costs do not overflow. It is far beyond every context; the
// caller, which has the request, checks what is plausible.
const maxCount = 1 << 40

// Count is a count of tokens. Providers and gateways send it as an integer, a fraction or a string. Values above
// maxCount become maxCount; negative values and other text are unknown.
type Count struct {
	N     int64
	Known bool
}

// Max returns the larger of two counts, for reports that are cumulative.
func (c Count) Max(other Count) Count {
	return Count{N: max(c.N, other.N), Known: c.Known || other.Known}
}

// UnmarshalJSON never fails, because a bad count must not make the reply unusable.
func (c *Count) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(string(bytes.Trim(data, `"`)), 64)
	outOfRange := math.IsInf(n, 1)
	if err != nil && !outOfRange || math.IsNaN(n) || n < 0 {
		*c = Count{}
		return nil
	}
	*c = Count{N: int64(min(math.Ceil(n), maxCount)), Known: true}
	return nil
}
