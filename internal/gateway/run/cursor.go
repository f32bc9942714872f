// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"strconv"
	"strings"
)

// Cursor is a position in the events of a run: after the entry Seq, and after Offset bytes of the answer that follows
// it. The zero Cursor is the beginning.
type Cursor struct {
	Seq    int64
	Offset int
}

// String returns the cursor in the form that ParseCursor reads.
func (c Cursor) String() string { return fmt.Sprintf("%d.%d", c.Seq, c.Offset) }

func ParseCursor(text string) (Cursor, error) {
	seq, offset, _ := strings.Cut(text, ".")
	c := Cursor{}
	var err error
	if c.Seq, err = strconv.ParseInt(seq, 10, 64); err == nil {
		c.Offset, err = strconv.Atoi(offset)
	}
	if err != nil || c.Seq < 0 || c.Offset < 0 {
		return Cursor{}, fmt.Errorf("%q is not a position in a run", text)
	}
	return c, nil
}
