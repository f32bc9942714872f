// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

func deletion(w *world) {
	Describe("Deleting", func() {
		It("deleting a chat in the middle of all kinds of work leaves nothing behind", func(ctx SpecContext) {
			deleteBusyChat(ctx, w) // workers and recorders of Events start with their first work, and stay
			before := idleGoroutines(ctx, w)
			r := deleteBusyChat(ctx, w)

			By("releasing goroutines and connections")
			Eventually(w.metric("go_goroutines")).WithContext(ctx).Should(BeNumerically("<=", before+goroutineSlack))

			By("leaving other chats unaffected")
			r.create(ctx, MakeChat("other").Obj(), MakeMessage("hello").Chat("other").Content("Greet Bob").Obj())
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Bob!")))
		})

		It("deleting an idle chat ends it in the ledger too, and its name can be reused", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "first", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
			Eventually(r.chat).WithContext(ctx).Should(BeIn(v1beta1.ChatIdle))
			old := must(ctx, r.chat)
			Expect(w.API.Delete(ctx, old)).To(Succeed())
			Eventually(func(ctx context.Context) (map[string]ledger.Status, error) {
				return agentsBelow(ctx, w, string(old.UID))
			}).WithContext(ctx).Should(
				HaveEach(ledger.StatusCancelled))
			Eventually(r.posts).WithContext(ctx).Should(BeEmpty())

			r.openChat(ctx)
			r.sendMessage(ctx, "second", "Greet Bob")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Bob!"), ReplyingTo("second")))
			Expect(must(ctx, w.requestsOf(must(ctx, r.chat).UID))).NotTo(ContainElement(WithTransform(modelRequest.conversation, ContainSubstring("Alice"))))
		})

		It("deleting a standalone task cancels its agent", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("work", `Spawn [{"role":"reviewer","task":"Hang"},{"role":"reviewer","task":"Ask: Why?"}]`).Role("planner").Obj())
			Eventually(r.task("work-2")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
			Eventually(w.inFlight).WithContext(ctx).Should(Equal(1))
			root := string(r.agent(ctx, "work").UID)
			Expect(w.API.Delete(ctx, must(ctx, r.task("work")), client.PropagationPolicy("Background"))).To(Succeed())
			Eventually(w.inFlight).WithContext(ctx).Should(BeZero())
			Eventually(func(ctx context.Context) (map[string]ledger.Status, error) { return agentsBelow(ctx, w, root) }).WithContext(ctx).Should(And(
				HaveLen(3), HaveEach(ledger.StatusCancelled)))
		})
	})
}

// deleteBusyChat deletes a chat in the middle of all kinds of work, and waits for the end of all of it. It returns the namespace.
func deleteBusyChat(ctx context.Context, w *world) *testNamespace {
	GinkgoHelper()
	r := w.newNamespace(ctx)
	r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
	r.create(ctx, MakeRole("tester").Allow("box__*").Obj())
	r.openChat(ctx)
	gate, path := r.namespace+"/gate", r.namespace+"/file"
	r.sendMessage(ctx, "request", fmt.Sprintf(`Spawn [{"task":"Hang"},{"task":"Begin and hang"},{"task":"Ask: Which colour?"},{"task":"Write %s"},`+
		`{"task":"Wait at %s"},{"role":"coder","task":"Delegate to tester: Hang"}]`, path, gate))
	Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Waiting", HaveLen(2)))
	Eventually(r.task("chat-6-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskRunning))
	Eventually(w.tools.isWaitingAt(gate)).WithContext(ctx).Should(BeTrue())
	Eventually(w.inFlight).WithContext(ctx).Should(Equal(3))
	r.sendMessage(ctx, "unread", "Hang up")
	Eventually(w.inFlight).WithContext(ctx).Should(Equal(4), "the orchestrator's own turn")
	root := must(ctx, r.chat)

	Expect(w.API.Delete(ctx, root, client.PropagationPolicy("Background"))).To(Succeed())

	By("removing all of it from the cluster")
	for _, list := range []client.ObjectList{&v1beta1.AgentChatList{}, &v1beta1.AgentMessageList{}, &v1beta1.AgentTaskList{}, &v1beta1.SubAgentList{}} {
		Eventually(func(ctx context.Context) (int, error) {
			err := w.API.List(ctx, list, r.inNamespace())
			return meta.LenList(list), err
		}).WithContext(ctx).Should(BeZero(), fmt.Sprintf("%T", list))
	}
	By("cancelling calls in flight")
	Eventually(w.inFlight).WithContext(ctx).Should(BeZero())
	Eventually(w.tools.isWaitingAt(gate)).WithContext(ctx).Should(BeFalse())
	Expect(w.tools.writeCount(path)()).To(BeZero())

	By("recording it in the ledger")
	Eventually(func(ctx context.Context) (map[string]ledger.Status, error) {
		return agentsBelow(ctx, w, string(root.UID))
	}).WithContext(ctx).Should(And(
		HaveLen(8), HaveEach(ledger.StatusCancelled)))
	Eventually(func(ctx context.Context) ([]string, error) { return openCallsBelow(ctx, w, string(root.UID)) }).WithContext(ctx).Should(BeEmpty())
	return r
}

// goroutineSlack is the growth of goroutines that is not a leak: connections come and go.
const goroutineSlack = 12

// idleGoroutines returns the number of goroutines of an idle operator.
func idleGoroutines(ctx context.Context, w *world) float64 {
	GinkgoHelper()
	var seen float64
	Eventually(func(ctx context.Context) (bool, error) {
		now, err := w.metric("go_goroutines")(ctx)
		same := now == seen
		seen = now
		return same, err
	}).WithContext(ctx).Should(BeTrue())
	return seen
}

// agentsBelow returns the ledger status of a tree's agents, by name.
func agentsBelow(ctx context.Context, w *world, root string) (map[string]ledger.Status, error) {
	list, err := w.history.Agents(ctx, ledger.AgentFilter{Scope: ledger.Scope{Root: root}}, ledger.Page{})
	statuses := map[string]ledger.Status{}
	for _, a := range list.Items {
		statuses[a.Name] = a.Status
	}
	return statuses, err
}

// openCallsBelow returns the calls of a tree without a result in the ledger.
func openCallsBelow(ctx context.Context, w *world, root string) ([]string, error) {
	list, err := w.history.Agents(ctx, ledger.AgentFilter{Scope: ledger.Scope{Root: root}}, ledger.Page{})
	if err != nil {
		return nil, err
	}
	var open []string
	for _, a := range list.Items {
		calls, err := w.history.OpenCalls(ctx, a.UID)
		if err != nil {
			return nil, err
		}
		for _, c := range calls.Models {
			open = append(open, a.Name+": model call "+c.Key)
		}
		for _, c := range calls.Tools {
			open = append(open, a.Name+": tool call "+c.Tool)
		}
	}
	return open, nil
}

// metric reads a metric of the operator without labels.
func (w *world) metric(name string) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.Metrics+"/metrics", nil)
		if err != nil {
			return 0, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		defer func() { _ = response.Body.Close() }()
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
				return strconv.ParseFloat(value, 64)
			}
		}
		return 0, fmt.Errorf("the operator has no metric %s", name)
	}
}
