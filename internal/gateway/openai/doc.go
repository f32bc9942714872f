// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package openai serves runs as the OpenAI API does: chat completions, responses and models.
//
// A model is NAMESPACE/ROLE. A request starts a standalone task of that role, or sends a message to a chat. A run
// that waits for a person ends the response with the question, and the next request of the conversation answers it:
// it is found by previous_response_id, by metadata.task or metadata.chat, or by the conversation itself, which
// clients of chat completions repeat in each request.
package openai
