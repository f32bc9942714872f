// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"os"
	"regexp"
)

// OperatorLog returns the end of the log of all operators of the stack that have no log of their own.
func (s *Stack) OperatorLog() string { return readTail(s.log.Name()) }

func readTail(path string) string {
	const most = 16 << 10
	words, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(words[max(0, len(words)-most):])
}

// refusal matches a line about a request that the API server refused because a permission was missing.
var refusal = regexp.MustCompile(`(?m)^.*cannot \w+ resource.*$`)

// Refusals returns the log lines of the stack's operators about missing permissions. The permissions of the chart must
// be sufficient, so there should be none.
func (s *Stack) Refusals() ([]string, error) {
	words, err := os.ReadFile(s.log.Name())
	if err != nil {
		return nil, fmt.Errorf("read the operator's log: %w", err)
	}
	return refusal.FindAllString(string(words), -1), nil
}
