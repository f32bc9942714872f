// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"path/filepath"
	"testing"

	"github.com/nestor-dev/nestor/test/stack"
	"github.com/nestor-dev/nestor/test/world"
)

// target is a stack that attacks share; an attack that affects more than its namespace starts its own stack.
type target struct {
	*world.World
	// t lasts as long as the stack.
	t testing.TB
	// files is the directory whose subdirectories the operator serves as workspaces.
	files string

	frontendsStack world.Shared[*frontends]
	damaged        world.Shared[*damagedStack]
	small          world.Shared[*smallStack]
	restartable    world.Shared[*restartable]
}

// start starts a stack whose model follows its instructions.
func start(t testing.TB, adjust ...func(*stack.Options)) *target {
	t.Helper()
	files := t.TempDir()
	options := stack.Options{
		ModelFlags: []string{"--no-delay", "--record", "20000"},
		Scripts:    []string{filepath.Join("testdata", "puppets.yaml"), filepath.Join("..", "flows", "testdata", "puppets.yaml"), "builtin:demo"},
		// There are no nodes: workspace pods are created and inspected, but do not run.
		OperatorFlags: append(stack.ShortLeases(), "--workspace-image", "nestor-workspace:none", "--local-workspaces", files), Build: []string{"./cmd/nestor-workspace"},
		Gateway: true,
	}
	for _, change := range adjust {
		change(&options)
	}
	return &target{World: world.Start(t, options), t: t, files: files}
}

// own starts another stack of the same programs for an attack that affects more than its namespace.
func (w *target) own(t testing.TB, adjust ...func(*stack.Options)) *target {
	t.Helper()
	return start(t, append(adjust, func(o *stack.Options) { o.Programs = w.Dir })...)
}

// withoutGateway leaves out the gateway, which two operators cannot share.
func withoutGateway(o *stack.Options) { o.Gateway = false }

// testNamespace is a namespace for one attack.
type testNamespace struct {
	*world.Room
	t testing.TB
}

// newNamespace creates a namespace with a model.
func (w *target) newNamespace(t testing.TB) *testNamespace {
	t.Helper()
	return &testNamespace{Room: w.Room(t), t: t}
}

// inNamespace runs an attack or a control in a new namespace.
func inNamespace(test func(*testNamespace)) func(*testing.T, *target) {
	return func(t *testing.T, w *target) { test(w.newNamespace(t)) }
}

// asVisitor runs an attack or a control as a new visitor.
func asVisitor(test func(*visitor)) func(*testing.T, *target) {
	return func(t *testing.T, w *target) { test(w.newVisitor(t)) }
}

// asCaller runs an attack or a control as a new caller of the gateway.
func asCaller(test func(*gatewayCaller)) func(*testing.T, *target) {
	return func(t *testing.T, w *target) { test(w.newCaller(t)) }
}
