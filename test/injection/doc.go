// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package injection tests that the starter policies in config/policies keep agents from being steered by what they
// read. The model obeys every instruction that it finds, wherever the text comes from, in the classes that AgentDojo and
// InjecAgent describe.
//
//	go test ./test/injection -run 'TestInjection/attacks/webhook'
//
// Each scenario runs in two namespaces. In the one without policies the attack must succeed: otherwise the scenario would
// prove nothing. In the other one a person is asked first and is shown the rule, or the call is denied.
package injection
