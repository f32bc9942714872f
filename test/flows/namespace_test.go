// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/config/operator"
)

// testNamespace is a namespace for one spec. Its chat is named "chat".
type testNamespace struct {
	*world
	namespace string
}

func (r *testNamespace) inNamespace() client.ListOption { return client.InNamespace(r.namespace) }

func (r *testNamespace) create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		object.SetNamespace(r.namespace)
		Expect(r.API.Create(ctx, object)).To(Succeed())
	}
}

// createAsOperator creates an object that a policy forbids to people.
func (r *testNamespace) createAsOperator(ctx context.Context, object client.Object) {
	GinkgoHelper()
	object.SetNamespace(r.namespace)
	Expect(r.asOperator().Create(ctx, object)).To(Succeed())
}

// asOperator returns a client with the operator's name and permissions.
func (r *testNamespace) asOperator() client.Client {
	GinkgoHelper()
	config := rest.CopyConfig(r.Cluster.Config)
	config.Impersonate.UserName = serviceaccount.MakeUsername(operator.Namespace, operator.ServiceAccount)
	api, err := client.New(config, client.Options{Scheme: r.API.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return api
}

func (r *testNamespace) openChat(ctx context.Context) {
	GinkgoHelper()
	r.create(ctx, MakeChat("chat").Obj())
}

func (r *testNamespace) sendMessage(ctx context.Context, name, text string) {
	GinkgoHelper()
	r.create(ctx, MakeMessage(name).Content(text).Obj())
}

// chat, task, sub, message and so on read an object of the room, for Eventually.
func (r *testNamespace) chat(ctx context.Context) (*v1beta1.AgentChat, error) {
	return fetch(ctx, r, "chat", &v1beta1.AgentChat{})
}

func (r *testNamespace) task(name string) func(context.Context) (*v1beta1.AgentTask, error) {
	return func(ctx context.Context) (*v1beta1.AgentTask, error) {
		return fetch(ctx, r, name, &v1beta1.AgentTask{})
	}
}

func (r *testNamespace) sub(name string) func(context.Context) (*v1beta1.SubAgent, error) {
	return func(ctx context.Context) (*v1beta1.SubAgent, error) {
		return fetch(ctx, r, name, &v1beta1.SubAgent{})
	}
}

// agent returns a sub-agent once its status matches its task's, which is written first.
func (r *testNamespace) agent(ctx context.Context, name string) *v1beta1.SubAgent {
	GinkgoHelper()
	var sub *v1beta1.SubAgent
	Eventually(func(g Gomega, ctx context.Context) {
		task, err := r.task(name)(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		sub, err = r.sub(name)(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sub.Status.CompletionTime == nil).To(Equal(task.Status.CompletionTime == nil))
		g.Expect(sub.Status.Phase == v1beta1.SubAgentActive && task.Status.Waiting != nil).To(BeFalse())
	}).WithContext(ctx).Should(Succeed())
	return sub
}

func (r *testNamespace) message(name string) func(context.Context) (*v1beta1.AgentMessage, error) {
	return func(ctx context.Context) (*v1beta1.AgentMessage, error) {
		return fetch(ctx, r, name, &v1beta1.AgentMessage{})
	}
}

func (r *testNamespace) role(name string) func(context.Context) (*v1beta1.AgentRole, error) {
	return func(ctx context.Context) (*v1beta1.AgentRole, error) {
		return fetch(ctx, r, name, &v1beta1.AgentRole{})
	}
}

func (r *testNamespace) provider(name string) func(context.Context) (*v1beta1.ModelProvider, error) {
	return func(ctx context.Context) (*v1beta1.ModelProvider, error) {
		return fetch(ctx, r, name, &v1beta1.ModelProvider{})
	}
}

func (r *testNamespace) toolServer(name string) func(context.Context) (*v1beta1.ToolServer, error) {
	return func(ctx context.Context) (*v1beta1.ToolServer, error) {
		return fetch(ctx, r, name, &v1beta1.ToolServer{})
	}
}

// addToolServer creates a ToolServer named box and waits until its tools are known, because a role that allows every tool does not wait
// for it.
func (r *testNamespace) addToolServer(ctx context.Context, server *v1beta1.ToolServer) {
	GinkgoHelper()
	r.create(ctx, server)
	Eventually(r.toolServer(server.Name)).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
}

func fetch[T client.Object](ctx context.Context, r *testNamespace, name string, into T) (T, error) {
	return into, r.API.Get(ctx, types.NamespacedName{Namespace: r.namespace, Name: name}, into)
}

// must reads an object that exists.
func must[T any](ctx context.Context, read func(context.Context) (T, error)) T {
	GinkgoHelper()
	object, err := read(ctx)
	Expect(err).NotTo(HaveOccurred())
	return object
}

// change updates an object with retries on conflicts.
func change[T client.Object](ctx context.Context, r *testNamespace, read func(context.Context) (T, error), how func(T)) {
	GinkgoHelper()
	Eventually(func(ctx context.Context) error {
		object, err := read(ctx)
		if err != nil {
			return err
		}
		how(object)
		return r.API.Update(ctx, object)
	}).WithContext(ctx).Should(Succeed())
}

// waitForObserved waits until the operator has observed the spec of an object. Without it the operator may read later objects first: objects of
// different kinds reach it in any order.
func waitForObserved[T client.Object](ctx context.Context, read func(context.Context) (T, error)) {
	GinkgoHelper()
	Eventually(func(g Gomega, ctx context.Context) {
		object, err := read(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		s, _ := statusOf(object)
		g.Expect(meta.FindStatusCondition(s.conditions, s.condition)).To(HaveValue(HaveField("ObservedGeneration", object.GetGeneration())))
	}).WithContext(ctx).Should(Succeed())
}

// posts returns the posts of the operator in the room, in order.
func (r *testNamespace) posts(ctx context.Context) ([]v1beta1.AgentMessage, error) {
	var list v1beta1.AgentMessageList
	if err := r.API.List(ctx, &list, r.inNamespace()); err != nil {
		return nil, err
	}
	posts := slices.DeleteFunc(list.Items, func(m v1beta1.AgentMessage) bool { return m.Spec.Role == v1beta1.RoleUser })
	slices.SortFunc(posts, func(a, b v1beta1.AgentMessage) int { return number(a.Name) - number(b.Name) })
	return posts, nil
}

func number(name string) (n int) {
	_, _ = fmt.Sscanf(name[strings.LastIndexByte(name, '-')+1:], "%d", &n)
	return n
}

func (r *testNamespace) question(ctx context.Context, task string) v1beta1.AgentMessage {
	GinkgoHelper()
	var found v1beta1.AgentMessage
	Eventually(func(ctx context.Context) (string, error) {
		posts, err := r.posts(ctx)
		for _, post := range posts {
			if post.Spec.Task == task && post.Spec.Role == v1beta1.RoleAssistant {
				found = post
			}
		}
		return found.Spec.Task, err
	}).WithContext(ctx).Should(Equal(task), "a post about "+task)
	return found
}

func kinds() []client.ObjectList {
	return []client.ObjectList{
		&v1beta1.AgentChatList{}, &v1beta1.AgentMessageList{}, &v1beta1.AgentTaskList{}, &v1beta1.SubAgentList{},
		&v1beta1.AgentRoleList{}, &v1beta1.ModelProviderList{}, &v1beta1.ToolServerList{}, &v1beta1.AgentQuotaList{}, &v1beta1.AgentTriggerList{},
		&v1beta1.ToolPolicyList{}, &v1beta1.AgentEvaluationList{},
	}
}

// dump formats all objects of the room, for a failure report.
func (r *testNamespace) dump(ctx context.Context) string {
	var out strings.Builder
	for _, list := range append(kinds(), &corev1.ResourceQuotaList{}) {
		if err := r.API.List(ctx, list, r.inNamespace()); err != nil {
			fmt.Fprintln(&out, err)
			continue
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			item.(client.Object).SetManagedFields(nil)
			return nil
		})
		data, err := yaml.Marshal(list)
		fmt.Fprintf(&out, "--- %T (%v)\n%s", list, err, data)
	}
	return out.String()
}
