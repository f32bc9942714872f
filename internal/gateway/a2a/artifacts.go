// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// The artifacts of a task.
const (
	// resultArtifact has the answer as text.
	resultArtifact a2a.ArtifactID = "result"
	// dataArtifact has the structured result of a role with an output schema.
	dataArtifact a2a.ArtifactID = "data"
	// changesArtifact has the files of the workspace that the agent reports to have changed.
	changesArtifact a2a.ArtifactID = "changes"
)

// artifacts returns the artifact of an answer, or none if it is empty.
func artifacts(answer string) []*a2a.Artifact {
	if answer == "" {
		return nil
	}
	return []*a2a.Artifact{newArtifact(resultArtifact, a2a.NewTextPart(answer))}
}

// taskArtifacts returns the artifacts of a task that has ended: from its recorded outcome, or from its status if
// recorded is nil.
func taskArtifacts(answer string, task *v1beta1.AgentTask, recorded *historyv1.Outcome) []*a2a.Artifact {
	list := artifacts(answer)
	r := reportOf(task, recorded)
	var data any
	switch {
	case len(r.data) > 0 && json.Unmarshal(r.data, &data) == nil:
		list = append(list, newArtifact(dataArtifact, a2a.NewDataPart(data)))
	case r.omitted:
		list = append(list, newArtifact(dataArtifact, a2a.NewTextPart("The data is too large to be shown here: read the task with GetTask and a token that may read its history.")))
	}
	if len(r.modified)+len(r.created) > 0 {
		list = append(list, newArtifact(changesArtifact, a2a.NewDataPart(map[string]any{"filesModified": texts(r.modified), "filesCreated": texts(r.created)})))
	}
	return list
}

func newArtifact(id a2a.ArtifactID, part *a2a.Part) *a2a.Artifact {
	return &a2a.Artifact{ID: id, Name: string(id), Parts: a2a.ContentParts{part}}
}

func texts(list []string) []any {
	values := make([]any, len(list))
	for i, text := range list {
		values[i] = text
	}
	return values
}

// report is what an agent reports beside its answer.
type report struct {
	data              json.RawMessage
	omitted           bool
	modified, created []string
}

func reportOf(task *v1beta1.AgentTask, recorded *historyv1.Outcome) report {
	var r report
	r.data, r.omitted = run.DataOf(task, recorded)
	if recorded != nil {
		r.modified, r.created = recorded.FilesModified, recorded.FilesCreated
	} else if result := task.Status.Result; result != nil {
		r.modified, r.created = result.FilesModified, result.FilesCreated
	}
	return r
}
