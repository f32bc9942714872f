// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent/closedschema"
	"github.com/nestor-dev/nestor/internal/policy"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/trigger"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// Problem is the reason why a spec can never be used, regardless of other objects.
type Problem struct {
	// Field is the path of the field, such as spec.schedule.cron.
	Field   string
	Message string
	cause   error
}

func (p *Problem) Error() string { return p.Field + ": " + p.Message }

func (p *Problem) Unwrap() error { return p.cause }

// CheckRole returns the *Problem of a role's schemas, or nil.
func CheckRole(spec v1beta1.AgentRoleSpec) error {
	if err := checkOutput("spec.outputSchema", spec.OutputSchema); err != nil {
		return err
	}
	if err := checkClosed(spec); err != nil {
		return err
	}
	if spec.AsTool == nil || spec.AsTool.InputSchema == nil {
		return nil
	}
	return badSchema("spec.asTool.inputSchema", tool.CheckSchema(spec.AsTool.InputSchema.Raw))
}

// CheckTask returns the *Problem of a task's schema, or nil.
func CheckTask(spec v1beta1.AgentTaskSpec) error {
	return checkOutput("spec.outputSchema", spec.OutputSchema)
}

// CheckTrigger compiles a trigger. The error is a *Problem of its schedule, expressions, templates or schema.
func CheckTrigger(spec v1beta1.AgentTriggerSpec) (*trigger.Program, error) {
	if spec.Task != nil {
		if err := checkOutput("spec.task.outputSchema", spec.Task.OutputSchema); err != nil {
			return nil, err
		}
	}
	program, err := trigger.Compile(spec)
	var (
		expression *expr.Error
		field      *trigger.FieldError
	)
	if errors.As(err, &expression) || errors.As(err, &field) {
		path, text, _ := strings.Cut(err.Error(), ": ") // what follows the path may begin with the expression of a template
		return nil, &Problem{path, text, err}
	}
	return program, err
}

// CheckPolicy returns the *Problem of a policy's expressions, or nil.
func CheckPolicy(object *v1beta1.ToolPolicy) error {
	_, err := policy.Compile(object)
	var expression *expr.Error
	if errors.As(err, &expression) {
		path, text, _ := strings.Cut(err.Error(), ": ")
		return &Problem{path, text, err}
	}
	return err
}

// checkClosed returns the *Problem of the outputSchema of an isolated role, or nil.
func checkClosed(spec v1beta1.AgentRoleSpec) error {
	if !spec.Isolated || spec.OutputSchema == nil {
		return nil
	}
	if _, err := closedschema.Parse(spec.OutputSchema.Raw); err != nil {
		return badSchema("spec.outputSchema", fmt.Errorf("spec.isolated allows only booleans, enums and bounded integers: %w", err))
	}
	return nil
}

func checkOutput(field string, schema *runtime.RawExtension) error {
	if schema == nil {
		return nil
	}
	_, err := tool.OutputSchema(schema.Raw)
	return badSchema(field, err)
}

func badSchema(field string, err error) error {
	if err == nil {
		return nil
	}
	return &Problem{field, err.Error(), err}
}

// check returns the problem of an object, or nil.
func check(object runtime.Object) error {
	switch o := object.(type) {
	case *v1beta1.AgentRole:
		return CheckRole(o.Spec)
	case *v1beta1.AgentTask:
		return CheckTask(o.Spec)
	case *v1beta1.AgentTrigger:
		_, err := CheckTrigger(o.Spec)
		return err
	case *v1beta1.ToolPolicy:
		return CheckPolicy(o)
	}
	return nil
}
