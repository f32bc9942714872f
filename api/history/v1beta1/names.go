// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"fmt"
	"strings"
)

// prefixes are the first parts of the names of transcripts, by the kind of the object.
var prefixes = map[string]string{"AgentChat": "chat", "SubAgent": "subagent", "AgentTask": "task"}

// TranscriptName returns the name of the transcript of the newest agent of an object, given the object's kind and name.
func TranscriptName(kind, name string) string {
	prefix, ok := prefixes[kind]
	if !ok {
		prefix = strings.ToLower(kind)
	}
	return prefix + "." + name
}

// ParseTranscriptName splits the name of a transcript. The uid is empty if the name refers to the newest agent.
func ParseTranscriptName(transcript string) (kind, name, uid string, ok bool) {
	parts := strings.Split(transcript, ".")
	if len(parts) < 2 || len(parts) > 3 || parts[1] == "" {
		return "", "", "", false
	}
	for known, prefix := range prefixes {
		if prefix == parts[0] {
			kind = known
		}
	}
	if len(parts) == 3 {
		uid = parts[2]
	}
	return kind, parts[1], uid, kind != "" && (len(parts) == 2 || uid != "")
}

// ModelCallName returns the name of a model call, given the UID of its agent, the id of the call, and its attempt.
func ModelCallName(uid, call string, attempt int) string {
	return fmt.Sprintf("%s.%s.%d", uid, call, attempt)
}
