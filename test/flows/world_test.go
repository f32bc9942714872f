// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/test/stack"
)

// world is shared by the specs of one ledger: the stack, access to its ledger, and a tool server.
type world struct {
	*stack.Stack
	history ledger.Ledger
	tools   *toolbox
	serial  int
	// api is the API of the providers; empty means the default.
	api v1beta1.ModelAPI
	// namespaces are those of the current spec.
	namespaces []*testNamespace
}

// start starts the stack. The puppets come after the built-in scripts, whose rules are more specific, and before the demo's
// fallback rules.
func (w *world) start(ctx context.Context, name string) {
	scripts := []string{filepath.Join("testdata", "parts.yaml")}
	for _, builtin := range []string{"nested-agents", "central-orchestration", "role-delegation", "agents-as-tools", "parallel-agents", "failures"} {
		scripts = append(scripts, "builtin:"+builtin)
	}
	scripts = append(scripts, filepath.Join("testdata", "puppets.yaml"), "builtin:demo")
	var err error
	w.Stack, err = stack.Start(ctx, stack.Options{
		Ledger: name, Scripts: scripts, ModelFlags: []string{"--no-delay", "--record", "20000"}, OperatorFlags: append(stack.FewShards(), "--web-url", pageURL), Gateway: true,
		DelayWatches: true,
	})
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("CI") != "true" {
		Skip(err.Error())
	}
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(w.Stop()).To(Succeed()) })
	w.history, err = connect.Open(ctx, w.LedgerURL)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(w.history.Close()).To(Succeed()) })
	w.tools = startToolbox()
	DeferCleanup(w.tools.Close)
}

func (w *world) newNamespace(ctx context.Context) *testNamespace {
	GinkgoHelper()
	r := w.newEmptyNamespace(ctx)
	Expect(w.ProviderOf(ctx, r.namespace, "default", w.api)).To(Succeed())
	return r
}

func (w *world) newEmptyNamespace(ctx context.Context) *testNamespace {
	GinkgoHelper()
	w.serial++
	r := &testNamespace{world: w, namespace: fmt.Sprintf("room-%d", w.serial)}
	Expect(w.API.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}})).To(Succeed())
	w.namespaces = append(w.namespaces, r)
	return r
}

// checkAfterSpec checks all objects after a spec, and reports the operator's log if the spec failed.
func (w *world) checkAfterSpec(ctx context.Context) {
	rooms := w.namespaces
	w.namespaces = nil
	if CurrentSpecReport().Failed() {
		for _, r := range rooms {
			AddReportEntry("objects of "+r.namespace, r.dump(ctx))
		}
		if w.Stack != nil {
			AddReportEntry("operator", fmt.Sprintf("WATCH_SEED=%d\n%s", w.WatchSeed, w.OperatorLog()))
		}
		return
	}
	for _, r := range rooms {
		Eventually(r.problems).WithContext(ctx).Should(BeEmpty(), "the statuses of "+r.namespace)
	}
}

// restartOperator kills the operator, starts another one, and waits until it has taken over.
func (w *world) restartOperator(ctx context.Context) {
	GinkgoHelper()
	before, err := w.history.Owners(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(w.Operator.Kill()).To(Succeed())
	Expect(w.StartOperator(ctx)).To(Succeed())
	Eventually(func(g Gomega, ctx context.Context) {
		now, err := w.history.Owners(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		for shard, owner := range before {
			if !owner.Released {
				g.Expect(now[shard].Epoch).To(BeNumerically(">", owner.Epoch), "shard %d", shard)
			}
		}
	}).WithContext(ctx).Should(Succeed())
}

type modelRequest struct {
	API, Role, Model, Error string

	Turn   int
	Status int
	Body   chatBody
}

// chatBody is the body of a request of the chat completions API.
type chatBody struct {
	Messages []struct {
		Role    string
		Content string
	}
	Tools []struct{ Function struct{ Name string } }
}

// UnmarshalJSON leaves out what bodies of other APIs have in another form.
func (b *chatBody) UnmarshalJSON(data []byte) error {
	type plain chatBody
	if err, other := json.Unmarshal(data, (*plain)(b)), new(json.UnmarshalTypeError); !errors.As(err, &other) {
		return err
	}
	return nil
}

// lastMessage returns the newest message of the conversation.
func (a modelRequest) lastMessage() string { return a.Body.Messages[len(a.Body.Messages)-1].Content }

func (a modelRequest) tools() []string {
	var names []string
	for _, t := range a.Body.Tools {
		names = append(names, t.Function.Name)
	}
	return names
}

// conversation returns the conversation without the system prompt.
func (a modelRequest) conversation() string {
	var lines []string
	for _, m := range a.Body.Messages {
		if m.Role != "system" {
			lines = append(lines, m.Content)
		}
	}
	return strings.Join(lines, "\n")
}

type modelRecord struct {
	InFlight int `json:"underWay"`
	Requests []modelRequest
}

func (w *world) requestsOf(uid types.UID) func(context.Context) ([]modelRequest, error) {
	return func(ctx context.Context) ([]modelRequest, error) {
		record, err := w.modelRecord(ctx, string(uid)+"/")
		return record.Requests, err
	}
}

// inFlight counts the model's requests that are neither answered nor cancelled.
func (w *world) inFlight(ctx context.Context) (int, error) {
	record, err := w.modelRecord(ctx, "none")
	return record.InFlight, err
}

func (w *world) modelRecord(ctx context.Context, key string) (record modelRecord, err error) {
	err = w.ReadModelLog(ctx, key, &record)
	return record, err
}
