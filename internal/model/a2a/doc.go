// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package a2a is a client of remote agents that speak the A2A protocol, version 1.0.
//
// To the core a remote agent is a model: a call sends the newest input as a message, follows the remote task, and
// returns a reply when the task has ended or needs input. A completed task is an answer, a failed one a call of
// submit_error, and one that needs input a call of ask_user, whose answer the next call sends to the same task.
//
// A call may be repeated after a crash. The context of the messages is derived from the agent and their ids from the
// model call, so a server that compares ids recognises a repetition; and before a message is sent, the client looks for
// the task that an earlier attempt has started, and follows that one. The ids of the task and of its context are kept
// in the history as an item of the reply.
package a2a
