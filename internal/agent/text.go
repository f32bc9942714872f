// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Texts for the model when its reply cannot be used.
const (
	textEmpty        = "[Your reply was empty. Call a tool, or submit your result with submit_result.]"
	textCutOff       = "[Your reply was cut off by the limit on its length. Continue where it stopped, or submit a shorter result with submit_result.]"
	textNoData       = "[Your result must contain data, so a plain answer does not end your work. Submit it with submit_result, or say with submit_error why you cannot.]"
	textNotSubmitted = "[Your result is reviewed, so a plain answer does not end your work. Submit it with submit_result, or say with submit_error why you cannot.]"
	textCancelled    = "The user cancelled all work."
	textBudgetRaised = "[You had stopped because the budget was used up. It has been raised: continue where you stopped.]"
)

// textNoWorkspace is why an agent with context files cannot start.
const textNoWorkspace = "the context Selective shows files that the agent reads, and it has no tool read: give the chat or the standalone task a workspace, " +
	"let the role allow read, or choose another context"

// textUnknownOutcome is the answer to a tool call that was interrupted.
const textUnknownOutcome = "The outcome of this call is unknown: it was interrupted, and it may or may not have taken effect. " +
	"Check before you repeat it."

func textPartialAnswer(reason string) string {
	return fmt.Sprintf("[You have %s. This is your last reply, and you have no tools. "+
		"Say what you have found and done so far, and what is missing. Do not claim more than that.]", reason)
}

func textFailure(f Failure) string {
	if f.Kind == ErrorModel {
		return fmt.Sprintf("The model could not answer: %s\nSend a message to try again.", f.Reason)
	}
	return fmt.Sprintf("Stopped: %s.", f.Reason)
}

func textCancelledBy(by string) string {
	if by == "" {
		return "cancelled"
	}
	return "cancelled by " + by
}

func textDenied(comment string) string {
	if comment == "" {
		return "The user denied this call. Do not try it again; find another way, or say what you cannot do."
	}
	return fmt.Sprintf("The user denied this call and said: %s", comment)
}

func textLoop(l Loop) string {
	return fmt.Sprintf("called %s %d times in a row with the same arguments and the same result", l.Tool, l.Count)
}

func textLoopWarning(l Loop) string {
	stop := fmt.Sprintf("You will be stopped at %d.", loopFailAt)
	if l.Count >= loopFailAt-1 {
		stop = "You will be stopped if you repeat it."
	}
	return fmt.Sprintf("[You have %s. Repeating it will not change the result: do something else, or finish. %s]", textLoop(l), stop)
}

func textRepeatWarning(tool string, count, limit int) string {
	return fmt.Sprintf("[You have delegated this work with %s %d times, with the same result each time. Delegating it again will not change the result: "+
		"do something else, or answer the user. The conversation will be paused at %d.]", tool, count, limit)
}

func textNoSuchTool(name string, c Config) string {
	text := fmt.Sprintf("There is no tool %q for you", name)
	if c.withholds(name) {
		text += ": your role or your depth does not allow it"
	}
	names := c.toolNames()
	if near := nearest(name, names); len(near) > 0 {
		return fmt.Sprintf("%s. Did you mean %s?", text, strings.Join(near, " or "))
	}
	if more := len(names) - maxListedTools; more > 0 {
		names = append(slices.Clip(names[:maxListedTools]), fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s. Your tools are: %s.", text, orNone(names))
}

// maxListedTools bounds the names in the answer to a call of an unknown tool.
const maxListedTools = 40

func textNotAnObject(tool string) string {
	return fmt.Sprintf("The arguments of %s are not a JSON object. Nothing was run; call it again with valid JSON.", tool)
}

func textBadArguments(tool string, err error) string {
	return fmt.Sprintf("The arguments of %s do not fit: %s. Nothing was done; call it again.", tool, err)
}

func textStarted(specs []ChildSpec) string {
	lines := make([]string, len(specs))
	for i, spec := range specs {
		lines[i] = fmt.Sprintf("Started task %s (%s).", spec.Name, spec.Role)
	}
	return strings.Join(lines, "\n") + "\nThe results will come as a later message. Do not wait for them: report to the user what you have started, or end your turn."
}

func textStillRunning(children []Child) string {
	names := make([]string, len(children))
	for i, child := range children {
		names[i] = child.Name
	}
	return fmt.Sprintf("Still running as task %s. Its result will come as a later message.", strings.Join(names, ", "))
}

func textQuestionForOrchestrator(a Ask) string {
	return fmt.Sprintf("[Agent %s (sub_agent %q) is asking: %s\nDoes the conversation so far already answer this? "+
		"If it does, call reply_to_agent with the answer and how sure you are (0-100). If it does not, call ask_user. Do not guess.]",
		a.display(), a.Agent, a.Text)
}

func textAsk(a Ask) string {
	if a.Kind == AskApproval {
		text := fmt.Sprintf("Agent %s asks for approval of `%s` (task %s, call %s)", a.display(), a.Tool, a.Task, a.Call)
		reasons := a.Policy.Reasons().Lines()
		if a.Timeout > 0 {
			reasons = append(reasons, fmt.Sprintf("Expires %d seconds after the request.", a.Timeout/1000))
		}
		if len(reasons) > 0 { // as package view reads them
			text += ".\n" + strings.Join(reasons, "\n") + "\nArguments"
		}
		return text + ":\n" + a.Arguments
	}
	return fmt.Sprintf("Agent %s needs input: %s", a.display(), a.Text)
}

func textAskExpired(a Ask) string {
	return fmt.Sprintf("The request of agent %s to approve `%s` (task %s, call %s) has expired: it was not approved.", a.display(), a.Tool, a.Task, a.Call)
}

func textForwarded(a Ask, text string) string {
	return fmt.Sprintf("%s\n[This was passed on to agent %s as the answer to: %s]", text, a.display(), a.Text)
}

func textAutoAnswered(a Ask, answer string) string {
	return fmt.Sprintf("Agent %s asked: %s\nAnswered from the conversation: %s", a.display(), a.Text, answer)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (c Children) runningNames() string {
	var names []string
	for _, child := range c.Live {
		if child.pending() {
			names = append(names, child.Name)
		}
	}
	return orNone(names)
}

func jsonInto(text string, v any) error { return json.Unmarshal([]byte(text), v) }
