// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/push"
	"github.com/nestor-dev/nestor/test/npm"
)

// receiver receives push notifications and verifies them with the gateway's public keys.
type receiver struct {
	*httptest.Server
	gateway string

	mu       sync.Mutex
	received []*a2a.Task
	invalid  []error
}

func (r *room) receiver() *receiver {
	v := &receiver{gateway: r.GatewayURL}
	v.Server = httptest.NewServer(v)
	r.t.Cleanup(v.Close)
	return v
}

// ServeHTTP implements http.Handler.
func (v *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	task, err := v.verify(req)
	v.mu.Lock()
	defer v.mu.Unlock()
	if errors.Is(err, errNoKeys) { // the operator was killed meanwhile; the next one sends it again
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if err != nil {
		v.invalid = append(v.invalid, err)
		w.WriteHeader(http.StatusForbidden)
		return
	}
	v.received = append(v.received, task)
}

// verify returns the task of a notification with a valid signature.
func (v *receiver) verify(req *http.Request) (*a2a.Task, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	claims, err := v.claims(token)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(body)
	now := time.Now().Unix()
	if claims.Audience != req.Host || claims.Body != hex.EncodeToString(digest[:]) || claims.IssuedAt > now+60 || claims.Expires < now || claims.ID == "" ||
		claims.Issuer != "https://nestor-gateway.nestor-system.svc" {
		return nil, fmt.Errorf("the claims are %+v", claims)
	}
	var event a2a.StreamResponse
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	task, ok := event.Event.(*a2a.Task)
	if !ok || claims.Task != string(task.ID) || req.Header.Get("X-A2A-Notification-Token") != "t0ken" {
		return nil, fmt.Errorf("task %q, %T, headers %v", claims.Task, event.Event, req.Header)
	}
	return task, nil
}

var errNoKeys = errors.New("the keys of the gateway cannot be read")

func (v *receiver) keys() (published push.JWKS, err error) {
	reply, err := http.Get(v.gateway + "/.well-known/jwks.json")
	if err != nil {
		return published, errors.Join(errNoKeys, err)
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode >= http.StatusInternalServerError {
		return published, errors.Join(errNoKeys, err)
	}
	return published, json.Unmarshal(text, &published)
}

// claims returns the claims of a token whose signature is valid.
func (v *receiver) claims(token string) (*push.Claims, error) {
	published, err := v.keys()
	if err != nil {
		return nil, err
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(published.Keys) != 1 {
		return nil, fmt.Errorf("token %q, keys %v", token, published)
	}
	decoded := make([][]byte, 5)
	for i, text := range append(parts, published.Keys[0].X, published.Keys[0].Y) {
		if decoded[i], err = base64.RawURLEncoding.DecodeString(text); err != nil {
			return nil, err
		}
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, decoded[3]...), decoded[4]...))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if len(decoded[2]) != 64 || !ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(decoded[2][:32]), new(big.Int).SetBytes(decoded[2][32:])) {
		return nil, errors.New("the signature is not valid")
	}
	claims := &push.Claims{}
	return claims, json.Unmarshal(decoded[1], claims)
}

// states returns the notified states of a task without repetitions, and an error if a notification was not valid.
func (v *receiver) states(task a2a.TaskID) ([]string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var states []string
	for _, received := range v.received {
		if received.ID != task {
			continue
		}
		state := string(received.Status.State)
		if received.Status.Message != nil {
			state += " " + textOf(received.Status.Message.Parts)
		}
		if len(received.Artifacts) > 0 {
			state += " " + textOf(received.Artifacts[0].Parts)
		}
		states = append(states, state)
	}
	return slices.Compact(states), errors.Join(v.invalid...)
}

// waitForNotified waits for the notification of a state. The operator misses states that a task leaves immediately.
func (r *room) waitForNotified(by *receiver, task a2a.TaskID, state string) {
	r.t.Helper()
	r.Eventually(func() ([]string, error) { return by.states(task) }).Should(ContainElement(ContainSubstring(state)))
}

// registered adds a configuration for push notifications to a request.
func registered(req *a2a.SendMessageRequest, config *a2a.PushConfig) *a2a.SendMessageRequest {
	req.Config = &a2a.SendMessageConfig{PushConfig: config}
	return req
}

func TestA2APushNotifications(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	client, to := r.client(a2a.TransportProtocolHTTPJSON), r.receiver()
	question := r.send(client, registered(say("Release the notes"), &a2a.PushConfig{ID: "mine", URL: to.URL + "/hook", Token: "t0ken"}))
	r.Eventually(func() ([]string, error) { return to.states(question.ID) }).Should(ContainElement("TASK_STATE_INPUT_REQUIRED Which version?"))
	stored, err := r.Task(string(question.ID))()
	r.Expect(err).NotTo(HaveOccurred())
	text, err := json.Marshal(stored)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(string(text)).To(ContainSubstring(to.URL))
	r.Expect(string(text)).NotTo(ContainSubstring("t0ken"))

	// A client that registers later receives the current state immediately.
	second, late := r.client(a2a.TransportProtocolJSONRPC), r.receiver()
	created, err := second.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: question.ID, URL: late.URL, Token: "t0ken"})
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(created.ID).NotTo(BeEmpty())
	r.Eventually(func() ([]string, error) { return late.states(question.ID) }).Should(Equal([]string{"TASK_STATE_INPUT_REQUIRED Which version?"}))

	approval := r.send(client, replyTo(question, a2a.NewTextPart("1.2")))
	r.waitForNotified(to, question.ID, "INPUT_REQUIRED releaser wants to run box__write")
	r.Expect(r.send(client, replyTo(question, decide(approval, "approve"))).Status.State).To(Equal(a2a.TaskStateCompleted))
	r.waitForNotified(to, question.ID, "COMPLETED Released.")
	states, err := to.states(question.ID)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(states[len(states)-1]).To(ContainSubstring("COMPLETED"), "the end is the last notification")
	r.Eventually(func() (map[string]push.Record, error) {
		task, err := r.Task(string(question.ID))()
		return push.Records(task), err
	}).Should(Equal(map[string]push.Record{"mine": {State: "TASK_STATE_COMPLETED"}, created.ID: {State: "TASK_STATE_COMPLETED"}}))
}

func TestA2APushConfigs(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	client := r.client(a2a.TransportProtocolJSONRPC)
	question := r.send(client, say("Release the notes"))
	for _, bad := range []*a2a.PushConfig{
		{URL: "http://169.254.169.254/latest/meta-data"}, {URL: "ftp://127.0.0.1/"}, {URL: ""}, {URL: "http://user:secret@127.0.0.1/"},
		{URL: "http://127.0.0.1/", ID: "a b"}, {URL: "http://127.0.0.1/", Token: "a\nb"}, {URL: "http://127.0.0.1/" + strings.Repeat("a", push.MaxURL)},
		{URL: "http://127.0.0.1/", Auth: &a2a.PushAuthInfo{Scheme: "Digest", Credentials: "x"}},
	} {
		bad.TaskID = question.ID
		_, err := client.CreateTaskPushConfig(t.Context(), bad)
		r.Expect(err).To(MatchError(a2a.ErrInvalidParams), "%+v", bad)
	}
	for i := range push.MaxConfigs {
		_, err := client.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: question.ID, ID: fmt.Sprint("c", i), URL: "http://127.0.0.1:1/"})
		r.Expect(err).NotTo(HaveOccurred())
	}
	_, err := client.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: question.ID, ID: "more", URL: "http://127.0.0.1:1/"})
	r.Expect(err).To(MatchError(ContainSubstring("at most 4")))
	r.Expect(client.DeleteTaskPushConfig(t.Context(), &a2a.DeleteTaskPushConfigRequest{TaskID: question.ID, ID: "c0"})).To(Succeed())
	list, err := client.ListTaskPushConfigs(t.Context(), &a2a.ListTaskPushConfigRequest{TaskID: question.ID})
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(list).To(HaveLen(push.MaxConfigs - 1))
	_, err = client.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigRequest{TaskID: question.ID, ID: "c0"})
	r.Expect(err).To(HaveOccurred())

	_, err = r.viewer("releaser").CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: question.ID, ID: "viewer", URL: "http://127.0.0.1:1/"})
	r.Expect(err).To(MatchError(a2a.ErrUnauthorized))
}

// Receivers that hang, redirect, or respond without end do not affect another one. A sealed token that is copied to
// another URL is not sent.
func TestA2AHostileReceivers(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	good, stop := r.receiver(), make(chan struct{})
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/redirects":
			http.Redirect(w, req, r.GatewayURL, http.StatusTemporaryRedirect)
		case "/huge":
			for req.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case "/steals":
			t.Errorf("the token was sent to another URL: %v", req.Header)
		default:
			<-stop
		}
	}))
	t.Cleanup(hostile.Close)
	t.Cleanup(func() { close(stop) })
	client := r.client(a2a.TransportProtocolJSONRPC)
	question := r.send(client, registered(say("Release the notes"), &a2a.PushConfig{ID: "good", URL: good.URL, Token: "t0ken"}))
	for _, path := range []string{"hangs", "redirects", "huge"} {
		_, err := client.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: question.ID, ID: path, URL: hostile.URL + "/" + path})
		r.Expect(err).NotTo(HaveOccurred())
	}
	thief := &v1beta1.AgentTask{Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "releaser", Instruction: "Say hello"}}
	thief.Namespace, thief.Name = r.Namespace, "thief"
	victim, err := r.Task(string(question.ID))()
	r.Expect(err).NotTo(HaveOccurred())
	stolen := push.Read(victim)[:1]
	stolen[0].URL = hostile.URL + "/steals"
	r.Expect(push.Write(thief, stolen)).To(Succeed())
	r.Create(thief)

	approval := r.send(client, replyTo(question, a2a.NewTextPart("1.2")))
	r.send(client, replyTo(question, decide(approval, "approve")))
	r.Eventually(func() ([]string, error) { return good.states(question.ID) }).Should(ContainElement(ContainSubstring("COMPLETED")))
	r.Eventually(func() (map[string]push.Record, error) {
		task, err := r.Task(string(question.ID))()
		return push.Records(task), err
	}).Should(And(HaveKeyWithValue("good", push.Record{State: "TASK_STATE_COMPLETED"}), HaveKeyWithValue("huge", push.Record{State: "TASK_STATE_COMPLETED"})))
	// The redirect is tried again, like every failure, and only the log has the cause.
	r.Eventually(r.OperatorLog).Should(ContainSubstring("the receiver answered with status 307: redirects are not followed"))
	r.Eventually(func() (string, error) {
		task, err := r.Task("thief")()
		return push.Records(task)["good"].Error, err
	}).Should(ContainSubstring("cannot be read"))
	r.Expect(r.OperatorLog()).NotTo(ContainSubstring("t0ken"))
}

// The client is that of the A2A SDK for JavaScript, and verifies with the library jose.
func TestA2APushForeignClient(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	output := npm.Program{Dir: "a2a-sdk", Script: "push.mjs", Args: []string{r.GatewayURL, r.url("releaser") + "/"}, Env: []string{"NESTOR_TOKEN=" + r.token}}.Output(t.Context(), t)
	r.Expect(output).To(Equal("notified: Which version?\ncancelled\n"))
}
