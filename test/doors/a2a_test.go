// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/npm"
)

// dial returns a client of an agent over one binding, made from its card.
func (r *room) dial(token, role string, binding a2a.TransportProtocol) (*a2aclient.Client, error) {
	httpClient := &http.Client{Transport: bearer(token)}
	card, err := agentcard.NewResolver(httpClient).Resolve(r.t.Context(), r.url(role))
	if err != nil {
		return nil, err
	}
	return a2aclient.NewFromCard(r.t.Context(), card, a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(httpClient), a2aclient.WithRESTTransport(httpClient),
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}))
}

func (r *room) url(role string) string {
	return r.GatewayURL + "/a2a/" + r.Namespace + "/" + role
}

// viewer returns a client with the permissions of a viewer.
func (r *room) viewer(role string) *a2aclient.Client {
	r.t.Helper()
	token, err := r.Token(r.t.Context(), r.Namespace, "viewer", "nestor-viewer")
	r.Expect(err).NotTo(HaveOccurred())
	client, err := r.dial(token, role, a2a.TransportProtocolJSONRPC)
	r.Expect(err).NotTo(HaveOccurred())
	return client
}

// waitForState waits until a task has a state.
func (r *room) waitForState(client *a2aclient.Client, id a2a.TaskID, state a2a.TaskState) {
	r.t.Helper()
	r.Eventually(func() (a2a.TaskState, error) {
		task, err := client.GetTask(r.t.Context(), &a2a.GetTaskRequest{ID: id})
		if err != nil {
			return "", err
		}
		return task.Status.State, nil
	}).Should(Equal(state))
}

func (r *room) client(binding a2a.TransportProtocol) *a2aclient.Client {
	r.t.Helper()
	client, err := r.dial(r.token, "releaser", binding)
	r.Expect(err).NotTo(HaveOccurred())
	return client
}

func say(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

func replyTo(task a2a.TaskInfoProvider, part *a2a.Part) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessageForTask(a2a.MessageRoleUser, task, part)}
}

// decide returns a decision about the call that a task shows.
func decide(shown *a2a.Task, decision string) *a2a.Part {
	question, _ := shown.Status.Message.Parts[1].Data().(map[string]any)
	return a2a.NewDataPart(map[string]any{"decision": decision, "ask": question["ask"], "digest": question["digest"]})
}

func (r *room) send(client *a2aclient.Client, req *a2a.SendMessageRequest) *a2a.Task {
	r.t.Helper()
	result, err := client.SendMessage(r.t.Context(), req)
	r.Expect(err).NotTo(HaveOccurred())
	task, ok := result.(*a2a.Task)
	r.Expect(ok).To(BeTrue(), "%T", result)
	return task
}

// Each message is repeated, as after a lost response.
func TestA2AQuestionAndApproval(t *testing.T) {
	t.Parallel()
	for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
		t.Run(string(binding), func(t *testing.T) {
			r := newRoom(t)
			client := r.client(binding)
			first := say("Release the notes")
			question := r.send(client, first)
			r.Expect(question.Status.State).To(Equal(a2a.TaskStateInputRequired))
			r.Expect(textOf(question.Status.Message.Parts)).To(ContainSubstring("Which version?"))
			r.Expect(r.send(client, first).ID).To(Equal(question.ID))

			answer := replyTo(question, a2a.NewTextPart("1.2"))
			approval := r.send(client, answer)
			r.Expect(approval.Status.State).To(Equal(a2a.TaskStateInputRequired))
			r.Expect(textOf(approval.Status.Message.Parts)).To(ContainSubstring("box__write"))
			r.Expect(r.send(client, answer).Status.Message.ID).To(Equal(approval.Status.Message.ID))
			_, err := client.SendMessage(t.Context(), replyTo(question, a2a.NewTextPart("perhaps")))
			r.Expect(err).To(MatchError(ContainSubstring("waits for a decision")))
			r.Expect(r.box.files()).To(BeEmpty())

			_, err = client.SendMessage(t.Context(), replyTo(question, a2a.NewTextPart("approve")))
			r.Expect(err).To(MatchError(ContainSubstring("nothing was decided")))
			decision := replyTo(question, decide(approval, "approve"))
			done := r.send(client, decision)
			r.Expect(done.Status.State).To(Equal(a2a.TaskStateCompleted))
			r.Expect(textOf(done.Artifacts[0].Parts)).To(Equal("Released the notes: wrote notes-1.2."))
			r.Expect(r.send(client, decision).Status.State).To(Equal(a2a.TaskStateCompleted))
			r.Expect(r.box.files()).To(Equal([]string{"notes-1.2"}))
			r.Expect(r.Standalone()).To(HaveLen(1))

			again, err := client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: question.ID})
			r.Expect(err).NotTo(HaveOccurred())
			r.Expect(textOf(again.Artifacts[0].Parts)).To(Equal("Released the notes: wrote notes-1.2."))
			list, err := client.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: question.ContextID})
			r.Expect(err).NotTo(HaveOccurred())
			r.Expect(list.Tasks).To(HaveLen(1))
			_, err = client.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: question.ID})
			r.Expect(err).To(MatchError(a2a.ErrTaskNotCancelable))
		})
	}
}

func TestA2AStream(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	client := r.client(a2a.TransportProtocolJSONRPC)
	var last a2a.Event
	var task *a2a.Task
	for event, err := range client.SendStreamingMessage(t.Context(), say("Release the notes")) {
		r.Expect(err).NotTo(HaveOccurred())
		if first, ok := event.(*a2a.Task); ok {
			task = first
		}
		last = event
	}
	r.Expect(last.(*a2a.TaskStatusUpdateEvent).Status.State).To(Equal(a2a.TaskStateInputRequired))
	for event, err := range client.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
		r.Expect(err).NotTo(HaveOccurred())
		last = event
	}
	r.Expect(textOf(last.(*a2a.TaskStatusUpdateEvent).Status.Message.Parts)).To(ContainSubstring("Which version?"))
	for _, words := range []string{"2.0", "deny: not today"} {
		parts := []*a2a.Part{a2a.NewTextPart(words)}
		if question := last.(*a2a.TaskStatusUpdateEvent).Status.Message; question.Parts[1].Data().(map[string]any)["kind"] == "approval" {
			parts = append(parts, question.Parts[1]) // names the call
		}
		request := &a2a.SendMessageRequest{Message: a2a.NewMessageForTask(a2a.MessageRoleUser, task, parts...)}
		for event, err := range client.SendStreamingMessage(t.Context(), request) {
			r.Expect(err).NotTo(HaveOccurred())
			last = event
		}
	}
	r.Expect(last.(*a2a.TaskStatusUpdateEvent).Status.State).To(Equal(a2a.TaskStateCompleted))
	r.Expect(r.box.files()).To(BeEmpty())

	var streamed strings.Builder
	for event, err := range client.SendStreamingMessage(t.Context(), say("Say hello")) {
		r.Expect(err).NotTo(HaveOccurred())
		if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok {
			if !update.Append {
				streamed.Reset()
			}
			streamed.WriteString(textOf(update.Artifact.Parts))
		}
	}
	r.Expect(streamed.String()).To(Equal("Hello, world!"))
}

// The structured result and the reported changes are in the stream, in the task and in a notification.
func TestA2AArtifacts(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	counter := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "counter"}}
	counter.Spec.Description, counter.Spec.SystemPrompt = "Counts things.", "You count things."
	counter.Spec.OutputSchema = &runtime.RawExtension{Raw: []byte(`{"type":"object","required":["count"],"properties":{"count":{"type":"integer"}}}`)}
	r.Create(counter)
	client, err := r.dial(r.token, "counter", a2a.TransportProtocolJSONRPC)
	r.Expect(err).NotTo(HaveOccurred())
	to, streamed := r.receiver(), map[a2a.ArtifactID]*a2a.Artifact{}
	var id a2a.TaskID
	for event, err := range client.SendStreamingMessage(t.Context(), registered(say("Count the notes"), &a2a.PushConfig{URL: to.URL, Token: "t0ken"})) {
		r.Expect(err).NotTo(HaveOccurred())
		id = event.TaskInfo().TaskID
		if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok && !update.Append {
			streamed[update.Artifact.ID] = update.Artifact
		}
	}
	expect := func(artifacts map[a2a.ArtifactID]*a2a.Artifact) {
		r.Expect(artifacts).To(HaveLen(3))
		r.Expect(artifacts["data"].Parts[0].Data()).To(Equal(map[string]any{"count": 3.0}))
		r.Expect(artifacts["changes"].Parts[0].Data()).To(HaveKeyWithValue("filesCreated", []any{"count.txt"}))
	}
	expect(streamed)
	byID := func(task *a2a.Task) map[a2a.ArtifactID]*a2a.Artifact {
		artifacts := map[a2a.ArtifactID]*a2a.Artifact{}
		for _, artifact := range task.Artifacts {
			artifacts[artifact.ID] = artifact
		}
		return artifacts
	}
	read, err := client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: id})
	r.Expect(err).NotTo(HaveOccurred())
	expect(byID(read))
	var end *a2a.Task
	r.Eventually(func() bool {
		to.mu.Lock()
		defer to.mu.Unlock()
		for _, task := range to.received {
			if task.Status.State == a2a.TaskStateCompleted {
				end = task
			}
		}
		return end != nil
	}).Should(BeTrue(), "the end is notified")
	expect(byID(end))
}

func TestA2ACancelAndFailure(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	client := r.client(a2a.TransportProtocolJSONRPC)
	question := r.send(client, say("Release the notes"))
	cancelled, err := client.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: question.ID})
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(cancelled.Status.State).To(Equal(a2a.TaskStateCanceled))
	failed := r.send(client, say("Give up"))
	r.Expect(failed.Status.State).To(Equal(a2a.TaskStateFailed))
	r.Expect(textOf(failed.Status.Message.Parts)).To(ContainSubstring("It cannot be done."))
	_, err = client.SendMessage(t.Context(), replyTo(failed, a2a.NewTextPart("go on")))
	r.Expect(err).To(MatchError(a2a.ErrUnsupportedOperation))
	_, err = client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "nothing"})
	r.Expect(err).To(MatchError(a2a.ErrTaskNotFound))
}

func TestA2ABlockedRun(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "waits"}}
	role.Spec.SystemPrompt, role.Spec.ModelProvider = "You wait.", "later"
	r.Create(role)
	client, err := r.dial(r.token, "waits", a2a.TransportProtocolJSONRPC)
	r.Expect(err).NotTo(HaveOccurred())
	blocked := r.send(client, say("Say hello"))
	r.Expect(blocked.Status.State).To(Equal(a2a.TaskStateSubmitted))
	r.Expect(textOf(blocked.Status.Message.Parts)).To(ContainSubstring("later"), "what is missing")
}

func TestA2ACallerPermissions(t *testing.T) {
	t.Parallel()
	r, other := newRoom(t), newRoom(t)
	for _, token := range []string{"", "nonsense", other.token} {
		_, err := r.dial(token, "releaser", a2a.TransportProtocolJSONRPC)
		r.Expect(err).To(HaveOccurred(), "the card with the token %q", token)
	}
	_, err := r.viewer("releaser").SendMessage(t.Context(), say("Say hello"))
	r.Expect(err).To(MatchError(a2a.ErrUnauthorized))
	r.Expect(r.Standalone()).To(BeEmpty())
	_, err = r.dial(r.token, "nobody", a2a.TransportProtocolJSONRPC)
	r.Expect(err).To(MatchError(ContainSubstring("404")))
}

func TestA2ATask_CreatedAsObject(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	task := &v1beta1.AgentTask{Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "releaser", Instruction: "Release the notes"}}
	task.Namespace, task.Name = r.Namespace, "release"
	r.Create(task)
	client := r.client(a2a.TransportProtocolJSONRPC)
	r.waitForState(client, "release", a2a.TaskStateInputRequired)
	shown := r.send(client, replyTo(a2a.TaskInfo{TaskID: "release", ContextID: "release"}, a2a.NewTextPart("3.0")))
	r.Expect(textOf(shown.Status.Message.Parts)).To(ContainSubstring("box__write"))
}

// The client is that of the A2A SDK for JavaScript.
func TestA2AForeignClient(t *testing.T) {
	t.Parallel()
	for _, binding := range []string{"JSONRPC", "HTTP+JSON"} {
		t.Run(binding, func(t *testing.T) {
			r := newRoom(t)
			output := npm.Program{Dir: "a2a-sdk", Script: "client.mjs", Args: []string{r.url("releaser") + "/", binding}, Env: []string{"NESTOR_TOKEN=" + r.token}}.Output(t.Context(), t)
			r.Expect(output).To(ContainSubstring("result: Released the notes: wrote notes-1.2."))
			r.Expect(r.box.files()).To(Equal([]string{"notes-1.2"}))
		})
	}
}
