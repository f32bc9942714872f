// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package page parses the pages of the documentation and runs their commands.
//
// A fenced block of the language sh has commands. One of the language console has commands after a "$ ", each followed
// by its output. A block of yaml whose first line is a comment with a file name, such as "# role.yaml", is a file to save.
//
// Further information is in a comment before the block, called a mark:
//
//	<!-- run by: make e2e -->     the commands are not for this machine; that test runs them
//	<!-- part of: AgentRole -->   the yaml is a part of an object of this kind
//	<!-- values: charts/nestor --> the yaml is values of a chart
//	<!-- not ours: Flux -->       the yaml is of another project
//
// A mark at the top of the page applies to the whole page:
//
//	<!-- cluster: empty -->       the page is for a cluster without Nestor
//
// A comment at the end of a command states the expected result for people and for the test: "exit code 5" is its exit
// code, and "Ctrl-C" means that it runs until it is stopped.
package page
