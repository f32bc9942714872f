// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolspec

import "github.com/nestor-dev/nestor/internal/tool"

// The tools of a workspace whose changes agents may publish. The operator runs them: the workspace itself has no
// credentials.
const (
	ReviewTool  = "review_changes"
	PublishTool = "publish_changes"
)

type PublishArgs struct {
	Message string `json:"message" jsonschema:"the commit message: a short first line, an empty line, and why"`
	Changes string `json:"changes" jsonschema:"the line that review_changes printed last, unchanged"`
}

type reviewArgs struct{}

func PublishSpecs(approval tool.Approval) ([]tool.Spec, error) {
	review, err := encodeSchema(ReviewTool, schemaFor[reviewArgs]())
	if err != nil {
		return nil, err
	}
	publish, err := encodeSchema(PublishTool, schemaFor[PublishArgs]())
	if err != nil {
		return nil, err
	}
	return []tool.Spec{
		{Name: ReviewTool, Parameters: review, ReadOnly: true,
			Description: "List all files of the workspace that were changed since it was cloned, by any agent, with the line that publish_changes needs."},
		{Name: PublishTool, Parameters: publish, Idempotent: true, Approval: approval,
			Description: "Publish all changes of the workspace as one commit on its branch of the git repository. Call review_changes first; if the files change afterwards, nothing is published. " +
				"Later calls add commits to the same branch."},
	}, nil
}
