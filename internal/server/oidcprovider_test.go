// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/test/oidcissuer"
	"github.com/nestor-dev/nestor/test/patience"
)

const chatsPath = "/k8s/apis/nestor.dev/v1beta1/namespaces/default/agentchats"

// TestOIDCProvider signs in at an issuer of others, which a real API server trusts.
func TestOIDCProvider(t *testing.T) {
	t.Parallel()
	trusted, other := startIssuer(t), startIssuer(t)
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{AuthenticationConfig: trusted.AuthenticationConfig})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	grantChats(t, cluster.Config)
	page := newPageAt(t, cluster.Config, trusted)
	alice := newVisitor(t, trusted)
	// After its start, the API server reads the issuer's keys and fills its caches.
	patience.Until(func() bool {
		alice.signIn(page, "alice")
		return alice.send(page, http.MethodGet, chatsPath, nil).Code == http.StatusOK
	})

	t.Run("groups reach RBAC", func(t *testing.T) {
		alice.expectUser(page, "oidc:alice@example.com")
		alice.expectChats(page, http.StatusOK)
		bob := newVisitor(t, trusted)
		bob.signIn(page, "bob")
		bob.expectUser(page, "oidc:bob@example.com")
		bob.expectChats(page, http.StatusForbidden)
	})
	t.Run("refresh", func(t *testing.T) {
		alice.t = t
		before := alice.cookies["__Host-nestor-session"].Value
		page.later(time.Hour)
		alice.expectUser(page, "")
		alice.refresh(page, http.StatusNoContent)
		page.later(0)
		alice.expectUser(page, "oidc:alice@example.com")
		alice.expectChats(page, http.StatusOK)
		if alice.cookies["__Host-nestor-session"].Value == before {
			t.Error("the session was not replaced")
		}
	})
	t.Run("sign-out", func(t *testing.T) {
		alice.t = t
		thief := newVisitor(t, trusted)
		maps.Copy(thief.cookies, alice.cookies)
		if got := alice.send(page, http.MethodPost, "/api/logout", nil); got.Code != http.StatusNoContent {
			t.Errorf("got %d: %s", got.Code, got.Body)
		}
		alice.expectUser(page, "")
		page.later(time.Hour)
		thief.refresh(page, http.StatusUnauthorized) // the refresh token is revoked
		page.later(0)
		alice.signIn(page, "bob") // the issuer has a session of alice, and asks for credentials
		alice.expectUser(page, "oidc:bob@example.com")
	})
	t.Run("an issuer that the API server does not trust", func(t *testing.T) {
		carol, elsewhere := newVisitor(t, other), newPageAt(t, cluster.Config, other)
		carol.signIn(elsewhere, "carol")
		advice := "configure the API server with the issuer " + other.URL + " and the audience " + oidcissuer.ClientID
		if reason := carol.expectUser(elsewhere, ""); !strings.Contains(reason, advice) {
			t.Errorf("got %s, want %q", reason, advice)
		}
	})
}

func startIssuer(t *testing.T) *oidcissuer.Issuer {
	t.Helper()
	started, stop := oidcissuer.Start(t.Context(), t, t.TempDir())
	t.Cleanup(stop)
	return started
}

// grantChats lets the group of alice list chats.
func grantChats(t *testing.T, config *rest.Config) {
	t.Helper()
	rbac := kubernetes.NewForConfigOrDie(config).RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "chats"}}
	role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{"nestor.dev"}, Resources: []string{"agentchats"}, Verbs: []string{"list"}}}
	if _, err := rbac.Roles("default").Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "chats"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "chats"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: oidcissuer.Group}},
	}
	if _, err := rbac.RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func newPageAt(t *testing.T, api *rest.Config, at *oidcissuer.Issuer) *replica {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "client-secret")
	if err := os.WriteFile(secret, []byte(oidcissuer.ClientSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	return replicaWith(t, api, OIDC{
		Issuer: at.URL, ClientID: oidcissuer.ClientID, ClientSecretFile: secret, CAFile: at.CAFile,
		Scopes: []string{"openid", "email", "groups"}, SessionLength: 12 * time.Hour,
	}, newKey())
}

// visitor is a browser that also signs in at an issuer.
type visitor struct {
	*browser
	client *http.Client
}

func newVisitor(t *testing.T, at *oidcissuer.Issuer) *visitor {
	t.Helper()
	authority, err := os.ReadFile(at.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	stopAtPage := func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), testPage) {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return &visitor{browser: newBrowser(t), client: &http.Client{Transport: transport, Jar: jar, CheckRedirect: stopAtPage}}
}

var (
	formAction  = regexp.MustCompile(`<form [^>]*action="([^"]+)"`)
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]+)"`)
)

// signIn fills in the issuer's forms until it leads back to the page. If the issuer has a session of the visitor, it has
// no forms.
func (v *visitor) signIn(page *replica, name string) {
	v.t.Helper()
	begun := v.send(page, http.MethodGet, signInPath+"?return=/start", nil)
	response, err := v.client.Get(begun.Header().Get("Location"))
	for range 4 {
		if err != nil {
			v.t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if back := response.Header.Get("Location"); strings.HasPrefix(back, testPage) {
			to, err := url.Parse(back)
			if err != nil {
				v.t.Fatal(err)
			}
			if path := v.comeBack(page, to.Query()); path != "/start" {
				v.t.Errorf("it leads to %q", path)
			}
			return
		}
		form := formAction.FindSubmatch(text)
		if form == nil {
			v.t.Fatalf("got %d: %s", response.StatusCode, text)
		}
		fields := url.Values{"login": {name}, "password": {"any"}, "logout": {"yes"}} // it ends the session of another person
		for _, field := range hiddenField.FindAllSubmatch(text, -1) {
			fields.Set(string(field[1]), string(field[2]))
		}
		response, err = v.client.PostForm(string(form[1]), fields)
	}
	v.t.Fatal("the issuer always shows another form")
}

func (v *visitor) expectChats(page *replica, want int) {
	v.t.Helper()
	if got := v.send(page, http.MethodGet, chatsPath, nil); got.Code != want {
		v.t.Errorf("got %d, want %d: %s", got.Code, want, got.Body)
	}
}

func (b *browser) refresh(page *replica, want int) {
	b.t.Helper()
	if got := b.send(page, http.MethodPost, "/api/oidc/refresh", nil); got.Code != want {
		b.t.Errorf("got %d %s, want %d", got.Code, got.Body, want)
	}
}
