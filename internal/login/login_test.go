// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package login_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nestor-dev/nestor/internal/login"
	"github.com/nestor-dev/nestor/internal/login/logintest"
	"github.com/nestor-dev/nestor/internal/login/request"
	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/push"
)

const pageURL = "https://nestor.example.com"

// lab has the parts of a login.
type lab struct {
	*logintest.Issuer
	t       *testing.T
	secrets typedcorev1.SecretInterface
	service *login.Service
	server  login.Server

	mu  sync.Mutex
	now time.Time
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{Issuer: logintest.Start(t), t: t, now: time.Now()}
	l.secrets = newSecrets()
	l.service = l.replica()
	l.server = login.Server{Namespace: "team", Name: "files", UID: "uid-1", URL: l.Tools.URL + "/mcp?key=of-the-url"}
	return l
}

// newSecrets returns Secrets whose writes conflict as those of an API server.
func newSecrets() typedcorev1.SecretInterface {
	client := fake.NewClientset()
	var mu sync.Mutex
	version := 0
	client.PrependReactor("update", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		object := action.(clienttesting.UpdateAction).GetObject().(*corev1.Secret).DeepCopy()
		current, err := client.Tracker().Get(action.GetResource(), object.Namespace, object.Name)
		if err != nil {
			return true, nil, err
		}
		if current.(*corev1.Secret).ResourceVersion != object.ResourceVersion {
			return true, nil, apierrors.NewConflict(corev1.Resource("secrets"), object.Name, errors.New("changed meanwhile"))
		}
		version++
		object.ResourceVersion = strconv.Itoa(version)
		return true, object, client.Tracker().Update(action.GetResource(), object, object.Namespace)
	})
	return client.CoreV1().Secrets("nestor-system")
}

// replica returns a service that shares nothing with others but the API server.
func (l *lab) replica() *login.Service {
	keyring := &push.Keyring{Secrets: l.secrets, Name: "keys"}
	s := login.New(&login.Store{Secrets: l.secrets, Keys: keyring.Keys}, outbound.New(outbound.Options{AllowLoopback: true}), pageURL)
	s.Now = func() time.Time {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.now
	}
	return s
}

func (l *lab) later(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.now.Add(d)
}

func (l *lab) begin(person string) url.Values {
	l.t.Helper()
	address, err := l.service.Begin(l.t.Context(), l.server, person)
	if err != nil {
		l.t.Fatal(err)
	}
	return l.Consent(l.t, address)
}

func (l *lab) finish(s *login.Service, person string, answer url.Values) error {
	return s.Finish(l.t.Context(), l.server, person, request.Answer{
		State: answer.Get("state"), Code: answer.Get("code"), Issuer: answer.Get("iss"), Error: answer.Get("error"),
	})
}

func (l *lab) login(person string) {
	l.t.Helper()
	if err := l.finish(l.service, person, l.begin(person)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) wantToken(person, want string) {
	l.t.Helper()
	l.wantTokenAt(l.server, person, want)
}

// wantTokenAt checks the token of a person; empty means that the person has to log in.
func (l *lab) wantTokenAt(server login.Server, person, want string) {
	l.t.Helper()
	got, err := l.replica().Source(server, person).Token(l.t.Context())
	if want == "" && !login.IsLoginRequired(err) || want != "" && (got != want || err != nil) {
		l.t.Errorf("the token of %s is %q (%v), want %q", person, got, err, want)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v, want %q", err, want)
	}
	if strings.Contains(err.Error(), "very-secret") {
		t.Errorf("the error has a secret: %v", err)
	}
}

func TestLoginFollowsTheStandards(t *testing.T) {
	l := newLab(t)
	address, err := l.service.Begin(t.Context(), l.server, "alice")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	asked := u.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "client-1", "redirect_uri": pageURL + request.CallbackPath, "scope": "read", "code_challenge_method": "S256",
		"resource": l.Tools.URL + "/mcp",
	} {
		if got := asked.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if namespace, name, ok := login.ServerOf(asked.Get("state")); namespace != "team" || name != "files" || !ok {
		t.Errorf("the state names %s/%s", namespace, name)
	}
	l.wantToken("alice", "")
	if err := l.finish(l.service, "alice", l.Consent(t, address)); err != nil {
		t.Fatal(err)
	}
	l.wantToken("alice", "very-secret-access-1")
	l.wantToken("bob", "")
	if got := l.Forms[0].Get("resource"); got != l.Tools.URL+"/mcp" {
		t.Errorf("the token is for %q", got)
	}
	l.login("bob")
	if l.Clients != 1 {
		t.Errorf("%d clients are registered, want one for all people", l.Clients)
	}
}

// Another replica, which shares nothing but the API server, ends what the first one began.
func TestAnotherReplicaFinishes(t *testing.T) {
	l := newLab(t)
	answer := l.begin("alice")
	if err := l.finish(l.replica(), "alice", answer); err != nil {
		t.Fatal(err)
	}
	l.wantToken("alice", "very-secret-access-1")
}

func TestRefusedAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		person string
		change func(l *lab, answer url.Values)
		want   string
	}{
		"another person":                   {"mallory", func(*lab, url.Values) {}, "You did not begin this login"},
		"no person":                        {"", func(*lab, url.Values) {}, "You did not begin this login"},
		"another state":                    {"alice", func(_ *lab, a url.Values) { a.Set("state", a.Get("state")+"x") }, "You did not begin this login"},
		"no state":                         {"alice", func(_ *lab, a url.Values) { a.Del("state") }, "You did not begin this login"},
		"another issuer":                   {"alice", func(_ *lab, a url.Values) { a.Set("iss", "https://evil.example.com") }, "not from the authorization server"},
		"no issuer, although it names one": {"alice", func(_ *lab, a url.Values) { a.Del("iss") }, "not from the authorization server"},
		"late":                             {"alice", func(l *lab, _ url.Values) { l.later(11 * time.Minute) }, "took longer"},
		"a refusal":                        {"alice", func(_ *lab, a url.Values) { a.Set("error", "access_denied") }, "access_denied"},
		"no code":                          {"alice", func(_ *lab, a url.Values) { a.Del("code") }, "has no code"},
		"the code of another attempt":      {"alice", func(l *lab, a url.Values) { a.Set("code", l.begin("bob").Get("code")) }, "invalid_grant"},
		"an edited server":                 {"alice", func(l *lab, _ url.Values) { l.server.URL = "https://other.example.com/mcp" }, "has changed"},
		"a new server of the same name":    {"alice", func(l *lab, _ url.Values) { l.server.UID = "uid-2" }, "You did not begin this login"},
		"an issuer with another error":     {"alice", func(l *lab, _ url.Values) { l.Refuse = "very-secret" }, "gave no token (Bad Request)"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			answer := l.begin("alice")
			c.change(l, answer)
			wantError(t, l.finish(l.service, c.person, answer), c.want)
			for _, person := range []string{"alice", "bob", "mallory"} {
				l.wantToken(person, "")
			}
		})
	}
}

// The answer of mallory's browser does not end alice's attempt, and does not use it up.
func TestWrongPersonChangesNothing(t *testing.T) {
	l := newLab(t)
	answer := l.begin("alice")
	wantError(t, l.finish(l.service, "mallory", answer), "You did not begin this login")
	if err := l.finish(l.service, "alice", answer); err != nil {
		t.Fatal(err)
	}
	l.wantToken("alice", "very-secret-access-1")
	l.wantToken("mallory", "")
}

func TestAnswerIsUsedOnce(t *testing.T) {
	l := newLab(t)
	answer := l.begin("alice")
	if err := l.finish(l.service, "alice", answer); err != nil {
		t.Fatal(err)
	}
	wantError(t, l.finish(l.replica(), "alice", answer), "have ended it already")
	if got := l.TokenRequests(); got != 1 {
		t.Errorf("%d requests for tokens, want 1", got)
	}
	// An answer that failed cannot be repeated with another code either.
	answer = l.begin("alice")
	answer.Set("iss", "https://evil.example.com")
	wantError(t, l.finish(l.service, "alice", answer), "not from the authorization server")
	answer.Set("iss", l.URL)
	wantError(t, l.finish(l.service, "alice", answer), "have ended it already")
}

func TestRefusedDiscovery(t *testing.T) {
	for name, c := range map[string]struct {
		change func(l *lab)
		want   string
	}{
		// A token for the resource of another server could be used there.
		"the resource of another server": {func(l *lab) { l.Resource["resource"] = "https://bank.example.com/mcp" }, "does not publish its metadata"},
		"no authorization server":        {func(l *lab) { l.Resource["authorization_servers"] = nil }, "names no authorization server"},
		"another issuer":                 {func(l *lab) { l.Metadata["issuer"] = "https://evil.example.com" }, "does not match issuer"},
		"no PKCE":                        {func(l *lab) { l.Metadata["code_challenge_methods_supported"] = nil }, "PKCE"},
		"only plain PKCE":                {func(l *lab) { l.Metadata["code_challenge_methods_supported"] = []string{"plain"} }, "PKCE"},
		"no registration":                {func(l *lab) { l.Metadata["registration_endpoint"] = nil }, "Register one there with the redirect URL " + pageURL + "/tool-login/callback"},
		"a script":                       {func(l *lab) { l.Metadata["authorization_endpoint"] = "javascript:alert(1)" }, "disallowed scheme"},
		"an endpoint without TLS":        {func(l *lab) { l.Metadata["token_endpoint"] = "http://login.example.com/token" }, "HTTPS"},
		"an issuer without TLS":          {func(l *lab) { l.Resource["authorization_servers"] = []string{"http://login.example.com"} }, "HTTPS"},
		"no page":                        {func(l *lab) { l.service.PageURL = "" }, "--web-url"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			c.change(l)
			_, err := l.service.Begin(t.Context(), l.server, "alice")
			wantError(t, err, c.want)
		})
	}
}

// Discovery and tokens reach only the addresses that tool servers may have, and follow no redirect.
func TestAddressesAreRestricted(t *testing.T) {
	l := newLab(t)
	l.service = login.New(l.service.Store, outbound.New(outbound.Options{}), pageURL)
	_, err := l.service.Begin(t.Context(), l.server, "alice")
	wantError(t, err, "a loopback address")

	l = newLab(t)
	reached := make(chan string, 1)
	metadataService := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path }))
	defer metadataService.Close()
	l.Resource["authorization_servers"] = []string{l.Tools.URL + "/redirect"}
	redirects := l.Tools.Config.Handler
	l.Tools.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "redirect") {
			http.Redirect(w, r, metadataService.URL+"/stolen", http.StatusFound)
			return
		}
		redirects.ServeHTTP(w, r)
	})
	_, err = l.service.Begin(t.Context(), l.server, "alice")
	wantError(t, err, "cannot be used")
	select {
	case path := <-reached:
		t.Errorf("the redirect to %s is followed", path)
	default:
	}
	for _, internal := range []string{"https://169.254.169.254", "https://10.0.0.1"} {
		l.Resource["authorization_servers"] = []string{internal}
		_, err = l.service.Begin(t.Context(), l.server, "alice")
		wantError(t, err, "does not publish its metadata")
	}
}

func TestConfiguredClient(t *testing.T) {
	l := newLab(t)
	l.Metadata["registration_endpoint"] = nil
	l.Metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	l.server.ClientID, l.server.Scopes = "mine", []string{"write"}
	l.server.ClientSecret = func(context.Context) (string, error) { return "s3\n", nil }
	l.login("alice")
	form := l.Forms[0]
	if form.Get("client_id") != "mine" || form.Get("client_secret") != "s3" || l.Clients != 0 {
		t.Errorf("the form is %v, %d clients", form, l.Clients)
	}
}

// A login is bound to the URL of the server: an editor of the ToolServer cannot have the tokens sent elsewhere.
func TestTokenIsNotSentToAnotherServer(t *testing.T) {
	l := newLab(t)
	l.login("alice")
	other := l.server
	other.URL = "https://evil.example.com/mcp"
	l.wantTokenAt(other, "alice", "")
	other = l.server
	other.UID = "uid-2"
	l.wantTokenAt(other, "alice", "")
	other = l.server
	other.Namespace = "other"
	l.wantTokenAt(other, "alice", "")
	l.wantToken("alice", "very-secret-access-1")
	if id, err := l.service.LoginID(t.Context(), other, "alice"); id != "" || err != nil {
		t.Errorf("the login at another server is %q (%v)", id, err)
	}
}

// A Secret cannot be opened under the name of another person.
func TestRecordsAreSealedForTheirPerson(t *testing.T) {
	l := newLab(t)
	l.login("alice")
	list, err := l.secrets.List(t.Context(), metav1.ListOptions{LabelSelector: "nestor.dev/tool-login=uid-1"})
	if err != nil || len(list.Items) != 2 {
		t.Fatalf("%d Secrets (%v), want one of alice and one of the registration", len(list.Items), err)
	}
	i := slices.IndexFunc(list.Items, func(s corev1.Secret) bool { return s.Annotations["nestor.dev/tool-login-person"] == "alice" })
	alice := list.Items[i]
	if strings.Contains(string(alice.Data["sealed"]), "very-secret") {
		t.Error("the tokens are readable")
	}
	begun := l.begin("mallory")
	list, err = l.secrets.List(t.Context(), metav1.ListOptions{LabelSelector: "nestor.dev/tool-login=uid-1"})
	if err != nil {
		t.Fatal(err)
	}
	i = slices.IndexFunc(list.Items, func(s corev1.Secret) bool { return s.Annotations["nestor.dev/tool-login-person"] == "mallory" })
	copied := list.Items[i]
	copied.Data = alice.Data
	if _, err := l.secrets.Update(t.Context(), &copied, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.wantToken("mallory", "")
	wantError(t, l.finish(l.service, "mallory", begun), "You did not begin this login")
	// Replaced keys mean a new login, and no error for ever.
	if err := l.secrets.Delete(t.Context(), "keys", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.wantToken("alice", "")
	l.service = l.replica()
	l.login("alice")
	l.wantToken("alice", "very-secret-access-2")
}

func TestTokenIsRefreshed(t *testing.T) {
	l := newLab(t)
	l.login("alice")
	l.later(59*time.Minute + 45*time.Second)
	l.wantToken("alice", "very-secret-access-2")
	l.wantToken("alice", "very-secret-access-2")
	if form := l.Forms[1]; form.Get("resource") != l.Tools.URL+"/mcp" || form.Get("refresh_token") != "very-secret-refresh-1" || l.TokenRequests() != 2 {
		t.Errorf("the refresh is %v", form)
	}
	l.later(2 * time.Hour) // with the refresh token of the refresh
	l.wantToken("alice", "very-secret-access-3")
}

// Two replicas that need the token at the same time use the refresh token once: the issuer takes a second use for a
// theft, and would end the login.
func TestReplicasRefreshOnce(t *testing.T) {
	l := newLab(t)
	l.login("alice")
	l.later(2 * time.Hour)
	gate := make(chan struct{})
	l.Change(func() { l.Gate = gate })
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { l.wantToken("alice", "very-secret-access-2") })
	}
	close(gate)
	group.Wait()
	l.wantToken("alice", "very-secret-access-2")
}

func TestRevokedLoginIsRequiredAgain(t *testing.T) {
	l := newLab(t)
	l.login("alice")
	source := l.service.Source(l.server, "alice")
	token, err := source.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Change(func() { clear(l.Refresh) }) // the person revoked it at the issuer
	if !source.Refused(token) {
		t.Error("the source does not explain why there is no other token")
	}
	if token, err := source.Token(t.Context()); !login.IsLoginRequired(err) {
		t.Errorf("the token is %q (%v)", token, err)
	}
	l.wantToken("alice", "")
	l.login("alice")
	l.wantToken("alice", "very-secret-access-2")
}

func TestRefusedTokenIsReplacedOnce(t *testing.T) {
	l := newLab(t)
	l.login("alice")
	source := l.service.Source(l.server, "alice")
	token, _ := source.Token(t.Context())
	if !source.Refused(token) {
		t.Fatal("the first refused token is not replaced")
	}
	next, err := source.Token(t.Context())
	if next != "very-secret-access-2" || err != nil {
		t.Fatalf("the next token is %q (%v)", next, err)
	}
	if source.Refused(next) {
		t.Error("a server that refuses every token causes a refresh each time")
	}
	if !source.Refused(token) {
		t.Error("there is another token than the first")
	}
	l.later(time.Minute)
	if !source.Refused(next) {
		t.Error("a refused token is not replaced later")
	}
}

// An outage of the authorization server is no reason to log in again.
func TestOutageKeepsTheLogin(t *testing.T) {
	l := newLab(t)
	l.login("alice")
	l.later(2 * time.Hour)
	l.Change(func() { l.Refuse = "temporarily_unavailable" })
	if token, err := l.service.Source(l.server, "alice").Token(t.Context()); err == nil || login.IsLoginRequired(err) {
		t.Errorf("the token is %q (%v)", token, err)
	}
	l.Change(func() { l.Refuse = "" })
	l.wantToken("alice", "very-secret-access-2")
}

func TestLogoutRevokes(t *testing.T) {
	l := newLab(t)
	l.login("alice")
	l.login("bob")
	waiting := l.begin("alice")
	source := l.service.Source(l.server, "alice")
	if _, err := source.Token(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.replica().Logout(t.Context(), l.server, "alice"); err != nil {
		t.Fatal(err)
	}
	slices.Sort(l.Revoked)
	if got := strings.Join(l.Revoked, " "); got != "very-secret-access-1 very-secret-refresh-1" {
		t.Errorf("revoked: %s", got)
	}
	if token, err := source.Token(t.Context()); !login.IsLoginRequired(err) {
		t.Errorf("after the logout, another replica has the token %q (%v)", token, err)
	}
	wantError(t, l.finish(l.service, "alice", waiting), "You did not begin this login")
	l.wantToken("bob", "very-secret-access-2")
	if err := l.service.Logout(t.Context(), l.server, "carol"); err != nil {
		t.Errorf("a person without a login: %v", err)
	}
}

func TestAnyLoginListsTools(t *testing.T) {
	l := newLab(t)
	source := l.service.AnySource(l.server)
	_, err := source.Token(t.Context())
	if !login.IsLoginRequired(err) {
		t.Errorf("without a login: %v", err)
	}
	wantError(t, err, pageURL+"/tool-login/team/files")
	l.begin("alice") // an attempt is no login
	l.login("bob")
	if token, err := source.Token(t.Context()); token != "very-secret-access-1" || err != nil {
		t.Errorf("the token is %q (%v)", token, err)
	}
	l.login("carol")
	if err := l.service.Logout(t.Context(), l.server, "bob"); err != nil {
		t.Fatal(err)
	}
	if token, err := source.Token(t.Context()); token != "very-secret-access-2" || err != nil {
		t.Errorf("after the logout of bob, the token is %q (%v)", token, err)
	}
}
