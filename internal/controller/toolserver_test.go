// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// startMCP runs a real MCP server with one tool, which requires a bearer token.
func startMCP() (*mcp.Server, string) {
	GinkgoHelper()
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	addTool(server, "forecast", true)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	DeferCleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return server, web.URL
}

func addTool(server *mcp.Server, name string, readOnly bool) {
	type nothing struct{}
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: "Tells " + name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}},
		func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil, nil
		})
}

var _ = Describe("A ToolServer", func() {
	It("waits for its headers, shows its tools, and detects when they change", func() {
		ns := newNamespace(nil)
		server, url := startMCP()
		s := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "weather"}}
		s.Spec.URL = url
		s.Spec.HeadersFrom = []v1beta1.HeaderSource{{Name: "Authorization", SecretKeyRef: v1beta1.SecretKeyRef{Name: "weather", Key: "token"}}}
		Expect(api.Create(ctx, s)).To(Succeed())
		Eventually(ready(s)).Should(HavePrefix("False SecretNotFound"))
		Eventually(warnings(ns)).Should(ConsistOf(HavePrefix(`ToolServer/weather SecretNotFound: Create the Secret "weather"`)))

		Expect(api.Create(ctx, secret(ns, "weather", "token", "Bearer sesame"))).To(Succeed())
		Eventually(ready(s)).Should(Equal("True Ready: The server offers 1 tools."))
		Expect(s.Status.Tools).To(ConsistOf(And(
			HaveField("Name", "forecast"), HaveField("Description", "Tells forecast"), HaveField("ReadOnly", true),
			HaveField("InputSchema.Raw", MatchRegexp(`^\{.*"type":"object".*\}$`)),
		)))

		addTool(server, "alarm", false)
		Eventually(ready(s)).Should(Equal("True Ready: The server offers 2 tools."))
		Expect(s.Status.ToolCount).To(BeEquivalentTo(2))
		changes := func() string {
			c := meta.FindStatusCondition(s.Status.Conditions, v1beta1.ConditionToolsChanged)
			return fmt.Sprintf("%s %s", c.Status, c.Reason)
		}
		Expect(changes()).To(Equal("False ToolsAdded"))

		server.RemoveTools("forecast")
		addTool(server, "forecast", false)
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			g.Expect(changes()).To(Equal("True ToolsWithheld"))
		}).Should(Succeed())
		edit(s, func() { s.Spec.AcceptedToolsDigest = s.Status.ToolsDigest })
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			g.Expect(changes()).To(Equal("False ToolsAsPinned"))
		}).Should(Succeed())
		Expect(client.IgnoreNotFound(api.Delete(ctx, s))).To(Succeed())
	})

	It("is unreachable if nothing listens at its address", func() {
		s := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(nil), Name: "gone"}}
		s.Spec.URL = "http://127.0.0.1:1/mcp"
		Expect(api.Create(ctx, s)).To(Succeed())
		Eventually(ready(s)).Should(HavePrefix("False Unreachable"))
	})
})
