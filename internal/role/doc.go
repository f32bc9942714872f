// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package role contains the built-in roles: prompts, tools, delegations and limits.
//
// Each role is an embedded Markdown file in roles/: YAML front matter with the fields of an AgentRole's spec, then the system
// prompt. The model is empty, so that the roles work with any endpoint.
//
//	coder, ok := role.BuiltIn("coder")
//
// An AgentRole with the name of a built-in role overlays it, see [Role.Overlay]: omitted fields keep their built-in values, so
// that a platform team can give a role another model without copying its prompt.
//
// The prompts describe how to work and how to report. What depends on the run (the task, depth, limits, open questions) and the
// delegation guidelines, which consist of the Description and DelegateWhen of the available roles, is added when the prompt is
// built.
package role
