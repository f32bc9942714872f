// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package role holds the roles that come with Nestor: who an agent is, what it may
// use, to whom it may delegate, and its limits.
//
// Each role is a Markdown file in roles/, embedded into the program: YAML front
// matter with the fields of an AgentRole's spec, then the system prompt. The model
// is left empty, so that the roles work with any endpoint.
//
//	coder, ok := role.BuiltIn("coder")
//
// An AgentRole with the name of a built-in role overlays it, see [Role.Overlay]:
// what it leaves out stays as built in, so that a platform team can give a role
// another model without copying its prompt.
//
// The prompts say how to work and how to report. What depends on the run (the task,
// depth, limits, open questions) and the guidelines on delegating, which are made of
// the Description and DelegateWhen of the roles that can be delegated to, are added
// by whoever builds the request.
package role
