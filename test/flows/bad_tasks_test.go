// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// badTasks are invalid standalone tasks, and tasks that people should not create.
func badTasks(w *world) []TableEntry {
	waits := func(task taskBuilder, reason, texts string, fix func(context.Context, *testNamespace)) badInput {
		return func(ctx context.Context, r *testNamespace) {
			GinkgoHelper()
			r.create(ctx, copies(objectList(task.Obj()))...)
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskPending, reason, texts))
			fix(ctx, r)
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		}
	}
	fails := func(kind v1beta1.ErrorKind, texts string, task taskBuilder) badInput {
		return func(ctx context.Context, r *testNamespace) {
			GinkgoHelper()
			Expect(w.Provider(ctx, r.namespace, "default")).To(Succeed())
			r.create(ctx, copies(objectList(task.Obj()))...)
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(kind), texts))
		}
	}
	cancelsPending := func(task taskBuilder, reason string) badInput {
		return func(ctx context.Context, r *testNamespace) {
			GinkgoHelper()
			r.create(ctx, copies(objectList(task.Obj()))...)
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskPending, reason, ""))
			change(ctx, r, r.task("work"), func(t *v1beta1.AgentTask) { t.Spec.Cancel = true })
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled), "cancelled before it began"))
		}
	}
	return []TableEntry{
		Entry("a task whose role does not exist", waits(MakeTask("work", "Submit done").Role("helper"), v1beta1.ReasonRoleNotFound, `Create the AgentRole "helper"`, func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeRole("helper").Prompt("You help.").Obj(), MakeProvider("default", w.ModelURL).Obj())
		})),
		Entry("a task that is cancelled before its role exists", cancelsPending(MakeTask("work", "Submit done").Role("helper"), v1beta1.ReasonRoleNotFound)),
		Entry("a task that is cancelled before its tool exists", cancelsPending(MakeToolTask("work", "box__look", `{"what":"a tree"}`), v1beta1.ReasonToolServerNotFound)),
		Entry("a task whose provider does not exist", waits(MakeTask("work", "Submit done").Provider("fast"), v1beta1.ReasonProviderNotFound, `Create the ModelProvider "fast"`, func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("fast", w.ModelURL).Obj())
		})),
		Entry("a task whose tool server does not exist", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj(), MakeRole("general").Allow("box__*").Obj())
			waits(MakeTask("work", "Look at a tree"), v1beta1.ReasonToolServerNotFound, `Create the ToolServer "box"`, func(ctx context.Context, r *testNamespace) {
				r.create(ctx, MakeToolServer("box", w.tools.URL))
			})(ctx, r)
		})),
		Entry("a task that continues from an agent that does not exist", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			waits(MakeTask("work", "Submit more").ContinueFrom("earlier"), v1beta1.ReasonSubAgentNotFound, `"earlier"`, func(ctx context.Context, r *testNamespace) {
				r.create(ctx, MakeTask("earlier", "Submit something").Obj())
			})(ctx, r)
		})),
		Entry("a task that continues from an agent of another role", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj(), MakeTask("earlier", "Submit something").Role("tester").Obj())
			Eventually(r.task("earlier")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			r.create(ctx, MakeTask("work", "Submit more").ContinueFrom("earlier").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorInvalidSpec), "role"))
		})),
		Entry("a task whose tool does not exist", badInput(func(ctx context.Context, r *testNamespace) {
			empty := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
				return mcp.NewServer(&mcp.Implementation{Name: "empty", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
			}, nil))
			DeferCleanup(empty.Close)
			r.addToolServer(ctx, MakeToolServer("box", empty.URL))
			waits(MakeToolTask("work", "box__look", `{"what":"a tree"}`), v1beta1.ReasonToolNotFound, `the ToolServer "box" does not offer it`, func(ctx context.Context, r *testNamespace) {
				change(ctx, r, r.toolServer("box"), func(s *v1beta1.ToolServer) { s.Spec.URL = w.tools.URL })
			})(ctx, r)
		})),
		Entry("a task without a valid tool", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeToolTask("work", "teleport", `{}`).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskPending, v1beta1.ReasonToolNotFound, `There is no tool "teleport"`))
		})),
		Entry("a task whose tool server does not exist, which no role names", waits(MakeToolTask("work", "box__look", `{"what":"a tree"}`),
			v1beta1.ReasonToolServerNotFound, `Create the ToolServer "box"`, func(ctx context.Context, r *testNamespace) {
				r.create(ctx, MakeToolServer("box", w.tools.URL))
			})),
		Entry("a task whose arguments do not fit its role", badInput(func(ctx context.Context, r *testNamespace) {
			Expect(w.Provider(ctx, r.namespace, "default")).To(Succeed())
			task := MakeTask("work", "").Role("code-search").Obj()
			task.Spec.Arguments = &runtime.RawExtension{Raw: []byte(`{"question":"where?"}`)}
			r.create(ctx, task)
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorInvalidSpec), "missing property 'query'"))
			Expect(apierrors.IsNotFound(w.API.Get(ctx, client.ObjectKeyFromObject(task), &v1beta1.SubAgent{}))).To(BeTrue(), "a sub-agent was created")
		})),
		Entry("a task whose arguments do not fit the tool", fails(v1beta1.ErrorTool, "expression", MakeToolTask("work", "calculator", `{"sum":"1+1"}`))),
		Entry("a task whose model does not exist", fails(v1beta1.ErrorModel, "does not exist", MakeTask("work", "Fail with an unknown model"))),
		Entry("a task that claims a parent but has no owner", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj(), MakeTask("work", "Submit done").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			claims := MakeTask("claims", "Submit more").Obj()
			claims.Labels = map[string]string{v1beta1.LabelParent: "work"}
			r.createAsOperator(ctx, claims)
			Eventually(r.task("claims")).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled), "was deleted"))
		})),
		Entry("a task that names a chat but has no owner", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.openChat(ctx)
			task := MakeTask("work", "Submit done").Obj()
			task.Spec.Chat = "chat"
			r.createAsOperator(ctx, task)
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled), "was deleted"))
		})),
		Entry("a task that has the name of a chat's next one", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj(), MakeTask("chat-1", "Submit mine").Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Delegate to general: Submit yours")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Report of chat-1-"), WithText("yours"), ReplyingTo("request")))
			Eventually(r.task("chat-1")).WithContext(ctx).Should(HaveField("Status.Result.Summary", "mine"))
		})),
		Entry("an agent that had started and is not in the ledger", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeTask("work", "Submit done").Obj())
			Eventually(r.sub("work")).WithContext(ctx).Should(BeDone(v1beta1.SubAgentPending, v1beta1.ReasonProviderNotFound))
			Eventually(func(ctx context.Context) error {
				sub, err := r.sub("work")(ctx)
				if err != nil {
					return err
				}
				sub.Status.StartTime = &metav1.Time{Time: sub.CreationTimestamp.Time}
				return w.API.Status().Update(ctx, sub)
			}).WithContext(ctx).Should(Succeed())
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj()) // the operator may observe it first
			Eventually(r.sub("work")).WithContext(ctx).Should(BeDone(v1beta1.SubAgentFailed, string(v1beta1.ErrorHistoryLost), "Create the task again."))
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorHistoryLost)))
			Expect(must(ctx, w.requestsOf(must(ctx, r.sub("work")).UID))).To(BeEmpty(), "the model is not called")
		})),
	}
}
