// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/policy"
	"github.com/nestor-dev/nestor/internal/view"
)

const editHelp = `# Change the arguments of %s below and save the file to approve the call with them. Lines that begin with # are
# ignored. An empty file, or one without changes, decides nothing.
`

// editedArguments returns the arguments with which a call is approved instead of its own, or an empty string.
func (o *decideOptions) editedArguments(ctx context.Context, s *session, ask view.Ask) (string, error) {
	if !o.edit && o.arguments == "" {
		return "", nil
	}
	if !ask.Editable {
		return "", fmt.Errorf("the arguments of this call cannot be changed: approval.editable of the role is not set, requesters are denied, "+
			"or the call is not one of a tool; `kubectl nestor deny %s --comment` lets the model correct it", ask.Task)
	}
	edited, err := o.readArguments(s)
	if o.edit {
		edited, err = editInEditor(ctx, s, ask)
	}
	if err != nil {
		return "", err
	}
	return edited, checkEdited(ask, edited)
}

// checkEdited returns an error if the person changed nothing.
func checkEdited(ask view.Ask, edited string) error {
	if indented(edited) == indented(ask.Arguments) {
		return errors.New("the arguments were not changed, and nothing was approved")
	}
	return nil
}

// argumentsEditor is the editor of a full-screen program, which gives it the terminal while it runs.
type argumentsEditor struct {
	ctx    context.Context //nolint:containedctx // Bubble Tea runs it and passes none
	s      session
	ask    view.Ask
	edited string
}

func newArgumentsEditor(ctx context.Context, s *session, ask view.Ask) *argumentsEditor {
	return &argumentsEditor{ctx: ctx, s: *s, ask: ask}
}

func (e *argumentsEditor) SetStdin(in io.Reader)   { e.s.In = in }
func (e *argumentsEditor) SetStdout(out io.Writer) { e.s.Out = out }
func (e *argumentsEditor) SetStderr(out io.Writer) { e.s.ErrOut = out }

// Edited returns the arguments after Run.
func (e *argumentsEditor) Edited() string { return e.edited }

func (e *argumentsEditor) Run() (err error) {
	if e.ask, err = e.s.fullArguments(e.ctx, e.ask); err != nil {
		return err
	}
	if e.edited, err = editInEditor(e.ctx, &e.s, e.ask); err != nil {
		return err
	}
	return checkEdited(e.ask, e.edited)
}

// readArguments reads the file of --arguments.
func (o *decideOptions) readArguments(s *session) (string, error) {
	if o.edit {
		return "", nil
	}
	var data []byte
	var err error
	if o.arguments == "-" {
		data, err = io.ReadAll(io.LimitReader(s.In, agent.MaxEditedArguments+1))
	} else {
		data, err = os.ReadFile(o.arguments)
	}
	if err != nil {
		return "", fmt.Errorf("read the arguments: %w", err)
	}
	edited := string(bytes.TrimSpace(data))
	return edited, checkArguments(edited)
}

func checkArguments(text string) error {
	var object map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(text), &object); {
	case err != nil:
		return fmt.Errorf("the arguments are no JSON object: %w", err)
	case object == nil:
		return errors.New("the arguments are no JSON object")
	case len(text) > agent.MaxEditedArguments:
		return fmt.Errorf("the arguments have %d bytes, more than the limit of %d", len(text), agent.MaxEditedArguments)
	}
	if err := policy.CheckArguments(text); err != nil { // the operator would refuse them after they were sent
		return fmt.Errorf("the arguments cannot be used: %w", err)
	}
	return nil
}

// editInEditor opens the arguments of a call in the user's editor, again after each mistake, and returns them without the indentation.
func editInEditor(ctx context.Context, s *session, ask view.Ask) (string, error) {
	file, err := os.CreateTemp("", "nestor-arguments-*.json")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := file.Close(); err != nil {
		return "", err
	}
	body, mistake := indented(ask.Arguments)+"\n", ""
	for {
		text := fmt.Sprintf(editHelp, ask.Tool) + mistake + body
		if err := os.WriteFile(file.Name(), []byte(text), 0o600); err != nil {
			return "", err
		}
		if err := openEditor(ctx, s, file.Name()); err != nil {
			return "", err
		}
		data, err := os.ReadFile(file.Name())
		if err != nil {
			return "", err
		}
		saved := withoutComments(string(data))
		if strings.TrimSpace(saved) == "" || saved == body && mistake != "" {
			return ask.Arguments, nil
		}
		compact := compacted(saved)
		if err = checkArguments(compact); err == nil {
			return compact, nil
		}
		body, mistake = saved, "# "+terminal.Line(err.Error())+"\n"
	}
}

func withoutComments(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// openEditor runs the editor that kubectl edit would run.
func openEditor(ctx context.Context, s *session, file string) error {
	command := strings.Fields(cmp.Or(s.getenv("KUBE_EDITOR"), s.getenv("EDITOR"), "vi"))
	if len(command) == 0 {
		return usagef("the environment variable EDITOR is blank: set it to the name of an editor, or use --arguments")
	}
	editor := exec.CommandContext(ctx, command[0], append(command[1:], file)...)
	editor.Stdin, editor.Stdout, editor.Stderr, editor.Env = s.In, s.Out, s.ErrOut, s.environ
	if err := editor.Run(); err != nil {
		return fmt.Errorf("edit the arguments with %s: %w", command[0], err)
	}
	return nil
}

func (s *session) getenv(name string) string {
	for _, pair := range s.environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// indented returns JSON with one value on each line. Numbers, and the order and number of keys, stay as they are.
func indented(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

func compacted(text string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(text)) != nil {
		return text
	}
	return out.String()
}
