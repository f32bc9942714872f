// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The texts in this file are for models. Each says what happened and what to do next, and repeats no more than the
// model needs.

// maxQuotedSchema is the longest schema that an answer quotes.
const maxQuotedSchema = 2000

// unknownTool is for a tool that was offered to the agent but no longer exists. Other unknown names are rejected
// earlier.
func unknownTool(name string) outcome {
	return outcome{output: errorText(fmt.Sprintf("There is no tool called %q any more. Continue without it.", name)), failure: UnknownTool}
}

func unreadableArguments(spec Spec, err error) outcome {
	text := fmt.Sprintf("The arguments of %s cannot be read, and nothing was run: %v. Call it again with one JSON object.", spec.Name, err)
	return outcome{output: errorText(text + schemaHint(spec)), failure: InvalidArguments}
}

func invalidArguments(spec Spec, lines []string) outcome {
	text := fmt.Sprintf("The arguments of %s do not fit, and nothing was run:\n- %s\nCorrect them and call it again.",
		spec.Name, strings.Join(lines, "\n- "))
	return outcome{output: errorText(text + schemaHint(spec)), failure: InvalidArguments}
}

func timedOut(spec Spec, limit time.Duration, err error) outcome {
	text := fmt.Sprintf("%s did not finish within %s and was stopped.", spec.Name, limit)
	return interrupted(spec, TimedOut, text, "Ask for less at once, or continue without it.", err)
}

func cancelledBeforeStart(spec Spec, err error) outcome {
	return outcome{output: errorText(spec.Name + " was cancelled before it began."), failure: Cancelled, err: err}
}

func cancelled(spec Spec, err error) outcome {
	return interrupted(spec, Cancelled, spec.Name+" was cancelled before it finished.", "", err)
}

func toolDefect(spec Spec, err error) outcome {
	text := spec.Name + " failed because of a defect in the tool, not because of your arguments."
	return interrupted(spec, Failed, text, "Continue without it.", err)
}

func failed(spec Spec, err error) outcome {
	text := fmt.Sprintf("%s failed: %v.", spec.Name, strings.TrimSuffix(err.Error(), "."))
	if errors.Is(err, ErrOutcomeUnknown) {
		return interrupted(spec, Failed, text, "", err)
	}
	return outcome{output: errorText(text), failure: Failed, err: err}
}

// interrupted describes a call that started and returned no answer, and states whether it may have taken effect.
func interrupted(spec Spec, failure Failure, text, advice string, err error) outcome {
	unknown := !spec.Repeatable()
	if unknown {
		advice = "It may have taken effect all the same: check before you call it again."
	}
	text = strings.TrimSpace(text + " " + advice)
	return outcome{output: errorText(text), failure: failure, unknown: unknown, err: err}
}

func errorText(text string) Output { return Output{Text: text, IsError: true} }

// schemaHint quotes the schema if it is short, because the model read it far back in its context.
func schemaHint(spec Spec) string {
	if len(spec.Parameters) > maxQuotedSchema {
		return ""
	}
	return "\nThe schema of the arguments is " + string(spec.Parameters)
}
