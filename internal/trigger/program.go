// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger/cron"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// Bounds of rendered text, in characters, as the API has them for tasks and messages.
const (
	maxInstruction     = 32768
	maxSuccessCriteria = 4096
	maxRef             = 256
	maxContent         = 65536
)

// FieldError is the error of a field that does not contain an expression.
type FieldError = cron.FieldError

// Program is the compiled spec of a trigger. It depends on the spec only, so it is compiled once for each generation.
type Program struct {
	// Schedule is the schedule, or nil.
	Schedule *cron.Schedule
	Selector labels.Selector

	spec                              v1beta1.AgentTriggerSpec
	when, dedupKey                    *expr.Program
	instruction, criteria, ref, value *expr.Template
	arguments                         *expr.JSONTemplate
}

func SourceOf(spec v1beta1.AgentTriggerSpec) expr.Source {
	switch {
	case spec.Webhook != nil:
		return expr.Webhook
	case spec.Watch != nil:
		return expr.Watch
	}
	return expr.Schedule
}

// Compile compiles the schedule, the expressions and the templates of a trigger. The error is an *expr.Error, or a
// *FieldError for other fields.
func Compile(spec v1beta1.AgentTriggerSpec) (*Program, error) {
	p := &Program{spec: spec, Selector: labels.Everything()}
	if spec.Watch != nil && spec.Watch.Selector != nil {
		var err error
		if p.Selector, err = metav1.LabelSelectorAsSelector(spec.Watch.Selector); err != nil {
			return nil, &FieldError{Field: "spec.watch.selector", Problem: err.Error()}
		}
	}
	if spec.Schedule != nil {
		var err error
		if p.Schedule, err = cron.Parse(*spec.Schedule); err != nil {
			return nil, err
		}
	}
	c := compiler{source: SourceOf(spec)}
	switch {
	case spec.Webhook != nil:
		p.when = c.expression("spec.webhook.when", spec.Webhook.When)
	case spec.Watch != nil:
		p.when = c.expression("spec.watch.when", spec.Watch.When)
	}
	p.dedupKey = c.expression("spec.dedupKey", spec.DedupKey)
	if task := spec.Task; task != nil {
		p.instruction = c.template("spec.task.instruction", task.Instruction)
		p.criteria = c.template("spec.task.successCriteria", task.SuccessCriteria)
		if task.Workspace != nil && task.Workspace.Git != nil {
			p.ref = c.template("spec.task.workspace.git.ref", task.Workspace.Git.Ref)
		}
		p.arguments = c.json("spec.task.arguments", task.Arguments)
	}
	if spec.Message != nil {
		p.value = c.template("spec.message.content", spec.Message.Content)
	}
	return p, c.err
}

// compiler keeps the first error.
type compiler struct {
	source expr.Source
	count  int
	err    error
}

// add counts expressions. Too many are an error, so that the next field is not compiled.
func (c *compiler) add(expressions int) {
	if c.count += expressions; c.err == nil && c.count > expr.MaxExpressions {
		c.err = &expr.Error{Field: "spec", Problem: fmt.Sprintf("there are more than %d expressions", expr.MaxExpressions)}
	}
}

func (c *compiler) expression(field, text string) *expr.Program {
	if c.err != nil || text == "" {
		return nil
	}
	var p *expr.Program
	p, c.err = expr.Compile(c.source, field, text)
	c.add(1)
	return p
}

func (c *compiler) template(field, text string) *expr.Template {
	if c.err != nil || text == "" {
		return nil
	}
	t, err := expr.CompileTemplate(c.source, field, text)
	if c.err = err; err != nil {
		return nil
	}
	c.add(t.Expressions())
	return t
}

func (c *compiler) json(field string, value *runtime.RawExtension) *expr.JSONTemplate {
	if c.err != nil || value == nil {
		return nil
	}
	t, err := expr.CompileJSON(c.source, field, value.Raw)
	if c.err = err; err != nil {
		return nil
	}
	c.add(t.Expressions())
	return t
}

// Matches reports whether the condition of the source is true for a firing. A trigger without a condition matches
// everything.
func (p *Program) Matches(ctx context.Context, f Firing) (bool, error) {
	if p.when == nil {
		return true, nil
	}
	return p.when.Bool(ctx, f.Input)
}

// Key returns the key of a firing, or "" if the trigger has no dedupKey. Keys of different types differ.
func (p *Program) Key(ctx context.Context, f Firing) (string, error) {
	if p.dedupKey == nil {
		return "", nil
	}
	value, err := p.dedupKey.Value(ctx, f.Input)
	if err != nil {
		return "", err
	}
	key, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("write the key as JSON: %w", err)
	}
	return string(key), nil
}

// Render returns the kind and the spec, as JSON, of the object that a firing creates.
func (p *Program) Render(ctx context.Context, f Firing) (v1beta1.TargetKind, []byte, error) {
	// The trigger's author requests all its work. Without the name of the person who fires it, no requester is
	// recorded.
	user := p.spec.User
	if f.Manual && f.User == "" {
		user = ""
	}
	fireUser := f.User
	if fireUser == user {
		fireUser = ""
	}
	if p.spec.Message != nil {
		content, err := p.value.Render(ctx, f.Input, maxContent)
		if err != nil {
			return "", nil, err
		}
		data, err := json.Marshal(v1beta1.AgentMessageSpec{Chat: p.spec.Message.Chat, Role: v1beta1.RoleUser, User: user, FireUser: fireUser, Content: content, ContentLabels: p.contentLabels()})
		return v1beta1.TargetMessage, data, err
	}
	task, err := p.task(ctx, f)
	if err != nil {
		return "", nil, err
	}
	task.User, task.FireUser, task.ContentLabels = user, fireUser, p.contentLabels()
	data, err := json.Marshal(task)
	return v1beta1.TargetTask, data, err
}

// contentLabels returns the labels of the created object. A schedule has only content of the trigger's author.
func (p *Program) contentLabels() []v1beta1.ContentLabel {
	outside := p.spec.Webhook != nil || p.spec.Watch != nil
	labelled := slices.Contains(p.spec.ContentLabels, v1beta1.ContentUntrusted) // the field of a task or message is a set
	return v1beta1.Content(!outside || p.spec.Trusted || labelled, p.spec.ContentLabels)
}

// task returns the spec of the task that a firing creates, without its user.
func (p *Program) task(ctx context.Context, f Firing) (*v1beta1.AgentTaskSpec, error) {
	template := p.spec.Task.DeepCopy()
	task := &v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: template.Role, Limits: template.Limits, ModelProvider: template.ModelProvider, Model: template.Model,
		Workspace: template.Workspace, TTLSecondsAfterFinished: template.TTLSecondsAfterFinished, OutputSchema: template.OutputSchema,
		Notify: slices.Clone(p.spec.Notify),
	}
	for _, text := range []struct {
		template *expr.Template
		to       *string
		max      int
	}{{p.instruction, &task.Instruction, maxInstruction}, {p.criteria, &task.SuccessCriteria, maxSuccessCriteria}} {
		if text.template == nil {
			continue
		}
		var err error
		if *text.to, err = text.template.Render(ctx, f.Input, text.max); err != nil {
			return nil, err
		}
	}
	if p.ref != nil {
		ref, err := p.ref.Render(ctx, f.Input, maxRef)
		if err != nil {
			return nil, err
		}
		task.Workspace.Git.Ref = ref
	}
	if p.arguments != nil {
		raw, err := p.arguments.Render(ctx, f.Input)
		if err != nil {
			return nil, err
		}
		task.Arguments = &runtime.RawExtension{Raw: raw}
	}
	return task, nil
}
