// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package bedrock calls models over the Converse API of Amazon Bedrock.
//
// Of the AWS SDK only the decoder of event streams is used here: its client reads the environment, hides headers and
// sizes of responses, and keeps one set of credentials for all calls, and its types have no JSON form of their own.
// Requests are sent with the connection of package wire, which signs them with what the endpoint provides, or sends an
// API key of Bedrock as a bearer token.
//
// Signed and redacted reasoning is returned in [model.Reply.ReasoningItems] and sent back unchanged, as the models of
// Anthropic require it in tool loops. Reasoning without a signature is for people only.
package bedrock
