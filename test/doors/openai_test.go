// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestOpenAIClient(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.Expect(r.npm("openai.mjs")).To(Equal("ok\n"))
	r.Expect(r.box.files()).To(ConsistOf("notes-1.2", "notes-1.3"))
	// Two releases, one greeting, one continued run, one in the background, one with a key and one that gave up: no
	// retry started another, and the one with a role that does not exist left no task.
	r.Expect(r.Standalone()).To(HaveLen(7))
}

func TestOpenAIStructuredOutputs(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "talk"}})
	r.Expect(r.npm("openai-typed.mjs")).To(Equal("ok\n"))
	r.Expect(r.Standalone()).To(HaveLen(5)) // what was refused started nothing
}

func TestOpenAIChat(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "talk"}})
	r.Expect(r.npm("openai-chat.mjs")).To(Equal("ok\n"))
	r.Expect(r.box.files()).To(ConsistOf("notes-2.0"))
}

func TestOpenAIAgentsSDK(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.Expect(r.npm("openai-agents.mjs")).To(Equal("ok\n"))
	r.Expect(r.box.files()).To(ConsistOf("notes-3.0", "notes-3.1"))
	r.Expect(r.Standalone()).To(HaveLen(2))
}
