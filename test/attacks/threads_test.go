// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

var _ = class(
	"doors",
	attack{
		name:    "a colleague plants a task into a thread",
		attempt: "bob creates a task with the label of the caller's AG-UI thread, whose call waits for a decision",
		defence: "a thread contains the tasks that the caller started",
		run: asCaller(func(c *gatewayCaller) {
			sum := sha256.Sum256([]byte("ag-ui/t"))
			planted := &v1beta1.AgentTask{Spec: v1beta1.AgentTaskSpec{
				Type: v1beta1.TaskAgent, Role: "general", Instruction: twice, User: "bob",
			}}
			planted.Namespace, planted.Name = c.Namespace, "planted"
			planted.Labels = map[string]string{v1beta1.LabelConversation: hex.EncodeToString(sum[:16])}
			c.Expect(c.As("bob", runner).Create(c.t.Context(), planted)).To(Succeed())
			c.Eventually(c.TaskPhase("planted")).Should(Equal(v1beta1.TaskWaiting))
			interrupt, _ := c.agui("1", nil)
			task, _, _ := strings.Cut(interrupt, "/")
			c.Expect(task).NotTo(BeElementOf("planted", ""), "the caller must be shown a run of their own")
			c.expectUndecided("planted")
		}),
		control: asCaller(func(c *gatewayCaller) {
			first, _ := c.agui("1", nil)
			again, _ := c.agui("2", nil)
			c.Expect(again).To(Equal(first), "the thread continues with the run that the caller started")
		}),
	},
)
