// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger"
	"github.com/nestor-dev/nestor/internal/validation"
)

// programs keeps the compiled specs of triggers.
type programs struct {
	mu       sync.Mutex
	compiled map[types.NamespacedName]compiled
}

type compiled struct {
	uid        types.UID
	generation int64
	program    *trigger.Program
	err        error
}

// has reports whether the spec of a trigger is compiled, or does not compile.
func (p *programs) has(t *v1beta1.AgentTrigger) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	program, ok := p.compiled[client.ObjectKeyFromObject(t)]
	return ok && program.uid == t.UID && program.generation == t.Generation
}

// of returns the compiled spec of a trigger, or why it does not compile.
func (p *programs) of(t *v1beta1.AgentTrigger) (*trigger.Program, error) {
	name := client.ObjectKeyFromObject(t)
	p.mu.Lock()
	program, ok := p.compiled[name]
	p.mu.Unlock()
	if ok && program.uid == t.UID && program.generation == t.Generation {
		return program.program, program.err
	}
	program = compiled{uid: t.UID, generation: t.Generation}
	program.program, program.err = validation.CheckTrigger(*t.Spec.DeepCopy())
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.compiled == nil {
		p.compiled = map[types.NamespacedName]compiled{}
	}
	p.compiled[name] = program
	return program.program, program.err
}

// remove drops the compiled spec of a deleted trigger.
func (p *programs) remove(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.compiled, name)
}
