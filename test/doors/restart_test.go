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

// TestRunSurvivesTheOperator starts a run over A2A, kills the operator and the gateway while its stream is open, decides with the Kubernetes API, and reads
// the end over A2A and the OpenAI API. It has a stack of its own, because the other tests need their operator.
func TestRunSurvivesTheOperator(t *testing.T) {
	t.Parallel()
	own := world.Start(t, options())
	r := newRoomIn(t, own)
	remote := r.client(a2a.TransportProtocolJSONRPC)
	to := r.receiver()
	asked, err := lastStatus(remote.SendStreamingMessage(t.Context(), registered(say("Release the notes"), &a2a.PushConfig{URL: to.URL, Token: "t0ken"})))
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(asked.state).To(Equal(a2a.TaskStateInputRequired))
	r.Expect(asked.message).To(ContainSubstring("Which version?"))
	r.waitForNotified(to, a2a.TaskID(asked.task), "INPUT_REQUIRED Which version?")

	r.killDuring(remote, asked)
	r.Expect(own.StartOperator(t.Context())).To(Succeed())
	r.Expect(own.StartGateway(t.Context())).To(Succeed())
	r.Expect(r.box.files()).To(BeEmpty(), "nothing is written before the approval")

	entered, release := r.box.hold()
	r.waitForNotified(to, a2a.TaskID(asked.task), "INPUT_REQUIRED releaser wants to run box__write")
	r.Decide(asked.task, r.WaitForApproval(asked.task), v1beta1.DecisionApprove, "")
	r.Eventually(entered).Should(Receive(), "the approved call runs")
	r.WaitForPhase(asked.task, v1beta1.TaskRunning)
	ended, err := lastStatus(func(yield func(a2a.Event, error) bool) {
		for event, err := range remote.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(asked.task)}) {
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

	r.waitForNotified(to, a2a.TaskID(asked.task), "COMPLETED Released.")
	status, answer := r.openAIResponse(asked.task)
	r.Expect(status).To(Equal("completed"))
	r.Expect(answer).To(Equal(released))
	r.Expect(r.box.files()).To(Equal([]string{"notes-1.2"}), "the tool ran once")
	r.Expect(r.Standalone()).To(HaveLen(1))
}

// killDuring answers the question of a run, and kills the operator and the gateway while the stream of the answer is open. The model is stopped meanwhile,
// so that the run cannot come to its next ask.
func (r *room) killDuring(remote *a2aclient.Client, asked seen) {
	r.t.Helper()
	r.Expect(r.Model.Signal(syscall.SIGSTOP)).To(Succeed())
	answer := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("1.2"))
	answer.TaskID, answer.ContextID = a2a.TaskID(asked.task), asked.context
	opened := false
	last, _ := lastStatus(func(yield func(a2a.Event, error) bool) { // clients may report the end of the connection as an error
		for event, err := range remote.SendStreamingMessage(r.t.Context(), &a2a.SendMessageRequest{Message: answer}) {
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

// seen is what a stream showed of a task.
type seen struct {
	task, context     string
	state             a2a.TaskState
	message, artifact string
}

// lastStatus reads a stream to its end.
func lastStatus(events func(yield func(a2a.Event, error) bool)) (seen, error) {
	var s seen
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

// openAIResponse reads a run over the OpenAI API. The ID of a response contains the run, whichever protocol started it.
func (r *room) openAIResponse(task string) (status, text string) {
	r.t.Helper()
	reference, err := json.Marshal(map[string]string{"n": r.Namespace, "t": task})
	r.Expect(err).NotTo(HaveOccurred())
	id := "resp_" + base64.RawURLEncoding.EncodeToString(reference)
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.GatewayURL+"/v1/responses/"+id, http.NoBody)
	r.Expect(err).NotTo(HaveOccurred())
	got, err := (&http.Client{Transport: bearer(r.token)}).Do(req)
	r.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = got.Body.Close() }()
	r.Expect(got.StatusCode).To(Equal(http.StatusOK))
	var body struct {
		Status string `json:"status"`
		Output []struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"output"`
	}
	r.Expect(json.NewDecoder(got.Body).Decode(&body)).To(Succeed())
	r.Expect(body.Output).To(HaveLen(1))
	r.Expect(body.Output[0].Content).To(HaveLen(1))
	return body.Status, body.Output[0].Content[0].Text
}
