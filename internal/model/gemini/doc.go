// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package gemini calls models over the Gemini API of Google, or over Vertex AI, which differs in addresses and
// authentication.
//
// Requests are made of the types of google.golang.org/genai, but they are sent with the connection of package wire,
// because the SDK's client does not fit here: it takes a missing key from the environment and keeps one key for all
// calls, it hides the headers of errors, such as Retry-After, and it reads events of up to 256 MiB. Responses are
// decoded laxly, and arguments of calls and signatures of thoughts are kept as they came: the SDK's types would round
// large numbers.
//
// Signatures of thoughts are returned in [model.Reply.ReasoningItems] and are sent back on the same parts, which newer
// models require in tool loops. Calls of other models get the placeholder that the API documents for them.
package gemini
