// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/world"
)

const released = "Released the notes: wrote notes-1.2."

// A run starts over A2A, a decision comes over the Kubernetes API, and the end is read over A2A and the OpenAI API.
// The test has its own stack, because the others need their operator.
func TestRunSurvivesTheOperator(t *testing.T) {
	t.Parallel()
	own := world.Start(t, options())
	r := newRoomIn(t, own)
	remote := r.client(a2a.TransportProtocolJSONRPC)
	to := r.receiver()
	question, err := lastStatus(remote.SendStreamingMessage(t.Context(), registered(say("Release the notes"), &a2a.PushConfig{URL: to.URL, Token: "t0ken"})))
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(question.state).To(Equal(a2a.TaskStateInputRequired))
	r.Expect(question.message).To(ContainSubstring("Which version?"))
	r.waitForNotified(to, a2a.TaskID(question.task), "INPUT_REQUIRED Which version?")

	r.killDuring(remote, question)
	r.Expect(own.StartOperator(t.Context())).To(Succeed())
	r.Expect(own.StartGateway(t.Context())).To(Succeed())
	r.Expect(r.box.files()).To(BeEmpty(), "nothing is written before the approval")

	entered, release := r.box.hold()
	r.waitForNotified(to, a2a.TaskID(question.task), "INPUT_REQUIRED releaser wants to run box__write")
	r.Decide(question.task, r.WaitForApproval(question.task), v1beta1.DecisionApprove, "")
	r.Eventually(entered).Should(Receive(), "the approved call runs")
	r.WaitForPhase(question.task, v1beta1.TaskRunning)
	ended, err := lastStatus(func(yield func(a2a.Event, error) bool) {
		for event, err := range remote.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(question.task)}) {
			if release != nil {
				close(release) // the subscription has begun
				release = nil
			}
			if !yield(event, err) {
				return
			}
		}
	})
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(ended.state).To(Equal(a2a.TaskStateCompleted))
	r.Expect(ended.artifact).To(Equal(released))

	r.waitForNotified(to, a2a.TaskID(question.task), "COMPLETED Released.")
	status, answer := r.openAIResponse(question.task)
	r.Expect(status).To(Equal("completed"))
	r.Expect(answer).To(Equal(released))
	r.Expect(r.box.files()).To(Equal([]string{"notes-1.2"}), "the tool ran once")
	r.Expect(r.Standalone()).To(HaveLen(1))
}

// killDuring answers the question of a run, and kills the operator and the gateway while the stream of the answer is
// open. The model is stopped meanwhile, so that the run cannot reach its next ask.
func (r *room) killDuring(remote *a2aclient.Client, question shownTask) {
	r.t.Helper()
	r.Expect(r.Model.Signal(syscall.SIGSTOP)).To(Succeed())
	answer := replyTo(a2a.TaskInfo{TaskID: a2a.TaskID(question.task), ContextID: question.context}, a2a.NewTextPart("1.2"))
	opened := false
	last, _ := lastStatus(func(yield func(a2a.Event, error) bool) { // clients may report the end of the connection as an error
		for event, err := range remote.SendStreamingMessage(r.t.Context(), answer) {
			if !opened {
				r.Expect(err).NotTo(HaveOccurred())
				opened = true
				r.Expect(r.Operator.Kill()).To(Succeed())
				r.Expect(r.Gateway.Kill()).To(Succeed())
			}
			if !yield(event, err) {
				return
			}
		}
	})
	r.Expect(opened).To(BeTrue(), "the stream was open")
	r.Expect(last.state).To(BeElementOf(a2a.TaskStateWorking, a2a.TaskStateSubmitted), "the stream broke off")
	r.Expect(r.Model.Signal(syscall.SIGCONT)).To(Succeed())
}

// bearer adds a token to requests.
type bearer string

// RoundTrip implements http.RoundTripper.
func (token bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(req)
}

// shownTask is a task as a stream shows it.
type shownTask struct {
	task, context     string
	state             a2a.TaskState
	message, artifact string
}

// lastStatus reads a stream to its end.
func lastStatus(events func(yield func(a2a.Event, error) bool)) (shownTask, error) {
	var s shownTask
	for event, err := range events {
		if err != nil {
			return s, err
		}
		switch e := event.(type) {
		case *a2a.Task:
			s.task, s.context, s.state = string(e.ID), e.ContextID, e.Status.State
		case *a2a.TaskStatusUpdateEvent:
			s.state, s.message = e.Status.State, ""
			if e.Status.Message != nil {
				s.message = textOf(e.Status.Message.Parts)
			}
		case *a2a.TaskArtifactUpdateEvent:
			if !e.Append {
				s.artifact = ""
			}
			s.artifact += textOf(e.Artifact.Parts)
		}
	}
	return s, nil
}

func textOf(parts a2a.ContentParts) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(part.Text())
	}
	return b.String()
}

// openAIResponse reads a run over the OpenAI API. The ID of a response contains the run, whichever protocol started
// it.
func (r *room) openAIResponse(task string) (status, text string) {
	r.t.Helper()
	reference, err := json.Marshal(map[string]string{"n": r.Namespace, "t": task})
	r.Expect(err).NotTo(HaveOccurred())
	code, body := r.raw(http.MethodGet, "/v1/responses/resp_"+base64.RawURLEncoding.EncodeToString(reference), "")
	r.Expect(code).To(Equal(http.StatusOK), body)
	var answer responded
	r.Expect(json.Unmarshal([]byte(body), &answer)).To(Succeed())
	r.Expect(answer.Output).To(HaveLen(1))
	return answer.Status, answer.text()
}
