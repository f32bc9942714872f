// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/shard"
)

var _ = class(
	"operators",
	attack{
		name:    "a successor repeats a call in flight",
		attempt: "a second operator starts while the first one waits for a model",
		defence: "the second one waits until the first one has handed over the shard, and takes over its call in flight",
		run: func(t *testing.T, w *target) {
			s := startSlowTask(t, w)
			first := s.Operator
			s.Expect(s.LaunchOperator(t.Context(), "POD_NAME=second")).To(Succeed())
			s.Eventually(s.replicas).Should(BeNumerically(">=", 2))
			s.Expect(s.AwaitReady(t.Context())).To(Succeed())
			s.finish()
			s.Expect(s.requests.Load()).To(BeEquivalentTo(1))
			s.Expect(first.Kill()).To(Succeed())
		},
		control: func(t *testing.T, w *target) {
			s := startSlowTask(t, w)
			s.Expect(s.Operator.Kill()).To(Succeed())
			s.Expect(s.StartOperator(t.Context())).To(Succeed())
			s.Eventually(s.requests.Load).Should(BeEquivalentTo(2), "a call whose operator died is repeated, which is visible")
			s.finish()
		},
	},
	attack{
		name:    "a suspended operator records outdated results",
		attempt: "the first operator is suspended while it waits for a model, superseded, and resumed",
		defence: "its epoch is over: its append is refused, and it ends its work",
		run: func(t *testing.T, w *target) {
			s := startSlowTask(t, w)
			first := s.Operator
			s.Expect(first.Signal(syscall.SIGSTOP)).To(Succeed())
			s.Expect(s.StartOperator(t.Context())).To(Succeed())
			s.Eventually(s.requests.Load).Should(BeNumerically(">=", 2), "the second operator has taken over")
			s.finish()
			before, requests := s.events(), s.requests.Load()
			standing := s.supersededOperators()
			s.Expect(first.Signal(syscall.SIGCONT)).To(Succeed())
			s.Eventually(s.supersededOperators).Should(BeNumerically(">", standing))
			s.Expect(s.events()).To(Equal(before))
			s.Expect(s.requests.Load()).To(Equal(requests))
			s.Expect(first.Kill()).To(Succeed())
		},
		control: func(t *testing.T, w *target) {
			s := startSlowTask(t, w)
			s.Expect(s.Operator.Signal(syscall.SIGSTOP)).To(Succeed())
			before := s.events()
			s.Expect(s.Operator.Signal(syscall.SIGCONT)).To(Succeed())
			s.finish()
			s.Expect(s.events()).To(BeNumerically(">", before), "without a successor it continues, which is visible")
		},
	},
	attack{
		name:    "a writer of an old epoch appends",
		attempt: "a process with the connection of an earlier operator appends to an agent",
		defence: "the ledger checks the epoch in the transaction of the append",
		run: inNamespace(func(r *testNamespace) {
			r.finishAgent()
			fence, agent := r.finishedAgent()
			fence.Epoch--
			err := r.appendTo(agent, fence)
			r.Expect(err).To(MatchError(ledger.ErrFenced))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.finishAgent()
			r.Eventually(func() error { // on a busy machine, a Lease may expire between reading and appending
				fence, agent := r.finishedAgent()
				return r.appendTo(agent, fence)
			}).Should(Succeed())
		}),
	},
)

// restartable is a separate stack whose operators attacks end and replace, one attack at a time.
type restartable struct {
	*target
	turn sync.Mutex
}

// takeRestartable returns the stack when no other test uses it.
func (w *target) takeRestartable(t *testing.T) *target {
	t.Helper()
	shared := w.restartable.Get(t, w.t, func(t testing.TB) *restartable { return &restartable{target: w.own(t, withoutGateway)} })
	shared.turn.Lock()
	t.Cleanup(shared.turn.Unlock)
	return shared.target
}

// slowTask is a task whose model call is in flight.
type slowTask struct {
	*testNamespace
	requests atomic.Int32
	release  chan struct{}
}

func startSlowTask(t *testing.T, w *target) *slowTask {
	t.Helper()
	s := &slowTask{testNamespace: w.takeRestartable(t).newNamespace(t), release: make(chan struct{})}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections() // a failed test leaves requests open
		server.Close()
	})
	s.Create(
		&v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Name: "slow"}, Spec: v1beta1.ModelProviderSpec{BaseURL: server.URL + "/v1", DefaultModel: "slow"}},
		&v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "work"}, Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: "Do it", ModelProvider: "slow"}},
	)
	s.Eventually(s.requests.Load).Should(BeEquivalentTo(1))
	return s
}

// ServeHTTP replies as a model does, when finish is called.
func (s *slowTask) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	if !strings.HasSuffix(request.URL.Path, "/chat/completions") {
		_, _ = io.WriteString(response, `{"object":"list","data":[{"id":"slow","object":"model"}]}`)
		return
	}
	s.requests.Add(1)
	select {
	case <-s.release:
	case <-request.Context().Done():
		return
	}
	response.Header().Set("Content-Type", "text/event-stream")
	for _, piece := range []string{
		`{"id":"1","object":"chat.completion.chunk","model":"slow","choices":[{"index":0,"delta":{"role":"assistant","content":"Done."}}]}`,
		`{"id":"1","object":"chat.completion.chunk","model":"slow","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		`{"id":"1","object":"chat.completion.chunk","model":"slow","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`,
		`[DONE]`,
	} {
		_, _ = fmt.Fprintf(response, "data: %s\n\n", piece)
	}
}

// finish lets the model reply, and waits for the end of the task.
func (s *slowTask) finish() {
	s.t.Helper()
	close(s.release)
	s.Eventually(s.TaskPhase("work")).Should(Equal(v1beta1.TaskSuccess))
}

// replicas counts the live operators.
func (s *slowTask) replicas() (live int, err error) {
	rows, err := s.openHistory().Replicas(s.t.Context())
	for i := range rows {
		if rows[i].Live() {
			live++
		}
	}
	return live, err
}

// supersededOperators returns how many times operators of the stack noticed a successor.
func (s *slowTask) supersededOperators() int {
	s.t.Helper()
	log, err := os.ReadFile(s.Newest().Log)
	s.Expect(err).NotTo(HaveOccurred())
	return strings.Count(string(log), "Another operator has taken over the shard")
}

// events returns the number of events of the task's agent.
func (s *slowTask) events() int64 {
	s.t.Helper()
	agent, err := s.openHistory().Agent(s.t.Context(), string(s.subAgent("work").UID))
	s.Expect(err).NotTo(HaveOccurred())
	return agent.LastSeq
}

func (r *testNamespace) openHistory() ledger.Ledger {
	r.t.Helper()
	return ledgertest.Open(r.t, r.LedgerURL)
}

func (r *testNamespace) finishAgent() {
	r.t.Helper()
	r.Create(&v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "work"}, Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: "Submit done"}})
	r.Eventually(r.TaskPhase("work")).Should(Equal(v1beta1.TaskSuccess))
}

// finishedAgent returns the operator's epoch and the record of the agent.
func (r *testNamespace) finishedAgent() (ledger.Fence, ledger.Agent) {
	r.t.Helper()
	records := r.openHistory()
	agent, err := records.Agent(r.t.Context(), string(r.subAgent("work").UID))
	r.Expect(err).NotTo(HaveOccurred())
	owners, err := records.Owners(r.t.Context())
	r.Expect(err).NotTo(HaveOccurred())
	id := ledger.FirstShard + shard.Count(len(owners)).Of(agent.ShardHash)
	return ledger.Fence{Shard: id, Epoch: owners[id].Epoch}, agent
}

func (r *testNamespace) appendTo(agent ledger.Agent, fence ledger.Fence) error {
	event := ledger.Event{Type: "Woke", At: time.Now(), Data: []byte(`{"v":1,"type":"Woke","at":1,"fact":{}}`)}
	return r.openHistory().Append(r.t.Context(), ledger.Batch{Agent: agent.UID, After: agent.LastSeq, Fence: fence, Events: []ledger.Event{event}})
}
