// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/outbound/oauth"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/test/patience"
)

// The suite starts a client with these variables and the URL of its server as the last argument.
const (
	scenarioVariable = "MCP_CONFORMANCE_SCENARIO"
	contextVariable  = "MCP_CONFORMANCE_CONTEXT"
)

func TestMain(m *testing.M) {
	if os.Getenv(scenarioVariable) == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit())
	defer cancel()
	if err := runClient(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestClient(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	RunClient(t, program, "testdata/client.yaml")
}

// wish is the suite's description of a scenario for the client.
type wish struct {
	ToolCalls []struct {
		Name      string
		Arguments map[string]any
	}
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

// runClient uses a server as an agent does: it lists the tools, calls each of them, and answers its questions.
func runClient(ctx context.Context, address string) error {
	var wanted wish
	if text := os.Getenv(contextVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &wanted); err != nil {
			return fmt.Errorf("read %s: %w", contextVariable, err)
		}
	}
	server := mcp.Server{
		Key: mcp.Key{Namespace: "team", Server: "suite"}, Revision: "1", Prefix: prefix, Transport: mcp.StreamableHTTP, URL: address, Timeout: time.Minute,
	}
	if wanted.ClientSecret != "" {
		endpoint, err := tokenEndpoint(ctx, address)
		if err != nil {
			return err
		}
		server.OAuth = &oauth.Client{TokenURL: endpoint, ID: wanted.ClientID, Resource: address, Secret: func(context.Context) (string, error) { return wanted.ClientSecret, nil }}
	}
	if scenario := os.Getenv(scenarioVariable); wanted.ClientSecret == "" && strings.HasPrefix(scenario, "auth/") {
		source, err := logIn(ctx, address)
		if err != nil {
			return err
		}
		server.Tokens = source
	}
	pool := mcp.NewPool(mcp.Options{Version: "conformance"})
	session := pool.Ensure(server)
	if status := session.WaitForStatus(ctx); !status.Ready {
		return fmt.Errorf("not connected: %s: %s", status.Reason, status.Message)
	}
	for _, call := range planCalls(session, wanted) {
		result := perform(ctx, session, call)
		fmt.Printf("%s %s: %s\n", call.Name, call.Arguments, result.Text)
	}
	return pool.Close(ctx)
}

var prefix = tool.ServerPrefix("suite")

// tokenEndpoint finds the token endpoint of a server, as the person does who writes a ToolServer: the operator does not
// discover it.
func tokenEndpoint(ctx context.Context, server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	var resource struct {
		AuthorizationServers []string `json:"authorization_servers"`
	}
	if err := get(ctx, u.Scheme+"://"+u.Host+"/.well-known/oauth-protected-resource"+u.Path, &resource); err != nil {
		return "", err
	}
	if len(resource.AuthorizationServers) == 0 {
		return "", errors.New("the server names no authorization server")
	}
	var issuer struct {
		TokenEndpoint string `json:"token_endpoint"`
	}
	err = get(ctx, resource.AuthorizationServers[0]+"/.well-known/oauth-authorization-server", &issuer)
	return issuer.TokenEndpoint, err
}

func get(ctx context.Context, address string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s", address, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// planCalls returns the calls that the scenario asks for, or one of each tool.
func planCalls(session *mcp.Session, wanted wish) (calls []tool.Invocation) {
	for _, call := range wanted.ToolCalls {
		// A null that the schema does not allow is refused before the call, as for a model.
		maps.DeleteFunc(call.Arguments, func(_ string, value any) bool { return value == nil })
		calls = append(calls, tool.Invocation{Name: prefix + call.Name, Arguments: encode(call.Arguments)})
	}
	if calls != nil {
		return calls
	}
	offered := session.Tools().Tools()
	for _, o := range offered {
		calls = append(calls, tool.Invocation{Name: o.Name(), Arguments: argumentsFor(o.Spec().Parameters, offered[0].Spec().Parameters)})
	}
	return calls
}

func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// argumentsFor returns arguments with a value for each property of a schema. An object is echo, which is what a
// scenario wants to see.
func argumentsFor(schema, echo json.RawMessage) json.RawMessage {
	var object struct {
		Properties map[string]struct{ Type any }
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		panic(err)
	}
	values := map[string]any{}
	for name, property := range object.Properties {
		switch property.Type {
		case "number", "integer":
			values[name] = 5
		case "boolean":
			values[name] = true
		case "string":
			values[name] = "text"
		case "object":
			values[name] = echo
		}
	}
	return encode(values)
}

func perform(ctx context.Context, session *mcp.Session, call tool.Invocation) tool.Result {
	answer := func(question string) string {
		fmt.Println(question)
		return "{}"
	}
	call.ID = "call_1"
	call.Ask = func(_ context.Context, question string) (string, error) { return answer(question), nil }
	for {
		result := tool.Executor{}.Execute(ctx, session.Tools(), call)
		if result.Output.Input == nil {
			return result
		}
		call.Input = &tool.RoundInput{State: result.Output.Input.State, Answer: answer(result.Output.Input.Question)}
	}
}
