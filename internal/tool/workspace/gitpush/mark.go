// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"fmt"
	"regexp"
	"strings"
)

// mark identifies a published commit. Tree is the published tree: a commit that a person has amended has another one.
type mark struct{ Owner, Call, Tree string }

// append returns a message that ends with the mark. Only the end counts, which is never the model's.
func (m mark) append(message string) string {
	return fmt.Sprintf("%s\n\nNestor-Owner: %s\nNestor-Call: %s\nNestor-Tree: %s\n", strings.TrimSpace(message), m.Owner, m.Call, m.Tree)
}

var markPattern = regexp.MustCompile(`\n\nNestor-Owner: ([0-9A-Za-z-]+)\nNestor-Call: ([0-9A-Za-z-]+)\nNestor-Tree: ([0-9a-f]+)\n*$`)

// readMark returns the mark of a message, or the zero one.
func readMark(message string) mark {
	match := markPattern.FindStringSubmatch(message)
	if match == nil {
		return mark{}
	}
	return mark{match[1], match[2], match[3]}
}

var branchPattern = regexp.MustCompile(`^nestor(/[A-Za-z0-9]([A-Za-z0-9_-]|[.][A-Za-z0-9_-])*)+$`)

// maxBranch is the maximum length of a branch's name: the longest name of an object and the prefix.
const maxBranch = 260

// IsBranch reports whether a name is one of a branch that may be pushed to.
func IsBranch(name string) bool {
	return len(name) <= maxBranch && branchPattern.MatchString(name) && !strings.Contains(name+"/", ".lock/")
}

var wordPattern = regexp.MustCompile(`^[0-9A-Za-z-]{1,128}$`)

func isWord(text string) bool { return wordPattern.MatchString(text) }

// sha256NameLength is the length of an object's name in a SHA-256 repository.
const sha256NameLength = 64

var objectPattern = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func isObjectName(name string) bool { return objectPattern.MatchString(name) }
