// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Tool is the tool that the agents of a scenario use in their turns.
type Tool struct {
	// suffix is appended to the names of scenarios, and words are part of their titles.
	suffix, title string
	// allow is the role's allow list, and call the model's tool call.
	allow v1beta1.ToolGlob
	call  string
	// server means that the tool is on the benchmark's MCP server.
	server bool
}

var (
	// MCPTool is on an MCP server in a separate process: its intent is durable before the call, as for every tool
	// that users add.
	MCPTool = Tool{
		suffix: "-mcp", title: "an MCP tool", allow: toolServer + "__*", server: true,
		call: "{name: " + toolServer + "__lookup, arguments: {item: 'Item {{.turn}}'}}",
	}
	// CalculatorTool is answered within the step that calls it, without an intent.
	CalculatorTool = Tool{title: "calculator", allow: "calculator", call: "{name: calculator, arguments: {expression: '{{.turn}} * 7'}}"}
)

// toolServer is the name of the ToolServer, and toolProgram that of its program.
const (
	toolServer  = "bench"
	toolProgram = "toolserver"
	// ToolPackage is the package of the benchmark's MCP server, for stack.Build.
	ToolPackage = "./test/bench/toolserver"
)

// serveTool runs the MCP server of a scenario that has one, and creates its ToolServer.
func (r *harness) serveTool(ctx context.Context, tool Tool) error {
	if !tool.server {
		return nil
	}
	process, url, err := r.stack.Serve(toolProgram)
	if err != nil {
		return err
	}
	r.toolServer = process
	server := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: toolServer}}
	server.Spec.Transport, server.Spec.URL = v1beta1.TransportStreamableHTTP, url
	if err := r.stack.API.Create(ctx, server); err != nil {
		return fmt.Errorf("create the tool server: %w", err)
	}
	return nil
}
