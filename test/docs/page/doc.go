// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package page reads the pages of the documentation as a person who follows them would, and runs what they tell to run.
//
// A fenced block of the language sh is commands. One of the language console is commands after a "$ ", each followed by what
// it prints. A block of yaml whose first line is a comment with a file name, such as "# role.yaml", is a file to save.
//
// What cannot be seen in the text is said in a comment before the block, a mark:
//
//	<!-- run by: make e2e -->     the commands are not for this machine; that test runs them
//	<!-- part of: AgentRole -->   the yaml is a part of an object of this kind
//	<!-- values: charts/nestor --> the yaml is values of a chart
//	<!-- not ours: Flux -->       the yaml is of another project
//
// One that stands before anything else is for the whole page:
//
//	<!-- cluster: empty -->       the page is for a cluster without Nestor
//
// A comment at the end of a command says what a person should expect, and holds for the test too: "exit code 5" is the code with
// which it ends, and "Ctrl-C" says that it runs until it is stopped.
package page
