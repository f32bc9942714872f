// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"os"
	"regexp"
)

// OperatorLog is the end of what all operators of the stack have logged.
func (s *Stack) OperatorLog() string {
	const most = 16 << 10
	words, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(words[max(0, len(words)-most):])
}

// refusal is a line that tells what the API server refuses somebody for want of a right.
var refusal = regexp.MustCompile(`(?m)^.*cannot \w+ resource.*$`)

// Refusals are the lines of all that the stack's operators have logged that tell of a right which was missing: they have those of
// the chart, which must be enough.
func (s *Stack) Refusals() ([]string, error) {
	words, err := os.ReadFile(s.log.Name())
	if err != nil {
		return nil, fmt.Errorf("read the operator's log: %w", err)
	}
	return refusal.FindAllString(string(words), -1), nil
}
