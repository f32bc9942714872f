// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// TestSessionKeepsItsSettings overwrites a ToolServer after the settings of its session were made, as a write of its status does while
// the session connects.
func TestSessionKeepsItsSettings(t *testing.T) {
	cluster := fake.NewClientBuilder().WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "key"}, Data: map[string][]byte{"secret": []byte("s3\n"), "tenant": []byte("blue")},
	}).Build()
	object := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "files"}}
	object.Spec.URL = "https://files.example.com/mcp"
	object.Spec.ReadOnlyTools = []string{"list"}
	object.Spec.HeadersFrom = []v1beta1.HeaderSource{{Name: "X-Tenant", SecretKeyRef: v1beta1.SecretKeyRef{Name: "key", Key: "tenant"}}}
	object.Spec.Auth = &v1beta1.ToolServerAuth{OAuth: &v1beta1.OAuthClient{ClientSecretKeyRef: v1beta1.SecretKeyRef{Name: "key", Key: "secret"}}}
	server := Server(resolve.Finder{Reader: cluster, Live: cluster}, nil, object, mcp.Key{})
	object.Spec.ReadOnlyTools[0] = "delete"
	object.Spec.HeadersFrom[0] = v1beta1.HeaderSource{}
	*object.Spec.Auth = v1beta1.ToolServerAuth{}
	*object = v1beta1.ToolServer{}
	if got, err := server.OAuth.Secret(t.Context()); err != nil || got != "s3" {
		t.Errorf("the client secret is %q (%v)", got, err)
	}
	if got, err := server.Headers(t.Context()); err != nil || got.Get("X-Tenant") != "blue" {
		t.Errorf("the headers are %v (%v)", got, err)
	}
	if server.ReadOnlyTools[0] != "list" {
		t.Errorf("the read-only tools are %v", server.ReadOnlyTools)
	}
}
