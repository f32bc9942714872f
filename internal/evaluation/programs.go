// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Programs have what the specs of objects of type O compile to. Each generation of an object is compiled once.
type Programs[O client.Object, P any] struct {
	slots   *Slots
	compile func(O) (P, error)
	wake    func(types.NamespacedName)

	mu    sync.Mutex
	known map[types.NamespacedName]*program[P]
}

// program is a compiled spec, or one whose compilation runs or waits for a slot.
type program[P any] struct {
	uid        types.UID
	generation int64
	done       bool
	value      P
	err        error
}

func (p *program[P]) isFor(object client.Object) bool {
	return p != nil && p.uid == object.GetUID() && p.generation == object.GetGeneration()
}

// NewPrograms returns programs that compile in the slots of each namespace. Wake is called with each object whose
// compilation in the background has ended.
func NewPrograms[O client.Object, P any](slots *Slots, compile func(O) (P, error), wake func(types.NamespacedName)) *Programs[O, P] {
	return &Programs[O, P]{slots: slots, compile: compile, wake: wake, known: map[types.NamespacedName]*program[P]{}}
}

// Get returns what an object compiles to, or why it does not compile, and whether this is known.
func (p *Programs[O, P]) Get(object O) (value P, known bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	program := p.known[client.ObjectKeyFromObject(object)]
	if !program.isFor(object) || !program.done {
		return value, false, nil
	}
	return program.value, true, program.err
}

// Now returns what an object compiles to, or why it does not compile.
func (p *Programs[O, P]) Now(object O) (P, error) {
	if value, known, err := p.Get(object); known {
		return value, err
	}
	compiled := &program[P]{uid: object.GetUID(), generation: object.GetGeneration(), done: true}
	compiled.value, compiled.err = p.compile(object)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[client.ObjectKeyFromObject(object)] = compiled
	return compiled.value, compiled.err
}

// Later compiles an object in the background, unless that has begun: it can take seconds and cannot be interrupted.
// The object must not be changed.
func (p *Programs[O, P]) Later(object O) {
	name := client.ObjectKeyFromObject(object)
	added := &program[P]{uid: object.GetUID(), generation: object.GetGeneration()}
	p.mu.Lock()
	begun := p.known[name].isFor(object)
	if !begun {
		p.known[name] = added
	}
	p.mu.Unlock()
	if begun {
		return
	}
	p.slots.Spawn(func() {
		// The program keeps the error, and the context never ends.
		_ = p.slots.Run(context.Background(), name.Namespace, func(context.Context) error {
			if !p.isNewest(name, added) {
				return nil
			}
			value, err := p.compile(object)
			p.mu.Lock()
			defer p.mu.Unlock()
			added.value, added.err, added.done = value, err, true
			return nil
		})
		p.wake(name)
	})
}

// isNewest reports whether a program was not replaced or removed.
func (p *Programs[O, P]) isNewest(name types.NamespacedName, program *program[P]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[name] == program
}

// Remove drops the program of an object that was deleted, or that need not be compiled.
func (p *Programs[O, P]) Remove(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, name)
}
