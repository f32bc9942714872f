// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// Environment has the variables that expressions may use. Its expressions share it, because it takes more memory than
// many of them.
type Environment struct{ env func() (*cel.Env, error) }

// Object declares the fields of an object by their names. A value is a map[string]any with all of them.
type Object map[string]*cel.Type

// NewEnvironment declares variables and the objects that they consist of. An expression with another variable or field
// does not compile.
func NewEnvironment(variables map[string]*cel.Type, objects map[string]Object) *Environment {
	return &Environment{env: sync.OnceValues(func() (*cel.Env, error) {
		options := []cel.EnvOption{
			cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true), cel.ParserRecursionLimit(100),
			cel.ParserExpressionSizeLimit(maxExpression), cel.CustomTypeAdapter(lazyMaps{types.DefaultTypeAdapter}),
			// The macros of optional values repeat their operand: a chain of them doubles the expression each time.
			cel.ClearMacros(), cel.Macros(cel.StandardMacros...),
		}
		for name, variableType := range variables {
			options = append(options, cel.Variable(name, variableType))
		}
		if len(objects) > 0 {
			options = append(options, func(env *cel.Env) (*cel.Env, error) {
				return cel.CustomTypeProvider(declared{env.CELTypeProvider(), objects})(env)
			})
		}
		env, err := cel.NewEnv(append(options, functions()...)...)
		if err != nil {
			return nil, fmt.Errorf("create the environment of expressions: %w", err)
		}
		return env, nil
	})}
}

// sources are the environments of triggers.
var sources = map[Source]*Environment{
	Schedule: Schedule.environment(), Webhook: Webhook.environment(), Watch: Watch.environment(),
}

func (s Source) environment() *Environment {
	variables := map[string]*cel.Type{}
	for _, name := range s.variables() {
		variables[name] = cel.DynType
	}
	return NewEnvironment(variables, nil)
}

// declared are the types of an environment with its objects.
type declared struct {
	types.Provider
	objects map[string]Object
}

func (d declared) FindStructType(name string) (*types.Type, bool) {
	if _, ok := d.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return d.Provider.FindStructType(name)
}

func (d declared) FindStructFieldNames(name string) ([]string, bool) {
	if object, ok := d.objects[name]; ok {
		return slices.Sorted(maps.Keys(object)), true
	}
	return d.Provider.FindStructFieldNames(name)
}

func (d declared) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	object, ok := d.objects[name]
	if !ok {
		return d.Provider.FindStructFieldType(name, field)
	}
	fieldType, ok := object[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type: fieldType,
		IsSet: func(target any) bool {
			_, set := fieldValue(target, field)
			return set
		},
		GetFrom: func(target any) (any, error) {
			value, set := fieldValue(target, field)
			if !set {
				return nil, fmt.Errorf("no such field: %s", field)
			}
			return value, nil
		},
	}, true
}

func fieldValue(target any, field string) (any, bool) {
	fields, ok := target.(map[string]any)
	value, set := fields[field]
	return value, ok && set
}

// Condition is an expression with the result true or false.
type Condition struct{ program *Program }

// Condition compiles an expression that is evaluated often. Field is the field of the spec that contains it, for
// errors.
func (e *Environment) Condition(field, text string) (*Condition, error) {
	program, result, err := e.compile(field, text)
	if err != nil {
		return nil, err
	}
	if !result.IsAssignableType(cel.BoolType) && result.Kind() != types.DynKind {
		return nil, &Error{Field: field, Problem: fmt.Sprintf("the result is of type %s, not bool", result)}
	}
	return &Condition{program}, program.planOnce()
}

// Reads reports whether the condition contains a variable of its environment.
func (c *Condition) Reads(variable string) bool { return c.program.reads[variable] }

// Holds evaluates the condition. CheckValue accepts the variables.
func (c *Condition) Holds(ctx context.Context, variables map[string]any) (bool, error) {
	value, err := c.program.run(ctx, variables)
	if err != nil {
		return false, err
	}
	return c.program.boolean(value)
}

// CheckValue returns an error if a JSON value is too large to be evaluated.
func CheckValue(value any) error {
	_, err := checkInput(value, maxValues, 0)
	return err
}
