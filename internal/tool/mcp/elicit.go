// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tool"
)

const (
	// maxQuestion bounds a question in characters, and maxRequestSchema the schema of its answer in bytes.
	maxQuestion      = 4000
	maxRequestSchema = 16 << 10
	// maxURL bounds the address of a page that a person is requested to open.
	maxURL = 2000
	// maxAnswers is how many answers to the same request may be unusable before it counts as cancelled.
	maxAnswers = 3
)

// The actions of an elicitation result.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// elicitation is a server's request for a person's input. It is stored in the state of a round.
type elicitation struct {
	Message string          `json:"message"`
	URL     string          `json:"url,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
}

// newElicitation converts a request. Everything in it is untrusted.
func newElicitation(params *sdk.ElicitParams) (elicitation, error) {
	e := elicitation{Message: shorten.UntrustedLine(params.Message, maxQuestion/2)}
	if params.Mode == "url" || params.URL != "" {
		u, err := url.Parse(params.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || len(params.URL) > maxURL {
			return elicitation{}, fmt.Errorf("the server requests to open a page with an address that is too long, or neither http nor https")
		}
		e.URL = u.String()
		return e, nil
	}
	if params.RequestedSchema == nil {
		return e, nil
	}
	schema, err := json.Marshal(params.RequestedSchema)
	if err != nil || len(schema) > maxRequestSchema {
		return elicitation{}, fmt.Errorf("the server requests input with a schema that is invalid or larger than %d KiB", maxRequestSchema>>10)
	}
	// The SDK checks an answer again, without a bound.
	if err := tool.CheckSchema(schema); err != nil {
		return elicitation{}, fmt.Errorf("the server requests input with an unsupported schema: %w", err)
	}
	e.Schema = schema
	return e, nil
}

// question returns the text for a person. It names the server and the tool, because the rest is the server's.
func (e elicitation) question(server, name, problem string) string {
	var b strings.Builder
	if problem != "" {
		fmt.Fprintf(&b, "The last answer does not fit: %s. ", problem)
	}
	fmt.Fprintf(&b, "The tool server %s asks (tool %s): %s", server, shorten.UntrustedLine(name, maxToolName), e.Message)
	b.WriteString(e.instructions())
	return shorten.Head(b.String(), maxQuestion)
}

func (e elicitation) instructions() string {
	if e.URL != "" {
		return fmt.Sprintf("\nOpen this page only if you trust that server: %s\nAnswer \"done\" when you have finished there, or \"decline\".", e.URL)
	}
	fields := e.form().fields()
	switch len(fields) {
	case 0:
		return "\nAnswer \"yes\" or \"decline\"."
	case 1:
		return "\nAnswer with " + fields[0].describe() + ", or \"decline\"."
	}
	lines := []string{"\nAnswer with a JSON object, or \"decline\". Its fields:"}
	for _, f := range fields {
		lines = append(lines, "- "+shorten.UntrustedLine(f.name, maxToolName)+": "+f.describe())
	}
	return strings.Join(lines, "\n")
}

// result converts the answer of a person. A problem is why the answer does not fit.
func (e elicitation) result(ctx context.Context, answer string) (result *sdk.ElicitResult, problem string) {
	word := strings.ToLower(strings.Trim(strings.TrimSpace(answer), `."'!`))
	switch word {
	case actionDecline, actionCancel:
		return &sdk.ElicitResult{Action: word}, ""
	}
	if e.URL != "" {
		return consent(word, "done", "ok", "yes", actionAccept)
	}
	form := e.form()
	if len(form.Properties) == 0 {
		result, problem = consent(word, "yes", "y", "ok", "true", "confirm", actionAccept)
		if result != nil && result.Action == actionAccept {
			result.Content = map[string]any{}
		}
		return result, problem
	}
	content, problem := form.parse(ctx, answer, e.Schema)
	if problem != "" {
		return nil, problem
	}
	return &sdk.ElicitResult{Action: actionAccept, Content: content}, ""
}

func consent(word string, accepted ...string) (*sdk.ElicitResult, string) {
	if word == "no" || word == "n" || word == "false" {
		return &sdk.ElicitResult{Action: actionDecline}, ""
	}
	if slices.Contains(accepted, word) {
		return &sdk.ElicitResult{Action: actionAccept}, ""
	}
	return nil, fmt.Sprintf("answer %q or \"decline\"", accepted[0])
}
