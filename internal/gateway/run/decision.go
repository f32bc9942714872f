// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// A decision applies to the ask that its client was shown, and to nothing else. Each door returns the reference of an
// ask with it, and gets it back with the decision: in the ID of a response, in metadata, in a data part, in the ID of
// an interrupt or form, or as the end of the last reply in a conversation. References need no signature: a caller can
// only claim to have read a call that it may decide anyway.

// Ref identifies the ask with the exact arguments of its call. It is never the same for two asks.
func (a Ask) Ref() string { return NewRef(a.ID(), a.Digest) }

// NewRef returns the reference of the ask with an ID and a digest.
func NewRef(id, digest string) string { return id + "#" + digest }

// howToDecide follows the description of a call.
const howToDecide = `Reply with exactly "approve" or "deny" to decide; a comment may follow after a colon. ` +
	`Any other reply is a message and decides nothing.`

// Text returns the ask for a person who replies with text. That of an approval ends with its reference: see [ShownIn].
func (a Ask) Text() string {
	if !a.IsApproval() {
		return a.Question
	}
	return fmt.Sprintf("%s\n\n%s\n[request %q, digest %s]", a.Description(), howToDecide, a.ID(), a.Digest)
}

var referenceLine = regexp.MustCompile(`(?:^|\n)(\[request ".+", digest [0-9a-f]*\])$`)

// ShownIn returns the reference of the ask at the end of a reply to a client, or "". An open ask is recognized by its
// exact Text. For any other approval, the result equals no Ref.
func ShownIn(reply string, open ...Ask) string {
	reply = strings.TrimSpace(reply)
	for _, ask := range open {
		if endsWith(reply, strings.TrimSpace(ask.Text())) {
			return ask.Ref()
		}
	}
	if match := referenceLine.FindStringSubmatch(reply); match != nil {
		return match[1]
	}
	return ""
}

// endsWith reports whether text is the last part of a reply.
func endsWith(reply, text string) bool {
	before, ok := strings.CutSuffix(reply, text)
	return ok && (before == "" || strings.HasSuffix(before, "\n\n"))
}

// Decision is a decision about a tool call, as a client sent it.
type Decision struct {
	Approve bool
	Comment string
	// Arguments are the JSON arguments with which the person replaced those of the call, or empty. They come from
	// structured replies only: text is never an edit.
	Arguments string
	// Shown is the reference of the ask that the client was shown. It comes from the client, never from the state of
	// the run.
	Shown string
}

// ParseDecision reads a decision from text: "approve" or "deny" in any case, optionally with a final "." or "!" and a
// comment after a colon. It reports false for any other text.
func ParseDecision(text string) (d Decision, ok bool) {
	word, comment, _ := strings.Cut(text, ":")
	word = strings.ToLower(strings.TrimSpace(word))
	if end := len(word) - 1; end >= 0 && (word[end] == '.' || word[end] == '!') {
		word = word[:end]
	}
	return Decision{Approve: word == "approve", Comment: strings.TrimSpace(comment)}, word == "approve" || word == "deny"
}

// Use is what a reply of a client does.
type Use int

const (
	// UseMessage means that the reply is an answer to a question, or a message.
	UseMessage Use = iota
	// UseDecision means that the reply decides about the ask that the client was shown.
	UseDecision
	// UseStale means that the client was shown an ask that is no longer open. The reply does nothing.
	UseStale
	// UseUnshown means that the reply is a decision, and nothing shows that the client was shown a call that waits for
	// one. The reply does nothing.
	UseUnshown
)

// Judge returns the effect of a reply on a run with open asks, and the ask that the reply is about, or nil. shown is
// the reference of the ask that the client was shown, or "" if the request does not have it.
func Judge(open []Ask, text, shown string) (Use, *Ask) {
	_, decides := ParseDecision(text)
	for i := range open {
		if ask := &open[i]; ask.Ref() == shown {
			if decides && ask.IsApproval() {
				return UseDecision, ask
			}
			return UseMessage, ask
		}
	}
	if shown != "" {
		return UseStale, nil
	}
	for i := range open {
		if decides && open[i].IsApproval() {
			return UseUnshown, &open[i]
		}
	}
	return UseMessage, nil
}

// edits reports whether a decision changes the arguments of a call.
func (a Ask) edits(d Decision) bool {
	return d.Approve && d.Arguments != "" && (a.Truncated || d.Arguments != a.Arguments)
}

// checkShown returns an error unless a decision is about the ask that its client was shown.
func (a Ask) checkShown(d Decision) error {
	var problem string
	switch {
	case d.Shown != a.Ref():
		problem = "the decision is about another request than the one that waits: nothing was decided"
	case a.edits(d) && !a.Editable:
		problem = "the arguments of this call cannot be changed, and nothing was decided: approve it as it is, or deny it with a comment"
	case d.Approve && a.Truncated && a.Digest == "":
		problem = "the arguments are shortened and have no digest, so that the call cannot be approved here: use kubectl nestor approve " + a.Task
	default:
		return nil
	}
	return apierrors.NewConflict(v1beta1.GroupVersion.WithResource("agenttasks").GroupResource(), a.Task, errors.New(problem))
}
