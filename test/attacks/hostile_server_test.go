// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

type mcpHandler func(w http.ResponseWriter, id, params json.RawMessage)

// hostileServer is a hostile MCP server with a minimal implementation of the protocol.
type hostileServer struct {
	mu sync.Mutex
	// tools are listed, unless list is set. call answers calls.
	tools      []string
	list, call mcpHandler
	// stream serves the stream to the operator.
	stream http.HandlerFunc
	// change is closed when the tools have changed. Without a stream to notify, unheard is set until the next list.
	change  chan struct{}
	unheard bool
}

// setTools changes the tools and notifies clients.
func (f *hostileServer) setTools(tools ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tools = tools
	if f.change != nil {
		close(f.change)
		f.change = nil
		return
	}
	f.unheard = true // the operator lists the tools before it opens the stream
}

func (f *hostileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		f.listen(w, r)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || len(m.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	f.mu.Lock()
	tools := strings.Join(f.tools, ",")
	if m.Method == "tools/list" {
		f.unheard = false
	}
	f.mu.Unlock()
	switch {
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "s")
		result(w, m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"foe","version":"1"}}`)
	case m.Method == "ping":
		result(w, m.ID, `{}`)
	case m.Method == "tools/list" && f.list != nil:
		f.list(w, m.ID, m.Params)
	case m.Method == "tools/list":
		result(w, m.ID, `{"tools":[`+tools+`]}`)
	case m.Method == "tools/call" && f.call != nil:
		f.call(w, m.ID, m.Params)
	case m.Method == "tools/call":
		result(w, m.ID, `{"content":[{"type":"text","text":"done"}]}`)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
	}
}

// listen sends notifications of changed tools.
func (f *hostileServer) listen(w http.ResponseWriter, r *http.Request) {
	if f.stream != nil {
		f.stream(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	for {
		f.mu.Lock()
		if f.change == nil {
			f.change = make(chan struct{})
		}
		change := f.change
		if f.unheard {
			close(f.change)
			f.change, f.unheard = nil, false
		}
		f.mu.Unlock()
		select {
		case <-change:
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func result(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func mcpTool(name, description string, readOnly bool) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":%t}}`, name, description, readOnly)
}

func listing(tools string) mcpHandler {
	return func(w http.ResponseWriter, id, _ json.RawMessage) { result(w, id, `{"tools":`+tools+`}`) }
}

// victim is a service that is neither a tool server nor a provider. It counts requests.
type victim struct {
	*httptest.Server
	visits atomic.Int32
}

const secretWord = "xyzzy-4711"

// serve runs a handler until the attack is over.
func (r *testNamespace) serve(handler http.Handler) string {
	server := httptest.NewServer(handler)
	r.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func (r *testNamespace) victim() *victim {
	v := &victim{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		v.visits.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"token":"`+secretWord+`"}`)
	}))
	r.t.Cleanup(v.Close)
	return v
}

// toolServer creates a ToolServer and returns its condition Ready: status, reason and message.
func (r *testNamespace) toolServer(name, url string) func() string {
	r.Create(&v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.ToolServerSpec{URL: url}})
	return r.conditionText(name, v1beta1.ConditionReady)
}

// protectedServer creates a ToolServer with a token endpoint and returns its condition Ready.
func (r *testNamespace) protectedServer(name, tokenURL string) func() string {
	r.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"secret": "hunter2"}})
	client := v1beta1.OAuthClient{TokenURL: tokenURL, ClientID: "nestor", ClientSecretKeyRef: v1beta1.SecretKeyRef{Name: name, Key: "secret"}}
	r.Create(&v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.ToolServerSpec{URL: "https://tools.example.com/mcp", Auth: &v1beta1.ToolServerAuth{OAuth: &client}}})
	return r.conditionText(name, v1beta1.ConditionReady)
}

func (r *testNamespace) conditionText(name, condition string) func() string {
	return func() string {
		var s v1beta1.ToolServer
		if err := r.Get(name, &s); err != nil {
			return err.Error()
		}
		return find(s.Status.Conditions, condition)
	}
}

// provider creates a ModelProvider and returns its condition Ready.
func (r *testNamespace) provider(name, url string) func() string {
	none := int32(0)
	r.Create(&v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.ModelProviderSpec{BaseURL: url, DefaultModel: "m", MaxRetries: &none}})
	return func() string {
		var p v1beta1.ModelProvider
		if err := r.Get(name, &p); err != nil {
			return err.Error()
		}
		return find(p.Status.Conditions, v1beta1.ConditionReady)
	}
}

func find(conditions []metav1.Condition, kind string) string {
	for _, c := range conditions {
		if c.Type == kind {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return "no condition " + kind
}

// runTask creates a task and returns its phase, its reason and its result or error.
func (r *testNamespace) runTask(name string, spec v1beta1.AgentTaskSpec) func() string {
	r.Create(&v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	return func() string {
		var t v1beta1.AgentTask
		if err := r.Get(name, &t); err != nil {
			return err.Error()
		}
		words := []string{string(t.Status.Phase)}
		for _, c := range t.Status.Conditions {
			if c.Type == v1beta1.ConditionSucceeded {
				words = append(words, c.Reason)
			}
		}
		if t.Status.Result != nil {
			words = append(words, t.Status.Result.Summary)
		}
		if t.Status.Error != nil {
			words = append(words, t.Status.Error.Message)
		}
		return strings.Join(words, " ")
	}
}

// success returns what runTask reports about a task that ends with a summary.
func success(summary string) string {
	return strings.Join([]string{string(v1beta1.TaskSuccess), v1beta1.ReasonSuccess, summary}, " ")
}

func (r *testNamespace) callTool(name, tool string) func() string {
	return r.runTask(name, v1beta1.AgentTaskSpec{Type: v1beta1.TaskTool, Tool: tool})
}
