// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agui serves runs over AG-UI (https://docs.ag-ui.com), the protocol between agents and the programs that
// show them.
//
// A POST of a RunAgentInput starts or continues a standalone AgentTask, and the response is the events of the run. The
// run is the AgentTask: this package stores nothing. A thread is a label on the tasks that were started on it; a later
// message on a thread starts a task that continues the history of the last one. A question or an approval ends the
// stream with an interrupt. The interrupt's id contains the position in the run, from which a later request resumes.
package agui
