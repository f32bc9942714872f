// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "fmt"

// defectNamedAt is the number of consecutive replies with the same defect after which the defect is why the iterations did not lead to a
// result. An agent with fewer iterations needs as many.
const defectNamedAt = 3

// Defect counts the consecutive replies that could not be used for the same reason. Kind is empty if the last reply could be used.
type Defect struct {
	Kind  ErrorKind `json:"kind,omitempty"`
	Count int       `json:"count,omitempty"`
}

// next counts another reply.
func (d Defect) next(kind ErrorKind) Defect {
	switch kind {
	case "":
		return Defect{}
	case d.Kind:
		return Defect{kind, d.Count + 1}
	}
	return Defect{kind, 1}
}

// defectOf returns why nothing of a reply can be used, or "".
func (c Config) defectOf(f ModelReplied) ErrorKind {
	switch {
	case len(f.Calls) > 0:
		return c.defectOfCalls(f)
	case c.Kind == Orchestrator: // every text ends its turn
		return ""
	case f.Finish == FinishLength:
		return ErrorReplyCutOff
	case f.Text == "":
		return ErrorEmptyReply
	case len(c.OutputSchema) > 0:
		return ErrorOutputSchemaNotMet
	}
	return ""
}

// defectOfCalls returns why none of a reply's calls can be made, or "".
func (c Config) defectOfCalls(f ModelReplied) ErrorKind {
	kind := ErrorInvalidArguments
	for _, call := range f.Calls {
		_, submitted := c.submission(call)
		unfit := call.Problem != "" || call.Arguments != "" && !isObject(call.Arguments)
		isSubmission := c.Kind == SubAgent && (call.Tool == ToolSubmit || call.Tool == ToolGiveUp)
		if submitted || !unfit && !isSubmission {
			return ""
		}
		if call.Tool == ToolSubmit && len(c.OutputSchema) > 0 {
			kind = ErrorOutputSchemaNotMet
		}
	}
	if f.Finish == FinishLength { // the arguments of the last call are incomplete
		return ErrorReplyCutOff
	}
	return kind
}

// iterationLimit returns the failure of an agent that has made all of its model calls.
func (s State) iterationLimit(limit int) Failure {
	failure := Failure{Kind: ErrorIterationLimit, Reason: fmt.Sprintf("reached the limit of %d iterations", limit)}
	if s.Defect.Kind == "" || s.Defect.Count < min(defectNamedAt, limit) {
		return failure
	}
	failure.Kind = s.Defect.Kind
	replies := "the last reply"
	if s.Defect.Count > 1 {
		replies = fmt.Sprintf("each of the last %d replies", s.Defect.Count)
	}
	failure.Reason += fmt.Sprintf(": %s %s", replies, map[ErrorKind]string{
		ErrorEmptyReply:         "was empty",
		ErrorReplyCutOff:        "was cut off by the limit on its length",
		ErrorInvalidArguments:   "had only calls with invalid arguments",
		ErrorOutputSchemaNotMet: "lacked data that matches the output schema",
	}[s.Defect.Kind])
	return failure
}
