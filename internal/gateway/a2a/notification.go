// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/view"
)

// Notification returns the body of a push notification about a task, and an identifier of the state that it describes.
// The identifier is empty for a submitted task, because the client has submitted it, and for a task that is not an A2A
// task. Only the status of the task is read, so a long result or question is shortened.
func Notification(task *v1beta1.AgentTask) (state string, body []byte, err error) {
	now := stateOf(task)
	if now == a2a.TaskStateSubmitted || !isStandalone(task) {
		return "", nil, nil
	}
	state = string(now)
	var ask *run.Ask
	if waiting := task.Status.Waiting; waiting != nil && now == a2a.TaskStateInputRequired {
		ask = statusAsk(task, *waiting)
		text, err := json.Marshal(waiting)
		if err != nil {
			return "", nil, fmt.Errorf("encode what the task waits for: %w", err)
		}
		sum := sha256.Sum256(text)
		state += "/" + hex.EncodeToString(sum[:6])
	}
	shown := convert(task, ask, new(0))
	if view.Ended(task.Status.Phase) {
		shown.Artifacts = taskArtifacts(run.Answer(task), task, nil)
	}
	body, err = json.Marshal(a2a.StreamResponse{Event: shown})
	if err != nil {
		return "", nil, fmt.Errorf("encode a notification: %w", err)
	}
	return state, body, nil
}

func statusAsk(task *v1beta1.AgentTask, waiting v1beta1.Waiting) *run.Ask {
	ask := &run.Ask{Ask: view.NewAsk("", task.Name, waiting), Namespace: task.Namespace, Root: task.Name, SubAgent: waiting.SubAgent}
	ask.Role = task.Spec.Role
	if waiting.SubAgent != "" && waiting.SubAgent != task.Status.SubAgent {
		ask.Task, ask.Role = "", "" // an agent below the task waits, and the status has only its name
	}
	return ask
}
