// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/test/patience"
)

// maxPages is the default of --web-max-streams-per-user.
const maxPages = 16

// stream returns the path of the stream of a room's chats.
func (r *testNamespace) stream() string { return "/api/stream?namespace=" + r.Namespace }

// newVisitor creates a room and a person with a token there.
func newVisitor(t *testing.T, w *target, role string) (d *frontends, r *testNamespace, name, token string) {
	t.Helper()
	d = w.frontends(t)
	r = d.newNamespace(t)
	name, token = r.token("mallory", role)
	return d, r, name, token
}

// onPage runs an attack or a control as a person with a role and a token for the page.
func onPage(role string, test func(d *frontends, r *testNamespace, token string)) func(*testing.T, *target) {
	return func(t *testing.T, w *target) {
		d, r, _, token := newVisitor(t, w, role)
		test(d, r, token)
	}
}

// crossSite makes a request look like one from a page of another site.
func crossSite(r *http.Request) {
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Origin", "https://mallory.example")
}

var _ = class(
	"page",
	attack{
		name:    "a stream is held open with a bad token",
		attempt: "an attacker opens streams with an unknown token, to exhaust the server",
		defence: "the token is reviewed before a stream starts",
		run: onPage(user, func(d *frontends, r *testNamespace, _ string) {
			r.Expect(d.send(r, http.MethodGet, r.stream(), "eyJhbGciOiJub25lIn0.e30.", "", nil).code).To(Equal(http.StatusUnauthorized))
		}),
		control: onPage(user, func(d *frontends, r *testNamespace, token string) {
			got := d.send(r, http.MethodGet, r.stream(), token, "", nil)
			r.Expect(got.code).To(Equal(http.StatusOK))
			r.Expect(got.header.Get("Content-Type")).To(Equal("text/event-stream"))
		}),
	},
	attack{
		name:    "a stream outlives its token",
		attempt: "a person whose account was deleted keeps reading an open stream",
		defence: "the token is reviewed again while the stream is open",
		run: onPage(user, func(d *frontends, r *testNamespace, token string) {
			got := d.send(r, http.MethodGet, r.stream(), token, "", nil)
			r.Expect(got.code).To(Equal(http.StatusOK))
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = io.Copy(io.Discard, got.more) // how it ends does not matter
			}()
			r.Expect(r.API.Delete(r.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "mallory"}})).To(Succeed())
			r.Eventually(ended).WithTimeout(30*time.Second + patience.Limit()).Should(BeClosed()) // it is reviewed every 30 seconds
		}),
		control: onPage(user, func(d *frontends, r *testNamespace, token string) {
			got := d.send(r, http.MethodGet, r.stream(), token, "", nil)
			first := make([]byte, 1)
			_, err := io.ReadFull(got.more, first)
			r.Expect(err).NotTo(HaveOccurred(), "a stream with a valid token stays open")
		}),
	},
	attack{
		name:    "a slow body without a token holds a connection of the page",
		attempt: "Send the beginning of a body with an invalid token, and never the rest, also to sign in.",
		defence: "The token is reviewed before the body is read, and a body that is part of the sign-in has little time.",
		run: onPage(user, func(d *frontends, r *testNamespace, _ string) {
			roles := "/api/namespaces/" + r.Namespace + "/roles/poet/"
			for path, want := range map[string]int{
				"/api/namespaces/" + r.Namespace + "/secrets": http.StatusUnauthorized,
				roles + "prompt": http.StatusUnauthorized,
				roles + "try":    http.StatusUnauthorized,
				"/k8s/apis/nestor.dev/v1beta1/namespaces/" + r.Namespace + "/agentchats": http.StatusUnauthorized,
				"/api/login": http.StatusGatewayTimeout,
			} {
				code, closed := r.postSlowly(d.page, path, "nonsense", "{", "")
				r.Expect(code).To(Equal(want), path)
				r.Expect(closed).To(BeTrue(), path)
			}
			r.Expect(d.send(r, http.MethodPost, roles+"prompt", "nonsense", "{}", nil).code).To(Equal(http.StatusUnauthorized))
			r.Expect(d.send(r, http.MethodGet, "/api/schedule?cron=@daily", "nonsense", "", nil).code).To(Equal(http.StatusUnauthorized))
		}),
		control: onPage(user, func(d *frontends, r *testNamespace, token string) {
			code, closed := r.postSlowly(d.page, "/api/namespaces/"+r.Namespace+"/roles/poet/prompt", token, "{", "}")
			r.Expect(code).To(Equal(http.StatusOK))
			r.Expect(closed).To(BeFalse())
			r.Expect(d.send(r, http.MethodGet, "/api/schedule?cron=@daily", token, "", nil).code).To(Equal(http.StatusOK))
		}),
	},
	attack{
		name:    "a slow body on an unknown path holds a connection of the page",
		attempt: "Send the beginning of a body to a path that nothing serves.",
		defence: "The page responds before it reads the body, and closes the connection.",
		run: onPage(user, func(d *frontends, r *testNamespace, token string) {
			code, closed := r.postSlowly(d.page, "/api/nothing", token, "{", "")
			r.Expect(code).To(Equal(http.StatusNotFound))
			r.Expect(closed).To(BeTrue())
		}),
		control: onPage(user, func(d *frontends, r *testNamespace, token string) {
			code, closed := r.postSlowly(d.page, "/k8s/apis/nestor.dev/v1beta1/namespaces/"+r.Namespace+"/agentchats", token, "{", chatJSON("slow")[1:])
			r.Expect(code).To(Equal(http.StatusCreated))
			r.Expect(closed).To(BeFalse())
		}),
	},
	attack{
		name:    "one person uses up all streams",
		attempt: "mallory opens more pages than the limit per user",
		defence: "--web-max-streams-per-user: status 429 with Retry-After",
		run: onPage(user, func(d *frontends, r *testNamespace, token string) {
			for range maxPages {
				r.Expect(d.send(r, http.MethodGet, r.stream(), token, "", nil).code).To(Equal(http.StatusOK))
			}
			got := d.send(r, http.MethodGet, r.stream(), token, "", nil)
			r.Expect(got.code).To(Equal(http.StatusTooManyRequests))
			r.Expect(got.header.Get("Retry-After")).NotTo(BeEmpty())
			r.Expect(got.body).To(ContainSubstring("limit for one person"))
			_, other := r.token("alice", user)
			r.Expect(d.send(r, http.MethodGet, r.stream(), other, "", nil).code).To(Equal(http.StatusOK), "others are not affected")
		}),
		control: onPage(user, func(d *frontends, r *testNamespace, token string) {
			for range maxPages + 4 {
				r.Eventually(func() int { // the server notices with a delay that earlier ones have ended
					got := d.send(r, http.MethodGet, r.stream(), token, "", nil)
					got.end()
					return got.code
				}).Should(Equal(http.StatusOK))
			}
		}),
	},
	attack{
		name:    "another site makes a browser act",
		attempt: "a page on another site posts to the page's API, reads its stream, and signs the person in as another user",
		defence: "Sec-Fetch-Site and Origin are checked, and sign-in accepts only JSON",
		run: onPage(user, func(d *frontends, r *testNamespace, token string) {
			path := "/k8s/apis/nestor.dev/v1beta1/namespaces/" + r.Namespace + "/agentchats"
			r.Expect(d.send(r, http.MethodPost, path, token, chatJSON("csrf"), crossSite).code).To(Equal(http.StatusForbidden))
			r.Expect(d.send(r, http.MethodGet, r.stream(), token, "", crossSite).code).To(Equal(http.StatusForbidden))
			signIn := `{"token":"` + token + `"}`
			r.Expect(d.send(r, http.MethodPost, "/api/login", "", signIn, crossSite).code).To(Equal(http.StatusForbidden))
			form := d.send(r, http.MethodPost, "/api/login", "", signIn, func(q *http.Request) { q.Header.Set("Content-Type", "text/plain") })
			r.Expect(form.code).To(Equal(http.StatusUnsupportedMediaType))
		}),
		control: onPage(user, func(d *frontends, r *testNamespace, token string) {
			path := "/k8s/apis/nestor.dev/v1beta1/namespaces/" + r.Namespace + "/agentchats"
			r.Expect(d.send(r, http.MethodPost, path, token, chatJSON("own"), nil).code).To(Equal(http.StatusCreated))
			r.Expect(d.send(r, http.MethodPost, "/api/login", "", `{"token":"`+token+`"}`, nil).code).To(Equal(http.StatusNoContent))
		}),
	},
	attack{
		name:    "a script steals the token of a person",
		attempt: "a script, another host or a page without TLS reads or sets the cookie that holds the token",
		defence: "the cookie is HttpOnly, Secure, SameSite=Strict and bound to the host by its name",
		run: onPage(user, func(d *frontends, r *testNamespace, token string) {
			cookie := d.send(r, http.MethodPost, "/api/login", "", `{"token":"`+token+`"}`, nil).header.Get("Set-Cookie")
			r.Expect(cookie).To(And(HavePrefix("__Host-"), ContainSubstring("HttpOnly"), ContainSubstring("Secure"), ContainSubstring("SameSite=Strict"), ContainSubstring("Path=/"), Not(ContainSubstring("Domain"))))
		}),
		control: func(t *testing.T, w *target) {
			d, r, name, token := newVisitor(t, w, user)
			cookie := d.send(r, http.MethodPost, "/api/login", "", `{"token":"`+token+`"}`, nil).header.Get("Set-Cookie")
			pair, _, _ := strings.Cut(cookie, ";")
			got := d.send(r, http.MethodGet, "/api/whoami?namespace="+r.Namespace, "", "", func(q *http.Request) { q.Header.Set("Cookie", pair) })
			r.Expect(got.body).To(ContainSubstring(name), "the cookie authenticates the person")
		},
	},
	attack{
		name:    "the page is put into a frame",
		attempt: "another site shows the page in a frame, to get a click on Approve",
		defence: "frame-ancestors and X-Frame-Options on every response, and no inline script",
		run: onPage(user, func(d *frontends, r *testNamespace, token string) {
			for _, path := range []string{"/", "/" + r.Namespace, "/api/whoami", "/k8s/api/v1/secrets", "/assets/x.js"} {
				header := d.send(r, http.MethodGet, path, token, "", nil).header
				r.Expect(header.Get("X-Frame-Options")).To(Equal("DENY"), path)
				r.Expect(header.Get("Content-Security-Policy")).To(And(ContainSubstring("frame-ancestors 'none'"), Not(ContainSubstring("unsafe-"))), path)
				r.Expect(header.Get("X-Content-Type-Options")).To(Equal("nosniff"), path)
			}
		}),
		control: onPage(user, func(d *frontends, r *testNamespace, _ string) {
			response := d.send(r, http.MethodGet, "/", "", "", nil)
			r.Expect(response.header.Get("Content-Type")).To(ContainSubstring("text/html"), "there is a page to frame")
		}),
	},
	attack{
		name:    "a path leads out of what the page offers",
		attempt: "an admin of the cluster, whose permissions would allow it, is led to Secrets and other verbs by paths with dots, slashes and other resources",
		defence: "only listed resources and verbs are forwarded, and the path is built from validated names",
		run: onPage("cluster-admin", func(d *frontends, r *testNamespace, token string) {
			r.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, StringData: map[string]string{"key": "topsecret"}})
			nestor := "/k8s/apis/nestor.dev/v1beta1/namespaces/" + r.Namespace
			for _, path := range []string{
				"/k8s/api/v1/namespaces/" + r.Namespace + "/secrets/key",
				"/k8s/api/v1/secrets",
				nestor + "/..%2F..%2F..%2F..%2F..%2Fapi%2Fv1%2Fnamespaces%2F" + r.Namespace + "%2Fsecrets/key",
				nestor + "/agentchats/..%2f..%2f..%2f..%2f..%2f..%2fapi%2fv1%2fnamespaces%2f" + r.Namespace + "%2fsecrets%2fkey",
				nestor + "/../../../../../api/v1/namespaces/" + r.Namespace + "/secrets/key",
				"/k8s//api/v1/namespaces/" + r.Namespace + "/secrets/key",
				"/k8s/apis/history.nestor.dev/v1beta1/namespaces/" + r.Namespace + "/..%2f..%2f..%2f..%2fapi/v1",
			} {
				got := d.send(r, http.MethodGet, path, token, "", nil)
				r.Expect(got.body).NotTo(ContainSubstring("dG9wc2VjcmV0"), path)
				r.Expect(got.body).NotTo(ContainSubstring("topsecret"), path)
			}
			r.Expect(d.send(r, http.MethodDelete, nestor+"/agentroles/orchestrator", token, "", nil).code).To(Equal(http.StatusMethodNotAllowed))
			r.Expect(d.send(r, http.MethodPut, nestor+"/agenttasks/x", token, chatJSON("x"), nil).code).To(Equal(http.StatusMethodNotAllowed))
		}),
		control: onPage("cluster-admin", func(d *frontends, r *testNamespace, token string) {
			r.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, StringData: map[string]string{"key": "topsecret"}})
			r.Expect(d.send(r, http.MethodGet, "/k8s/apis/nestor.dev/v1beta1/namespaces/"+r.Namespace+"/modelproviders", token, "", nil).code).To(Equal(http.StatusOK))
			var secret corev1.Secret
			r.Expect(r.Get("key", &secret)).To(Succeed())
			r.Expect(string(secret.Data["key"])).To(Equal("topsecret"))
		}),
	},
	attack{
		name:    "headers of a browser impersonate another person",
		attempt: "mallory adds impersonation and front-proxy headers to a request to the page",
		defence: "headers of the request are not forwarded",
		run: func(t *testing.T, w *target) {
			d, r, name, token := newVisitor(t, w, user)
			got := d.send(r, http.MethodGet, "/api/whoami?namespace="+r.Namespace, token, "", func(q *http.Request) {
				for header, value := range map[string]string{"Impersonate-User": "admin", "Impersonate-Group": "system:masters", "X-Remote-User": "admin", "X-Forwarded-User": "admin"} {
					q.Header.Set(header, value)
				}
			})
			r.Expect(got.body).To(ContainSubstring(`"user":"` + name + `"`))
		},
		control: onPage(user, func(d *frontends, r *testNamespace, _ string) {
			_, other := r.token("alice", user)
			r.Expect(d.send(r, http.MethodGet, "/api/whoami?namespace="+r.Namespace, other, "", nil).body).To(ContainSubstring(":alice"), "another token is another person")
		}),
	},
	attack{
		name:    "the page lends its own permissions",
		attempt: "a person without a token, or with one without permissions here, lists chats",
		defence: "the server has no permissions of its own: every request uses its own token",
		run: func(t *testing.T, w *target) {
			d, r, _, _ := newVisitor(t, w, user)
			path := "/k8s/apis/nestor.dev/v1beta1/namespaces/" + r.Namespace + "/agentchats"
			r.Expect(d.send(r, http.MethodGet, path, "", "", nil).code).To(Equal(http.StatusUnauthorized))
			_, stranger := d.newNamespace(t).token("stranger", user)
			r.Expect(d.send(r, http.MethodGet, path, stranger, "", nil).code).To(Equal(http.StatusForbidden))
		},
		control: onPage(user, func(d *frontends, r *testNamespace, token string) {
			path := "/k8s/apis/nestor.dev/v1beta1/namespaces/" + r.Namespace + "/agentchats"
			r.Expect(d.send(r, http.MethodGet, path, token, "", nil).code).To(Equal(http.StatusOK))
		}),
	},
)

func chatJSON(name string) string {
	return `{"apiVersion":"nestor.dev/v1beta1","kind":"AgentChat","metadata":{"name":"` + name + `"},"spec":{}}`
}
