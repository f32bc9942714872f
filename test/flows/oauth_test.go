// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// vault is an MCP server that requires access tokens, and the authorization server that issues them. Both repeat
// credentials in their errors.
type vault struct {
	tools, issuer *httptest.Server

	mu     sync.Mutex
	secret string
	life   time.Duration
	tokens map[string]time.Time // when they expire
	effect map[string]int
	forms  []string // of the requests for tokens
}

const (
	clientSecret = "client-secret-4711"
	issuedToken  = "issued-token-0815"
)

func startVault() *vault {
	v := &vault{secret: clientSecret, life: time.Hour, tokens: map[string]time.Time{}, effect: map[string]int{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "vault", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "open", Description: "Opens a door."}, func(_ context.Context, _ *mcp.CallToolRequest, in writeInput) (*mcp.CallToolResult, any, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.effect[in.Path]++
		return text("opened " + in.Path), nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	v.tools = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); !v.knows(token) {
			http.Error(w, "the token "+token+" is not valid", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	v.issuer = httptest.NewServer(http.HandlerFunc(v.issue))
	return v
}

// Close stops both servers.
func (v *vault) Close() {
	v.tools.CloseClientConnections()
	v.tools.Close()
	v.issuer.Close()
}

func (v *vault) issue(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	if id != "nestor" || secret != v.secret {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"%s is wrong"}`, secret)
		return
	}
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	v.forms = append(v.forms, r.PostForm.Encode())
	token := fmt.Sprintf("%s-%d", issuedToken, len(v.forms))
	v.tokens[token] = time.Now().Add(v.life)
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, token, int(v.life/time.Second))
}

// knows reports whether a token is accepted. Expired ones are accepted for a while, because a busy machine may delay
// a request.
func (v *vault) knows(token string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return time.Now().Before(v.tokens[token].Add(time.Minute))
}

func (v *vault) allExpired() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, expires := range v.tokens {
		if time.Now().Before(expires) {
			return false
		}
	}
	return true
}

func (v *vault) change(change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change()
}

func (v *vault) requests() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.forms
}

func (v *vault) effects(path string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.effect[path]
}

func (v *vault) server() *v1beta1.ToolServer {
	s := MakeToolServer("vault", v.tools.URL+"/?key=of-the-url")
	s.Spec.Auth = &v1beta1.ToolServerAuth{OAuth: &v1beta1.OAuthClient{
		TokenURL: v.issuer.URL + "/token", ClientID: "nestor", ClientSecretKeyRef: v1beta1.SecretKeyRef{Name: "vault", Key: "secret"}, Scopes: []string{"doors:open"}, Audience: "doors",
	}}
	return s
}

// oauthTokens covers ToolServers that need access tokens.
func oauthTokens(w *world) {
	Describe("A tool server that needs access tokens", func() {
		var v *vault
		BeforeEach(func() {
			v = startVault()
			DeferCleanup(v.Close)
		})
		opens := func(ctx context.Context, r *testNamespace, name string) {
			GinkgoHelper()
			path := r.namespace + "/" + name
			r.create(ctx, MakeToolTask(name, "vault__open", `{"path":"`+path+`"}`).Obj())
			Eventually(r.task(name)).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "opened "+path)))
			Expect(v.effects(path)).To(Equal(1))
		}
		setSecret := func(ctx context.Context, r *testNamespace, value string) {
			GinkgoHelper()
			change(ctx, r, func(ctx context.Context) (*corev1.Secret, error) {
				var s corev1.Secret
				return &s, r.API.Get(ctx, types.NamespacedName{Namespace: r.namespace, Name: "vault"}, &s)
			}, func(s *corev1.Secret) { s.Data["secret"] = []byte(value) })
		}

		It("gets them with the client credentials grant, also after they expired, were revoked, and after the secret was rotated", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, v.server())
			Eventually(r.toolServer("vault")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False SecretNotFound"), ContainSubstring(`Create the Secret "vault"`))))
			r.create(ctx, MakeSecret("vault", "secret", clientSecret+"\n"))
			Eventually(r.toolServer("vault")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			opens(ctx, r, "first")
			Expect(v.requests()).To(HaveExactElements("audience=doors&grant_type=client_credentials&resource="+strings.NewReplacer(":", "%3A", "/", "%2F").Replace(v.tools.URL+"/")+"&scope=doors%3Aopen"),
				"one token for all requests, and no query of the URL")

			v.change(func() { clear(v.tokens) })
			opens(ctx, r, "revoked")
			Expect(v.requests()).To(HaveLen(2))

			v.change(func() {
				v.secret, v.life = "rotated-"+clientSecret, time.Second
				for token := range v.tokens {
					v.tokens[token] = time.Now() // so that only new ones have to expire
				}
			})
			setSecret(ctx, r, "rotated-"+clientSecret)
			for i := 0; len(v.requests()) == 2; i++ { // until the operator has read the new secret
				opens(ctx, r, fmt.Sprintf("rotated-%d", i))
			}
			before := len(v.requests())
			Eventually(v.allExpired).WithContext(ctx).Should(BeTrue())
			opens(ctx, r, "expired")
			Expect(len(v.requests())).To(BeNumerically(">", before))
		})

		It("is not Ready if the token endpoint refuses the client, tells why, and never shows a secret", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeSecret("vault", "secret", "wrong-"+clientSecret), v.server())
			Eventually(r.toolServer("vault")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False Unauthorized"),
				ContainSubstring("(401 invalid_client): check clientID and the Secret in clientSecretKeyRef"))))
			setSecret(ctx, r, clientSecret)
			Eventually(r.toolServer("vault")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			opens(ctx, r, "door")

			// The client is removed while the server is in use.
			v.change(func() { v.secret = "removed"; clear(v.tokens) })
			r.create(ctx, MakeToolTask("late", "vault__open", `{"path":"`+r.namespace+`/late"}`).Obj())
			Eventually(r.task("late")).WithContext(ctx).Should(HaveField("Status.Conditions", Not(BeEmpty())))
			Eventually(r.toolServer("vault")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False Unauthorized")))
			Expect(v.effects(r.namespace + "/late")).To(BeZero())
			v.change(func() { v.secret = clientSecret })
			Eventually(r.toolServer("vault")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))

			events, err := r.events(ctx)
			Expect(err).NotTo(HaveOccurred())
			shown := r.dump(ctx) + strings.Join(events, "\n") + w.OperatorLog()
			for _, secret := range []string{clientSecret, issuedToken} {
				Expect(shown).NotTo(ContainSubstring(secret))
				Expect(w.columnsWith(ctx, secret)).To(BeEmpty())
			}
			Expect(w.columnsWith(ctx, "opened "+r.namespace)).NotTo(BeEmpty(), "the search finds what is in the ledger")
		})
	})
}
