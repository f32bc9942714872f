// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cloudevents "github.com/cloudevents/sdk-go/v2/protocol/http"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/trigger"
)

const secret = "It's a Secret to Everybody"

// triggers have a trigger for each format, whose name is that of the format in lower case. They record firings.
type triggers struct {
	mu       sync.Mutex
	fired    []trigger.Firing
	decision trigger.Decision
	err      error
}

func (t *triggers) Trigger(_ context.Context, name types.NamespacedName) (*v1beta1.AgentTrigger, error) {
	found := &v1beta1.AgentTrigger{}
	found.Namespace, found.Name = name.Namespace, name.Name
	for _, f := range []v1beta1.WebhookFormat{v1beta1.WebhookGeneric, v1beta1.WebhookGitHub, v1beta1.WebhookAlertmanager, v1beta1.WebhookCloudEvents} {
		if strings.EqualFold(string(f), name.Name) {
			found.Spec.Webhook = &v1beta1.TriggerWebhook{Format: f, SecretKeyRef: v1beta1.SecretKeyRef{Name: "hook", Key: "token"}}
		}
	}
	switch name.Name {
	case "missing":
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "agenttriggers"}, name.Name)
	case "no-secret", "empty-secret":
		found.Spec.Webhook = &v1beta1.TriggerWebhook{SecretKeyRef: v1beta1.SecretKeyRef{Name: name.Name}}
	}
	return found, nil
}

func (t *triggers) Secret(_ context.Context, _ string, ref v1beta1.SecretKeyRef) (string, error) {
	switch ref.Name {
	case "no-secret":
		return "", errors.New("there is no such Secret")
	case "empty-secret":
		return "", nil
	}
	return secret + "\n", nil
}

func (t *triggers) Fire(_ context.Context, _ types.NamespacedName, _ types.UID, f trigger.Firing) (trigger.Decision, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fired = append(t.fired, f)
	if t.decision.Outcome == "" {
		return trigger.Decision{Outcome: trigger.Fired, Name: "review-abc"}, t.err
	}
	return t.decision, t.err
}

// serveHooks returns the address of a server that delivers what it gets, as the gateway does.
func serveHooks(t *testing.T, all *triggers) string {
	t.Helper()
	receiver, mux := New(all), http.NewServeMux()
	mux.HandleFunc("POST /hooks/{namespace}/{trigger}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		receipt, err := receiver.Deliver(r.Context(), intake.Webhook{
			Namespace: r.PathValue("namespace"), Trigger: r.PathValue("trigger"), Header: r.Header, Body: body,
		})
		problem := gateway.ProblemOf(err)
		switch {
		case err != nil:
			gateway.WriteJSON(w, problem.Code, map[string]string{"error": problem.Message})
		case receipt.Outcome == trigger.Fired:
			gateway.WriteJSON(w, http.StatusAccepted, receipt)
		default:
			gateway.WriteJSON(w, http.StatusOK, receipt)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func sign(body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func signedRequest(t *testing.T, url, body, id string, at time.Time, headers ...string) *http.Request {
	t.Helper()
	r := newRequest(t, url, body, append([]string{"Authorization", ""}, headers...)...)
	setSignature(r, body, id, at)
	return r
}

func setSignature(r *http.Request, body, id string, at time.Time) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(id + "." + seconds + "." + body))
	r.Header.Set(idHeader, id)
	r.Header.Set(timeHeader, seconds)
	r.Header.Set(intake.OwnSignature, "v1,bm90IHRoaXMgb25l v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// with changes a header of a request after it was signed.
func with(r *http.Request, name, value string) *http.Request {
	r.Header.Set(name, value)
	return r
}

// newRequest returns a request with a token, and further headers as pairs.
func newRequest(t *testing.T, url, body string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Del(headers[i]); headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

// send sends a request, and returns the status and the body.
func send(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

const (
	gitHubBody = `{"action": "opened", "number": 7}`
	alertBody  = `{"version": "4", "groupKey": "{}:{alertname=\"Slow\"}", "status": "firing", "alerts": [
		{"status": "firing", "fingerprint": "b", "startsAt": "2026-11-16T10:00:00Z"}, {"status": "firing", "fingerprint": "a", "startsAt": "2026-11-16T10:00:00Z"}]}`
)

func gitHubRequest(t *testing.T, url, delivery string) *http.Request {
	t.Helper()
	return newRequest(t, url+"/hooks/team/github", gitHubBody, "Authorization", "", "X-GitHub-Event", "pull_request", "X-GitHub-Delivery", delivery, intake.GitHubSignature, sign(gitHubBody))
}

// TestSignatureOfGitHubsDocumentation uses the example in the documentation of GitHub.
func TestSignatureOfGitHubsDocumentation(t *testing.T) {
	header := http.Header{}
	header.Set(intake.GitHubSignature, "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
	if !signsBody(header, secret, []byte("Hello, World!")) {
		t.Error("the signature is refused")
	}
}

func TestGitHubEventFires(t *testing.T) {
	all := &triggers{}
	url := serveHooks(t, all)
	code, text := send(t, gitHubRequest(t, url, "72d3162e"))
	if code != http.StatusAccepted || !strings.Contains(text, `"name":"review-abc"`) {
		t.Fatalf("%d %s", code, text)
	}
	f := all.fired[0]
	body, _ := f.Input.Body.(map[string]any)
	if body["action"] != "opened" || body["number"] != int64(7) || f.Input.Headers["x-github-event"] != "pull_request" {
		t.Errorf("the firing is %+v", f)
	}
	// The signature covers the body alone: another delivery id does not make it another firing.
	if code, text := send(t, gitHubRequest(t, url, "another")); code != http.StatusAccepted || all.fired[1].ID != f.ID {
		t.Errorf("a replay: %d %s %v", code, text, all.fired)
	}
	for name := range f.Input.Headers {
		if strings.Contains(name, "signature") || name == "authorization" {
			t.Errorf("expressions see the header %s", name)
		}
	}
	code, text = send(t, newRequest(t, url+"/hooks/team/github", gitHubBody, "X-GitHub-Event", "ping", "X-GitHub-Delivery", "1", intake.GitHubSignature, sign(gitHubBody)))
	if code != http.StatusOK || len(all.fired) != 2 {
		t.Errorf("a ping: %d %s, %d firings", code, text, len(all.fired))
	}
}

func TestRefusedRequestsFireNothing(t *testing.T) {
	all := &triggers{}
	url := serveHooks(t, all) + "/hooks/team/"
	now := time.Now()
	for name, c := range map[string]struct {
		request *http.Request
		code    int
		text    string
	}{
		"no such trigger":       {newRequest(t, url+"missing", "{}"), 401, "no such webhook"},
		"not a webhook":         {newRequest(t, url+"schedule", "{}"), 401, "no such webhook"},
		"no Secret":             {newRequest(t, url+"no-secret", "{}"), 401, "no such webhook"},
		"empty Secret":          {newRequest(t, url+"empty-secret", "{}", "Authorization", "Bearer "), 401, "no such webhook"},
		"no token":              {newRequest(t, url+"generic", "{}", "Authorization", ""), 401, "no such webhook"},
		"wrong token":           {newRequest(t, url+"generic", "{}", "Authorization", "Bearer wrong"), 401, "no such webhook"},
		"wrong password":        {newRequest(t, url+"alertmanager", alertBody, "Authorization", "Basic dXNlcjp3cm9uZw=="), 401, "no such webhook"},
		"wrong signature":       {with(signedRequest(t, url+"generic", "{}", "1", now), intake.OwnSignature, "v1,bm90IHRoaXMgb25l"), 401, "no such webhook"},
		"signature of nothing":  {newRequest(t, url+"generic", "{}", intake.OwnSignature, "v1,"), 401, "no such webhook"},
		"another id":            {with(signedRequest(t, url+"generic", "{}", "1", now), idHeader, "2"), 401, "no such webhook"},
		"no signed id":          {signedRequest(t, url+"generic", "{}", "", now), 401, "no such webhook"},
		"another time":          {with(signedRequest(t, url+"generic", "{}", "1", now), timeHeader, "1"), 401, "no such webhook"},
		"old":                   {signedRequest(t, url+"generic", "{}", "1", now.Add(-2*maxSkew)), 401, "no such webhook"},
		"from the future":       {signedRequest(t, url+"generic", "{}", "1", now.Add(2*maxSkew)), 401, "no such webhook"},
		"body signature alone":  {newRequest(t, url+"generic", "{}", "Authorization", "", intake.GitHubSignature, sign("{}")), 401, "no such webhook"},
		"GitHub, own signature": {signedRequest(t, url+"github", gitHubBody, "1", now, "X-GitHub-Delivery", "1"), 401, "no such webhook"},
		"signed, binary mode": {signedRequest(t, url+"cloudevents", "{}", "1", now, "Ce-Specversion", "1.0", "Ce-Type", "t", "Ce-Source", "s", "Ce-Id", "1"),
			400, "structured mode"},
		"GitHub with a token":   {newRequest(t, url+"github", gitHubBody, "X-GitHub-Delivery", "1"), 401, "no such webhook"},
		"GitHub, other body":    {newRequest(t, url+"github", "{}", "X-GitHub-Delivery", "1", intake.GitHubSignature, sign(gitHubBody)), 401, "no such webhook"},
		"GitHub, sha1":          {newRequest(t, url+"github", gitHubBody, "X-GitHub-Delivery", "1", "X-Hub-Signature", "sha1=0"), 401, "no such webhook"},
		"GitHub, no delivery":   {newRequest(t, url+"github", gitHubBody, intake.GitHubSignature, sign(gitHubBody)), 400, "X-GitHub-Delivery"},
		"GitHub, a form":        {newRequest(t, url+"github", "payload=", "Content-Type", "application/x-www-form-urlencoded", intake.GitHubSignature, sign("payload=")), 400, "application/json"},
		"not JSON":              {newRequest(t, url+"generic", "{"), 400, "not JSON"},
		"not from Alertmanager": {newRequest(t, url+"alertmanager", `{"alerts": []}`), 400, "not a notification"},
		"not a CloudEvent":      {newRequest(t, url+"cloudevents", `{}`, "Content-Type", "application/json"), 400, "not a CloudEvent"},
		"no id":                 {newRequest(t, url+"cloudevents", `{}`, "Ce-Specversion", "1.0", "Ce-Type", "t", "Ce-Source", "s"), 400, "not a CloudEvent"},
	} {
		code, text := send(t, c.request)
		if code != c.code || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %s", name, code, text)
		}
		if strings.Contains(text, secret) {
			t.Errorf("%s: the response has the secret", name)
		}
	}
	if len(all.fired) > 0 {
		t.Errorf("firings: %v", all.fired)
	}
}

func TestGenericRequests(t *testing.T) {
	all := &triggers{}
	url := serveHooks(t, all) + "/hooks/team/generic"
	for _, r := range []*http.Request{
		newRequest(t, url, `{"x": 1}`), newRequest(t, url, `{"x": 1}`), newRequest(t, url, `[1]`, "Idempotency-Key", "k1"),
		signedRequest(t, url, `{}`, "msg_1", time.Now(), "Idempotency-Key", "not signed"),
	} {
		if code, text := send(t, r); code != http.StatusAccepted {
			t.Errorf("%d %s", code, text)
		}
	}
	if all.fired[0].ID == all.fired[1].ID {
		t.Error("requests without a key are the same firing")
	}
	if all.fired[2].ID != "wk1" || all.fired[3].ID != "wmsg_1" {
		t.Errorf("the ids are %s and %s", all.fired[2].ID, all.fired[3].ID)
	}
}

func TestAlertmanagerRetriesAreSameFiring(t *testing.T) {
	all := &triggers{}
	url := serveHooks(t, all) + "/hooks/team/alertmanager"
	r := newRequest(t, url, alertBody, "Authorization", "")
	r.SetBasicAuth("alertmanager", secret)
	for _, r := range []*http.Request{
		newRequest(t, url, alertBody), r,
		newRequest(t, url, strings.ReplaceAll(alertBody, "firing", "resolved")), newRequest(t, url, strings.Replace(alertBody, `"b"`, `"c"`, 1)),
	} {
		if code, text := send(t, r); code != http.StatusAccepted {
			t.Fatalf("%d %s", code, text)
		}
	}
	ids := map[string]int{}
	for _, f := range all.fired {
		ids[f.ID]++
	}
	if len(ids) != 3 || all.fired[0].ID != all.fired[1].ID {
		t.Errorf("the ids are %v", ids)
	}
}

func TestCloudEventsInBothModes(t *testing.T) {
	all := &triggers{}
	url := serveHooks(t, all) + "/hooks/team/cloudevents"
	sent := event.New()
	sent.SetID("1")
	sent.SetSource("https://example.com/repository")
	sent.SetType("com.example.push")
	sent.SetSubject("main")
	sent.SetExtension("team", "a")
	if err := sent.SetData(event.ApplicationJSON, map[string]any{"commits": 3}); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []context.Context{binding.WithForceBinary(t.Context()), binding.WithForceStructured(t.Context())} {
		r := newRequest(t, url, "")
		if err := cloudevents.WriteRequest(mode, binding.ToMessage(&sent), r); err != nil {
			t.Fatal(err)
		}
		if code, text := send(t, r); code != http.StatusAccepted {
			t.Fatalf("%d %s", code, text)
		}
	}
	binary, structured := toJSON(t, all.fired[0].Input.Body), toJSON(t, all.fired[1].Input.Body)
	if binary != structured || !strings.Contains(binary, `"data":{"commits":3}`) || !strings.Contains(binary, `"team":"a"`) || !strings.Contains(binary, `"subject":"main"`) {
		t.Errorf("binary: %s\nstructured: %s", binary, structured)
	}
	if all.fired[0].ID != all.fired[1].ID || all.fired[0].ID != "whttps://example.com/repository 1" {
		t.Errorf("the ids are %s and %s", all.fired[0].ID, all.fired[1].ID)
	}
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestOutcomes checks that a sender repeats a request if and only if that helps.
func TestOutcomes(t *testing.T) {
	for outcome, want := range map[trigger.Outcome]int{
		trigger.Fired: 202, trigger.Duplicate: 200, trigger.Dropped: 200, trigger.NotMatched: 200, trigger.Suspended: 200, trigger.Wait: 503,
	} {
		code, text := send(t, newRequest(t, serveHooks(t, &triggers{decision: trigger.Decision{Outcome: outcome}})+"/hooks/team/generic", "{}"))
		if code != want {
			t.Errorf("%s: %d %s", outcome, code, text)
		}
	}
	code, text := send(t, newRequest(t, serveHooks(t, &triggers{err: errors.New("the internals of the API server")})+"/hooks/team/generic", "{}"))
	if code != http.StatusServiceUnavailable || strings.Contains(text, "internals") {
		t.Errorf("an error: %d %s", code, text)
	}
}

// TestUnknownTriggerTakesSamePath compares a trigger that does not exist with one whose signature or token is wrong,
// for requests that differ in what they carry: without anything, and with each kind of signature.
func TestUnknownTriggerTakesSamePath(t *testing.T) {
	url := serveHooks(t, &triggers{}) + "/hooks/team/"
	for name, build := range map[string]func(trigger string) *http.Request{
		"nothing": func(trigger string) *http.Request { return newRequest(t, url+trigger, "{}", "Authorization", "") },
		"wrong token": func(trigger string) *http.Request {
			return newRequest(t, url+trigger, "{}", "Authorization", "Bearer x")
		},
		"signature": func(trigger string) *http.Request {
			return newRequest(t, url+trigger, "{}", intake.OwnSignature, "v1,x")
		},
		"GitHub": func(trigger string) *http.Request {
			return newRequest(t, url+trigger, "{}", intake.GitHubSignature, "sha256=x")
		},
	} {
		wantCode, wantText := send(t, build("missing"))
		for _, trigger := range []string{"generic", "github", "cloudevents", "schedule", "no-secret"} {
			if code, text := send(t, build(trigger)); code != wantCode || text != wantText {
				t.Errorf("%s, %s: %d %s, and for no trigger %d %s", name, trigger, code, text, wantCode, wantText)
			}
		}
	}
}
