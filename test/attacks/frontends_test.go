// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"

	"github.com/nestor-dev/nestor/test/ports"
	"github.com/nestor-dev/nestor/test/stack"
	"github.com/nestor-dev/nestor/test/world"
)

// frontends are the endpoints for people: the web page, and the history API behind the API server.
type frontends struct {
	*target
	page, history string
}

// frontends starts a stack that serves the page and the history API; all attacks on them share it.
func (w *target) frontends(t *testing.T) *frontends {
	t.Helper()
	return w.frontendsStack.Get(t, w.t, w.startFrontends)
}

func (w *target) startFrontends(t testing.TB) *frontends {
	g := world.Expecting(t)
	d := &frontends{}
	var err error
	d.page, err = ports.Free(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	d.history, err = ports.Free(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	served := w.own(t, func(o *stack.Options) {
		o.NoOperator = true
		o.OperatorFlags = append(o.OperatorFlags, "--history-bind-address", d.history)
	})
	g.Expect(served.RegisterHistory(t.Context(), d.history)).To(Succeed())
	g.Expect(served.StartOperator(t.Context())).To(Succeed())
	_, err = served.LaunchGateway(t.Context(), "--web-bind-address", d.page)
	g.Expect(err).NotTo(HaveOccurred())
	api, err := kubernetes.NewForConfig(served.Cluster.Config)
	g.Expect(err).NotTo(HaveOccurred())
	answered := 0 // several times in a row: the API server may have cached that the operator was unavailable
	g.Eventually(func() (int, error) {
		_, err := api.CoreV1().RESTClient().Get().AbsPath(historyAPI + "/modelcalls").DoRaw(t.Context())
		if answered++; err != nil {
			answered = 0
		}
		return answered, err
	}).Should(BeNumerically(">=", 10))
	d.target = served
	return d
}

// token creates a person with a role in the room, and returns the person's name and token.
func (r *testNamespace) token(person, role string) (name, token string) {
	r.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: person}}
	r.Create(account, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "account-" + person},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: r.Namespace, Name: person}},
	})
	name = serviceaccount.MakeUsername(r.Namespace, person)
	r.Expect(r.AwaitRole(r.t.Context(), r.Namespace, name, role)).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	r.Expect(r.API.SubResource("token").Create(r.t.Context(), account, request)).To(Succeed())
	return name, request.Status.Token
}

type reply struct {
	code   int
	header http.Header
	body   string
	// more is the rest of a stream, closed by end.
	more io.Reader
	end  func()
}

// send sends a request to the page as a program would; edit may change it.
func (d *frontends) send(r *testNamespace, method, path, token, body string, edit func(*http.Request)) reply {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	request, err := http.NewRequestWithContext(ctx, method, "http://"+d.page+path, strings.NewReader(body))
	r.Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if edit != nil {
		edit(request)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	r.Expect(err).NotTo(HaveOccurred())
	end := sync.OnceFunc(func() { cancel(); _ = response.Body.Close() }) // ignored: the test is over
	r.t.Cleanup(end)
	answer := reply{code: response.StatusCode, header: response.Header, more: response.Body, end: end}
	if response.Header.Get("Content-Type") != "text/event-stream" {
		text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		r.Expect(err).NotTo(HaveOccurred())
		answer.body = string(text)
	}
	return answer
}
