// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/config/operator"
)

// programs is the namespace of the service accounts that use the gateway: a program for each person, with the same permissions.
const programs = "programs"

const gatewaySecret = "nestor-gateway-cert"

// gateway is where the gateway serves the doors, with the certificate that the operator created, and where the operator takes its webhooks.
var gateway struct {
	address, intake string
	client          *http.Client
	tokens          map[person]string
}

// createPrograms creates a service account for each person, with a token.
func createPrograms(ctx context.Context) {
	GinkgoHelper()
	Expect(env.API.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: programs}})).To(Succeed())
	gateway.tokens = map[person]string{}
	for _, who := range everybody {
		namespace, name := programs, string(who)
		if who == theOperator {
			namespace, name = operator.Namespace, operator.ServiceAccount
		}
		token, err := env.Token(ctx, namespace, name)
		Expect(err).NotTo(HaveOccurred())
		gateway.tokens[who] = token
	}
	for who, has := range roles {
		Expect(env.API.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: has.namespace, Name: string(who) + "-program"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: has.role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: programs, Name: string(who)}},
		})).To(Succeed())
	}
	for who, has := range roles {
		Expect(env.AwaitRole(ctx, has.namespace, serviceaccount.MakeUsername(programs, string(who)), has.role)).To(Succeed())
	}
}

// startGateway runs a gateway with the certificate that the operator created for it, which is valid for the name of the gateway's Service.
func startGateway(ctx context.Context) {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Eventually(func(ctx context.Context) ([]byte, error) {
		err := env.API.Get(ctx, client.ObjectKey{Namespace: operator.Namespace, Name: gatewaySecret}, secret)
		return secret.Data["tls.crt"], client.IgnoreNotFound(err)
	}).WithContext(ctx).ShouldNot(BeEmpty(), "the operator creates the certificate")
	flags := []string{"--gateway-bind-address", gateway.address, "--operator-url", "http://" + gateway.intake}
	for flag, key := range map[string]string{"--gateway-cert-file": "tls.crt", "--gateway-key-file": "tls.key"} {
		file := filepath.Join(env.Dir, key)
		Expect(os.WriteFile(file, secret.Data[key], 0o600)).To(Succeed())
		flags = append(flags, flag, file)
	}
	_, err := env.LaunchGateway(ctx, flags...)
	Expect(err).NotTo(HaveOccurred())
	authorities := x509.NewCertPool()
	Expect(authorities.AppendCertsFromPEM(secret.Data["ca.crt"])).To(BeTrue())
	gateway.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authorities, ServerName: "nestor-gateway." + operator.Namespace + ".svc", MinVersion: tls.VersionTLS12},
	}}
	DeferCleanup(gateway.client.CloseIdleConnections)
	Eventually(func(ctx context.Context) error {
		_, err := call(ctx, viewer, http.MethodGet, "/v1/models?namespace="+team, nil)
		return err
	}).WithContext(ctx).Should(Succeed(), "the gateway serves")
}

type request = map[string]any

// call sends a request to the gateway with the token of a person's program, and returns the body. The error of a refusal is that of the API
// server, as the door reports it.
func call(ctx context.Context, who person, method, path string, body request) ([]byte, error) {
	var encoded bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&encoded).Encode(body); err != nil {
			return nil, err
		}
	}
	sent, err := http.NewRequestWithContext(ctx, method, "https://"+gateway.address+path, &encoded)
	if err != nil {
		return nil, err
	}
	sent.Header.Set("Authorization", "Bearer "+gateway.tokens[who])
	sent.Header.Set("Content-Type", "application/json")
	sent.Header.Set("Accept", "application/json, text/event-stream")
	sent.Header.Set("A2A-Version", "1.0")
	response, err := gateway.client.Do(sent)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return text, refusal(response.StatusCode, string(text))
}

// refusal returns the error in a response, if it has one.
func refusal(code int, text string) error {
	status := metav1.Status{Code: int32(code), Message: text}
	switch {
	case code == http.StatusForbidden, strings.Contains(text, `"isError":true`) && strings.Contains(text, "forbidden"):
		status.Reason = metav1.StatusReasonForbidden
	case code >= http.StatusBadRequest, strings.Contains(text, `"isError":true`), strings.Contains(text, "RUN_ERROR"):
		status.Reason = metav1.StatusReasonUnknown
	default:
		return nil
	}
	return &apierrors.StatusError{ErrStatus: status}
}

func callTool(ctx context.Context, who person, name string, arguments request) error {
	_, err := call(ctx, who, http.MethodPost, "/mcp/"+team, request{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": request{"name": name, "arguments": arguments},
	})
	return err
}

// doors are requests to the gateway. Each run is a new one.
var doors = []struct {
	does string
	try  func(context.Context, person) error
}{
	{"openai: list models", reads("/v1/models?namespace=" + team)},
	{"openai: run", func(ctx context.Context, who person) error {
		_, err := call(ctx, who, http.MethodPost, "/v1/responses", request{"model": team + "/general", "input": "Load step 1", "background": true})
		return err
	}},
	{"openai: post to a chat", func(ctx context.Context, who person) error {
		_, err := call(ctx, who, http.MethodPost, "/v1/responses", request{"model": team + "/general", "input": "Hello", "background": true, "metadata": request{"chat": team + "/talk"}})
		return err
	}},
	{"a2a: read the card", reads("/a2a/" + team + "/general/.well-known/agent-card.json")},
	{"a2a: send", func(ctx context.Context, who person) error {
		_, err := call(ctx, who, http.MethodPost, "/a2a/"+team+"/general/v1/message:send", request{
			"configuration": request{"returnImmediately": true},
			"message":       request{"messageId": "rbac-" + string(who), "role": "ROLE_USER", "parts": []any{request{"text": "Load step 1"}}},
		})
		return err
	}},
	{"a2a: get a task", reads("/a2a/" + team + "/general/v1/tasks/research")},
	{"a2a: list tasks", reads("/a2a/" + team + "/general/v1/tasks")},
	{"mcp: start_task", func(ctx context.Context, who person) error {
		return callTool(ctx, who, "start_task", request{"role": "general", "instruction": "Load step 1"})
	}},
	{"mcp: get_task", func(ctx context.Context, who person) error {
		return callTool(ctx, who, "get_task", request{"task": "research"})
	}},
	{"mcp: cancel", func(ctx context.Context, who person) error {
		return callTool(ctx, who, "cancel", request{"task": "research"})
	}},
	{"ag-ui: run", func(ctx context.Context, who person) error {
		_, err := call(ctx, who, http.MethodPost, "/ag-ui/"+team+"/general", request{
			"threadId": fmt.Sprint("rbac-", who), "runId": "1", "state": request{}, "tools": []any{}, "context": []any{},
			"messages": []any{request{"id": "1", "role": "user", "content": "Load step 1"}},
		})
		return err
	}},
}

func reads(path string) func(context.Context, person) error {
	return func(ctx context.Context, who person) error {
		_, err := call(ctx, who, http.MethodGet, path, nil)
		return err
	}
}
