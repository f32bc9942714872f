// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestOnlyTheNewestGenerationIsCompiled has objects that change, or are deleted, while their compilations wait.
func TestOnlyTheNewestGenerationIsCompiled(t *testing.T) {
	var waiting []func()
	slots := NewSlots(time.Minute)
	slots.Spawn = func(f func()) { waiting = append(waiting, f) }
	var compiled []int64
	var woken []string
	programs := NewPrograms(slots, func(o *corev1.ConfigMap) (int64, error) {
		compiled = append(compiled, o.Generation)
		return o.Generation, nil
	}, func(name types.NamespacedName) { woken = append(woken, name.Name) })
	object := func(name string, generation int64) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Generation: generation}}
	}
	programs.Later(object("a", 1))
	programs.Later(object("a", 2))
	programs.Later(object("a", 2))
	programs.Later(object("gone", 3))
	programs.Remove(types.NamespacedName{Namespace: "ns", Name: "gone"})
	if _, known, _ := programs.Get(object("a", 2)); known || len(waiting) != 3 {
		t.Errorf("known before it was compiled: %t; %d compilations", known, len(waiting))
	}
	for _, run := range waiting {
		run()
	}
	if !slices.Equal(compiled, []int64{2}) || !slices.Equal(woken, []string{"a", "a", "gone"}) {
		t.Errorf("compiled %v, woke %v; want generation 2 once", compiled, woken)
	}
	if value, known, err := programs.Get(object("a", 2)); value != 2 || !known || err != nil {
		t.Errorf("got %d, %t, %v", value, known, err)
	}
	if _, known, _ := programs.Get(object("a", 1)); known {
		t.Error("an older generation has the program of a newer one")
	}
}
