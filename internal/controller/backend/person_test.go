// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/login"
	"github.com/nestor-dev/nestor/internal/login/logintest"
	"github.com/nestor-dev/nestor/internal/login/request"
	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/push"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// people is a ToolServer to which people log in, and a run that uses it.
type people struct {
	t          *testing.T
	issuer     *logintest.Issuer
	tools      *Tools
	server     *v1beta1.ToolServer
	requesters agent.Requesters
	// input is the answer to the question of the call.
	state json.RawMessage
}

func newPeople(t *testing.T) *people {
	t.Helper()
	p := &people{t: t, issuer: logintest.Start(t), requesters: agent.Requesters{}.With("alice")}
	p.server = &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "files", UID: "uid-1", Generation: 1}}
	p.server.Spec = v1beta1.ToolServerSpec{
		URL: p.issuer.Tools.URL + "/mcp", Transport: v1beta1.TransportStreamableHTTP, Auth: &v1beta1.ToolServerAuth{UserOAuth: &v1beta1.UserOAuthClient{}},
	}
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	p.tools = p.replica(kubefake.NewClientset(), scheme)
	return p
}

func (p *people) replica(cluster *kubefake.Clientset, scheme *runtime.Scheme) *Tools {
	secrets := cluster.CoreV1().Secrets("nestor-system")
	keyring := &push.Keyring{Secrets: secrets, Name: "keys"}
	transport := outbound.New(outbound.Options{AllowLoopback: true})
	objects := fake.NewClientBuilder().WithScheme(scheme).Build()
	tools := &Tools{
		Finder: resolve.Finder{Reader: objects, Live: objects, OperatorNamespace: "nestor-system"},
		Pool:   mcp.NewPool(mcp.Options{Version: "test", HTTP: transport}),
		Logins: login.New(&login.Store{Secrets: secrets, Keys: keyring.Keys}, transport, "https://nestor.example.com"),
	}
	tools.Requesters = func(context.Context, ledger.Agent) (agent.Requesters, error) { return p.requesters, nil }
	p.t.Cleanup(func() { _ = tools.Pool.Close(context.Background()) })
	return tools
}

// logIn logs a person in, and pins the tools as the controller does after the first login.
func (p *people) logIn(person string) {
	p.t.Helper()
	server := toolserver.LoginServer(p.tools.Finder, p.server)
	address, err := p.tools.Logins.Begin(p.t.Context(), server, person)
	if err != nil {
		p.t.Fatal(err)
	}
	answer := p.issuer.Consent(p.t, address)
	err = p.tools.Logins.Finish(p.t.Context(), server, person, request.Answer{State: answer.Get("state"), Code: answer.Get("code"), Issuer: answer.Get("iss")})
	if err != nil {
		p.t.Fatal(err)
	}
	if toolserver.Pinned(p.server) {
		return
	}
	session := p.tools.sessionWith("team", p.server)
	if status := session.WaitForStatus(p.t.Context()); !status.Ready {
		p.t.Fatalf("the tools are not listed: %s %s", status.Reason, status.Message)
	}
	toolserver.Pin(p.server, session.Status())
}

// call calls the tool act, or continues the call with the answer of a user.
func (p *people) call(answer ...string) tool.Result {
	p.t.Helper()
	call := tool.Invocation{ID: "c", Name: "files__act", Namespace: "team", Arguments: json.RawMessage(`{"what":"it"}`)}
	if answer != nil {
		call.Input = &tool.RoundInput{State: p.state, Answer: answer[1], User: answer[0]}
	}
	listed, err := tool.New(tool.Spec{Name: "files__act"}, func(ctx context.Context, call tool.Invocation) (tool.Output, error) {
		return p.tools.callAsPerson(ctx, ledger.Agent{}, p.server, call)
	})
	if err != nil {
		p.t.Fatal(err)
	}
	set, err := tool.NewSet(listed)
	if err != nil {
		p.t.Fatal(err)
	}
	result := tool.Executor{}.Execute(p.t.Context(), set, call)
	if result.Output.Input != nil {
		p.state = result.Output.Input.State
	}
	return result
}

func (p *people) wantQuestion(result tool.Result, want ...string) {
	p.t.Helper()
	for _, part := range want {
		if result.Output.Input == nil || !strings.Contains(result.Text, part) {
			p.t.Fatalf("got %q (%v), want a question with %q", result.Text, result.Err, part)
		}
	}
}

func (p *people) wantText(result tool.Result, want string) {
	p.t.Helper()
	if result.Output.Input != nil || !strings.Contains(result.Text, want) {
		p.t.Fatalf("got %q (%v), want %q", result.Text, result.Err, want)
	}
	if strings.Contains(result.Text, "very-secret") {
		p.t.Errorf("the result has a secret: %s", result.Text)
	}
}

func (p *people) wantEffects(want ...string) {
	p.t.Helper()
	if got := p.issuer.Effects(); !slices.Equal(got, want) {
		p.t.Errorf("the effects are %v, want %v", got, want)
	}
}

// ready returns a lab whose tools are pinned by the login of carol, who requests nothing.
func ready(t *testing.T) *people {
	t.Helper()
	p := newPeople(t)
	p.logIn("carol")
	return p
}

func TestCallAsksThePersonToLogIn(t *testing.T) {
	p := ready(t)
	p.wantQuestion(p.call(), "credentials of alice at the tool server files", "https://nestor.example.com/tool-login/team/files")
	p.wantQuestion(p.call("alice", "done"), "alice has not logged in yet")
	p.wantEffects()
	p.logIn("alice")
	result := p.call("alice", "done")
	p.wantText(result, "did it")
	p.wantEffects("it very-secret-access-2")
	if !slices.Contains(result.Content.Labels, "user:alice") {
		t.Errorf("the labels are %v", result.Content.Labels)
	}
	p.wantText(p.call(), "did it") // the next call asks nothing
}

func TestAskingEnds(t *testing.T) {
	p := ready(t)
	p.call()
	p.call("alice", "done")
	p.call("alice", "done")
	p.wantText(p.call("alice", "done"), "alice did not log in")
	p.wantQuestion(p.call(), "credentials of alice")
	p.wantText(p.call("alice", "decline"), "declined")
	p.wantEffects()
}

func TestSessionThatListsMakesNoCall(t *testing.T) {
	p := ready(t)
	session := p.tools.sessionWith("team", p.server)
	result := tool.Executor{}.Execute(t.Context(), session.Tools(), tool.Invocation{ID: "c", Name: "files__act", Arguments: json.RawMessage(`{"what":"it"}`)})
	if result.Failure != tool.Failed {
		t.Errorf("a call with the credentials of carol: %+v", result)
	}
	p.wantEffects()
}

func TestRunsOfTriggersHaveNoCredentials(t *testing.T) {
	p := ready(t)
	p.logIn("alice")
	p.requesters.Trigger = true
	p.wantText(p.call(), "a run of a trigger has none")
	p.requesters = agent.Requesters{}.With("system:serviceaccount:team:ci")
	p.wantText(p.call(), "is a service account")
	p.requesters = agent.Requesters{}.With("")
	p.wantText(p.call(), "not known who requested")
	p.wantEffects()
}

// With several requesters, only a requester's own approval lends credentials, and only for one call.
func TestSeveralRequesters(t *testing.T) {
	p := ready(t)
	p.logIn("alice")
	p.requesters = p.requesters.With("bob")
	p.wantQuestion(p.call(), "alice, bob", `files__act {"what":"it"}`)
	p.wantQuestion(p.call("mallory", "yes"), "That is no approval")
	p.wantQuestion(p.call("", "yes"), "That is no approval")
	p.wantEffects()
	p.wantQuestion(p.call(), "who replies")
	result := p.call("alice", "yes")
	p.wantText(result, "did it")
	p.wantEffects("it very-secret-access-2")
	if !slices.Contains(result.Content.Labels, "user:alice") {
		t.Errorf("the labels are %v", result.Content.Labels)
	}
	p.wantQuestion(p.call(), "who replies") // each call
	p.wantText(p.call("bob", "no"), "declined")
	// bob lends his own credentials, and logs in for that.
	p.wantQuestion(p.call(), "who replies")
	p.wantQuestion(p.call("bob", "yes"), "credentials of bob")
	p.logIn("bob")
	p.wantText(p.call("alice", "done"), "did it")
	p.wantEffects("it very-secret-access-2", "it very-secret-access-3")
}

// A person who joins while the call waits for a login ends the rule of the sole requester.
func TestPersonJoinsWhileACallWaits(t *testing.T) {
	p := ready(t)
	p.wantQuestion(p.call(), "credentials of alice")
	p.logIn("alice")
	p.requesters = p.requesters.With("bob")
	p.wantQuestion(p.call("bob", "done"), "who replies")
	p.wantEffects()
	p.wantText(p.call("alice", "yes"), "did it")
	p.wantEffects("it very-secret-access-2")
}

func TestLongArgumentsAreNotLent(t *testing.T) {
	p := ready(t)
	p.requesters = p.requesters.With("bob")
	call := tool.Invocation{ID: "c", Name: "files__act", Namespace: "team", Arguments: json.RawMessage(`{"what":"` + strings.Repeat("x", maxLentArguments) + `"}`)}
	output, err := p.tools.callAsPerson(t.Context(), ledger.Agent{}, p.server, call)
	if err != nil || !output.IsError || !strings.Contains(output.Text, "too long to be shown") {
		t.Errorf("got %+v (%v)", output, err)
	}
}

// A login that was revoked asks again, and the call takes effect once.
func TestRevokedLoginAsksAgain(t *testing.T) {
	p := ready(t)
	p.logIn("alice")
	p.wantText(p.call(), "did it")
	p.issuer.RevokeAll()
	p.wantQuestion(p.call(), "credentials of alice")
	p.logIn("alice")
	p.wantText(p.call("alice", "done"), "did it")
	p.wantEffects("it very-secret-access-2", "it very-secret-access-3")
}

func TestLogoutAsksAgain(t *testing.T) {
	p := ready(t)
	p.logIn("alice")
	p.wantText(p.call(), "did it")
	if err := p.tools.Logins.Logout(t.Context(), toolserver.LoginServer(p.tools.Finder, p.server), "alice"); err != nil {
		t.Fatal(err)
	}
	p.wantQuestion(p.call(), "credentials of alice")
	p.wantEffects("it very-secret-access-2")
}

// An editor of the ToolServer gets no token at another URL.
func TestEditedServerGetsNoToken(t *testing.T) {
	p := ready(t)
	p.logIn("alice")
	p.server.Spec.URL, p.server.Generation = p.issuer.Tools.URL+"/other", 2
	p.wantQuestion(p.call(), "credentials of alice")
	p.wantEffects()
}
