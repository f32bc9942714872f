// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/login"
	"github.com/nestor-dev/nestor/internal/login/request"
)

// TestLoginsRequirePermission: a request that is allowed fails later, because the service has no address of the page.
func TestLoginsRequirePermission(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	auth := &v1beta1.ToolServerAuth{UserOAuth: &v1beta1.UserOAuthClient{}}
	server := func(namespace, name string, spec v1beta1.ToolServerSpec) *v1beta1.ToolServer {
		return &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		server("team", "files", v1beta1.ToolServerSpec{Auth: auth}),
		server("team", "plain", v1beta1.ToolServerSpec{}),
		server("nestor-system", "shared", v1beta1.ToolServerSpec{Auth: auth, AllowedNamespaces: &v1beta1.AllowedNamespaces{}}),
		server("nestor-system", "own", v1beta1.ToolServerSpec{Auth: auth}),
	).Build()
	logins := Logins{login.New(nil, nil, ""), resolve.Finder{Reader: api, OperatorNamespace: "nestor-system"}}
	const allowed, unknown = "address of the web page", "no such tool server"
	for name, c := range map[string]struct {
		wanted request.Request
		want   string
	}{
		"a reader":                     {request.Request{Person: "alice", Namespace: "team", Server: "files", MayRead: true}, allowed},
		"not a reader":                 {request.Request{Person: "alice", Namespace: "team", Server: "files"}, unknown},
		"a shared server":              {request.Request{Person: "alice", Namespace: "nestor-system", Server: "shared"}, allowed},
		"a server of the operator":     {request.Request{Person: "alice", Namespace: "nestor-system", Server: "own"}, unknown},
		"a server without logins":      {request.Request{Person: "alice", Namespace: "team", Server: "plain", MayRead: true}, unknown},
		"a server that does not exist": {request.Request{Person: "alice", Namespace: "team", Server: "none", MayRead: true}, unknown},
		"a service account":            {request.Request{Person: "system:serviceaccount:team:bot", Namespace: "team", Server: "files", MayRead: true}, "Only people log in"},
		"no one":                       {request.Request{Person: "system:anonymous", Namespace: "team", Server: "files", MayRead: true}, "Only people log in"},
		"no name":                      {request.Request{Namespace: "team", Server: "files", MayRead: true}, "Only people log in"},
	} {
		c.wanted.Action = request.Begin
		_, err := logins.Login(t.Context(), c.wanted)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := logins.Login(t.Context(), request.Request{Action: request.Finish, Person: "alice", Answer: request.Answer{State: "x"}}); err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("an answer with a state of nothing: %v", err)
	}
}
