// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

func (r *room) chatClient(name string) *a2aclient.Client {
	r.t.Helper()
	r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: name}})
	remote, err := r.dial(r.token, "orchestrator", a2a.TransportProtocolJSONRPC)
	r.Expect(err).NotTo(HaveOccurred())
	return remote
}

func inContext(context, text string) *a2a.SendMessageRequest {
	req := say(text)
	req.Message.ContextID = context
	return req
}

func (r *room) messages() []v1beta1.AgentMessage {
	r.t.Helper()
	return r.Messages(func(m v1beta1.AgentMessage) bool { return m.Spec.Role == v1beta1.RoleUser })
}

// Each message to a chat is a task in the context of the chat, and repeated messages have no effect.
func TestA2AChat(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	remote := r.chatClient("lounge")
	greeting := inContext("chat/lounge", "Greet Ada")
	greeted := r.send(remote, greeting)
	r.Expect(greeted.Status.State).To(Equal(a2a.TaskStateCompleted))
	r.Expect(greeted.ContextID).To(Equal("chat/lounge"))
	r.Expect(textOf(greeted.Artifacts[0].Parts)).To(Equal("Good day, Ada."))
	r.Expect(r.send(remote, greeting).ID).To(Equal(greeted.ID))

	question, err := lastStatus(remote.SendStreamingMessage(t.Context(), inContext("chat/lounge", "Release")))
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(question.state).To(Equal(a2a.TaskStateInputRequired), question.message)
	r.Expect(question.message).To(ContainSubstring("Which version?"))
	r.Expect(question.artifact).To(HavePrefix("I will have it released."))
	task := a2a.TaskInfo{TaskID: a2a.TaskID(question.task), ContextID: question.context}
	answer := replyTo(task, a2a.NewTextPart("1.2"))
	approval := r.send(remote, answer)
	r.Expect(approval.Status.State).To(Equal(a2a.TaskStateInputRequired))
	r.Expect(textOf(approval.Status.Message.Parts)).To(ContainSubstring("box__write"))
	r.Expect(r.send(remote, answer).Status.Message.ID).To(Equal(approval.Status.Message.ID), "a repeated answer")
	r.Expect(r.box.files()).To(BeEmpty())
	done, err := lastStatus(remote.SendStreamingMessage(t.Context(), replyTo(task, decide(approval, "approve"))))
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(done.state).To(Equal(a2a.TaskStateCompleted), done.message)
	r.Expect(done.artifact).To(And(HavePrefix("I will have it released.\n\n"), ContainSubstring("\n\nDone: "), ContainSubstring("notes-1.2")))
	r.Expect(r.box.files()).To(Equal([]string{"notes-1.2"}))
	r.Expect(r.messages()).To(HaveLen(4))

	read, err := remote.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.TaskID})
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(read.Status.State).To(Equal(a2a.TaskStateCompleted))
	r.Expect(textOf(read.Artifacts[0].Parts)).To(Equal(done.artifact))
	list, err := remote.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: "chat/lounge", IncludeArtifacts: true})
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(list.Tasks).To(HaveLen(2))
	var texts []string
	for _, listed := range list.Tasks {
		texts = append(texts, textOf(listed.Artifacts[0].Parts))
	}
	r.Expect(texts).To(ConsistOf("Good day, Ada.", done.artifact))
	_, err = remote.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.TaskID})
	r.Expect(err).To(MatchError(a2a.ErrTaskNotCancelable))
}

func TestA2AChatCancel(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	remote := r.chatClient("lounge")
	question := r.send(remote, inContext("chat/lounge", "Release"))
	r.Expect(question.Status.State).To(Equal(a2a.TaskStateInputRequired))
	subscribed, err := lastStatus(remote.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: question.ID}))
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(subscribed.message).To(ContainSubstring("Which version?"))
	_, err = remote.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: question.ID, URL: "http://127.0.0.1:1/"})
	r.Expect(err).To(MatchError(ContainSubstring("not for the turns of a chat")))
	_, err = remote.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: question.ID})
	r.Expect(err).NotTo(HaveOccurred())
	r.waitForState(remote, question.ID, a2a.TaskStateCanceled)

	_, err = remote.SendMessage(t.Context(), inContext("chat/nowhere", "Greet Ada"))
	r.Expect(err).To(MatchError(ContainSubstring("there is no chat nowhere")))
	releaser := r.client(a2a.TransportProtocolJSONRPC)
	_, err = releaser.SendMessage(t.Context(), inContext("chat/lounge", "Greet Ada"))
	r.Expect(err).To(MatchError(ContainSubstring("/orchestrator")))
	_, err = releaser.GetTask(t.Context(), &a2a.GetTaskRequest{ID: question.ID})
	r.Expect(err).To(MatchError(a2a.ErrTaskNotFound))
	_, err = remote.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "turn.nothing"})
	r.Expect(err).To(MatchError(a2a.ErrTaskNotFound))
	_, err = r.viewer("orchestrator").SendMessage(t.Context(), inContext("chat/lounge", "Greet Ada"))
	r.Expect(err).To(MatchError(a2a.ErrUnauthorized))
}

// When the AgentMessage of an answer is rejected, the request ends and the task still waits.
func TestA2ARejectedAnswer(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	remote := r.client(a2a.TransportProtocolJSONRPC)
	question := r.send(remote, say("Release the notes"))
	// The name of the message is derived from the answer, so this message is the answer, and it decides a call that does
	// not exist.
	caller := run.Caller{User: "system:serviceaccount:" + r.Namespace + ":alice"}
	config := rest.CopyConfig(r.Cluster.Config)
	config.Impersonate.UserName = caller.User
	alice, err := client.New(config, client.Options{Scheme: r.API.Scheme()})
	r.Expect(err).NotTo(HaveOccurred())
	reject := func(answer *a2a.SendMessageRequest) *a2a.SendMessageRequest {
		task := string(question.ID)
		bad := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: caller.MessageName(r.Namespace, task, "a2a/"+answer.Message.ID)}}
		bad.Annotations = map[string]string{v1beta1.AnnotationAnswers: question.Status.Message.ID}
		approval := &v1beta1.Approval{Task: task, ToolCall: "nothing", Decision: v1beta1.DecisionApprove}
		bad.Spec = v1beta1.AgentMessageSpec{Task: task, Role: v1beta1.RoleUser, User: caller.User, Approval: approval}
		r.Expect(alice.Create(t.Context(), bad)).To(Succeed())
		return answer
	}
	refused := r.send(remote, reject(replyTo(question, a2a.NewTextPart("1.2"))))
	r.Expect(refused.Status.State).To(Equal(a2a.TaskStateInputRequired))
	r.Expect(textOf(refused.Status.Message.Parts)).To(And(ContainSubstring("the message was rejected ("), ContainSubstring("Which version?")))
	streamed, err := lastStatus(remote.SendStreamingMessage(t.Context(), reject(replyTo(question, a2a.NewTextPart("1.2")))))
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(streamed.state).To(Equal(a2a.TaskStateInputRequired))
	r.Expect(streamed.message).To(ContainSubstring("the message was rejected ("))
	answered := r.send(remote, replyTo(question, a2a.NewTextPart("1.2")))
	r.Expect(textOf(answered.Status.Message.Parts)).To(ContainSubstring("box__write"))
}
