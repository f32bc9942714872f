// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/test/stack"
)

const notAllowed = "False EndpointNotAllowed: "

// checkEndpointRefused tries hosts as tool servers and as providers.
func checkEndpointRefused(r *testNamespace, hosts ...string) {
	for i, host := range hosts {
		server, provider := r.toolServer(fmt.Sprintf("s%d", i), "http://"+host+"/"), r.provider(fmt.Sprintf("p%d", i), "http://"+host+"/v1")
		r.Eventually(server).Should(HavePrefix(notAllowed), host)
		r.Eventually(provider).Should(HavePrefix(notAllowed), host)
	}
}

func port(url string) string { return url[strings.LastIndex(url, ":")+1:] }

// checkReachable checks that a victim is reachable at its own address.
func checkReachable(t *testing.T, w *target) {
	r := w.newNamespace(t)
	v := r.victim()
	r.toolServer("foe", v.URL)
	r.provider("foe", v.URL)
	r.Eventually(v.visits.Load).Should(BeNumerically(">=", 2))
}

// redirect answers everything with a redirect, which a client would follow with its headers.
func redirect(to string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
}

var _ = class(
	"addresses",
	attack{
		name:    "an endpoint is the node's metadata service",
		attempt: "an admin of a namespace names link-local and metadata addresses, in several spellings",
		defence: "the address is checked when the operator connects",
		run: func(t *testing.T, w *target) {
			checkEndpointRefused(w.newNamespace(t), "169.254.169.254", "[::ffff:169.254.169.254]", "[fe80::1]", "[fd00:ec2::254]", "100.100.100.200", "[64:ff9b::a9fe:a9fe]")
		},
		control: checkReachable,
	},
	attack{
		name:    "an unspecified address leads to this machine",
		attempt: "0.0.0.0 and :: with the port of a service on loopback",
		defence: "the address is checked when the operator connects",
		run: inNamespace(func(r *testNamespace) {
			v := r.victim()
			checkEndpointRefused(r, "0.0.0.0:"+port(v.URL), "[::]:"+port(v.URL), "[::ffff:0.0.0.0]:"+port(v.URL))
			r.Expect(v.visits.Load()).To(BeZero())
		}),
		control: checkReachable,
	},
	attack{
		name:    "an endpoint is on the operator's loopback",
		attempt: "addresses and names of loopback, on an operator with its default flags",
		defence: "the address is checked after the name was resolved",
		run: func(t *testing.T, w *target) {
			r := w.own(t, withoutGateway, func(o *stack.Options) { o.OperatorFlags = []string{"--allow-loopback-endpoints=false"} }).newNamespace(t)
			v := r.victim()
			checkEndpointRefused(r, "127.0.0.1:"+port(v.URL), "localhost:"+port(v.URL), "127.1.2.3:"+port(v.URL), "[::1]:"+port(v.URL), "[::ffff:127.0.0.1]:"+port(v.URL))
			r.Expect(v.visits.Load()).To(BeZero())
		},
		control: checkReachable,
	},
	attack{
		name:    "a redirect leads elsewhere",
		attempt: "a tool server and a provider redirect the operator's requests, with their headers, to another service",
		defence: "redirects are not followed",
		run: inNamespace(func(r *testNamespace) {
			v := r.victim()
			url := r.serve(redirect(v.URL))
			r.Eventually(r.toolServer("foe", url)).Should(HavePrefix(notAllowed))
			r.Eventually(r.provider("foe", url)).Should(HavePrefix(notAllowed))
			r.Expect(v.visits.Load()).To(BeZero())
		}),
		control: checkReachable,
	},
	attack{
		name:    "an internal service is read through errors",
		attempt: "a tool server and a provider name another service; the attacker reads the conditions and the error of a task",
		defence: "responses in another protocol are not quoted",
		run: inNamespace(func(r *testNamespace) {
			v := r.victim()
			server, provider := r.toolServer("foe", v.URL), r.provider("foe", v.URL)
			task := r.ask("task", "foe")
			r.Eventually(server).Should(HavePrefix("False Unreachable: "))
			r.Eventually(task).Should(HavePrefix("Failed ModelError"))
			r.Eventually(v.visits.Load).Should(BeNumerically(">=", 3))
			for _, status := range []string{server(), provider(), task()} {
				r.Expect(status).NotTo(ContainSubstring(secretWord))
			}
		}),
		control: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			r.provider("foe", r.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"error":{"message":"`+secretWord+`"}}`)
			})))
			r.Eventually(r.ask("task", "foe")).Should(And(HavePrefix("Failed ModelError"), ContainSubstring(secretWord)))
		},
	},
	attack{
		name:    "a token endpoint leads to an internal service",
		attempt: "a tool server gets its tokens from the metadata service, from an endpoint that redirects with the client secret, and from another service whose response the attacker wants to read",
		defence: "token endpoints are reached like tool servers, and their responses are not quoted",
		run: inNamespace(func(r *testNamespace) {
			v := r.victim()
			r.Eventually(r.protectedServer("metadata", "https://169.254.169.254/token")).Should(HavePrefix(notAllowed))
			r.Eventually(r.protectedServer("redirect", r.serve(redirect(v.URL)))).Should(HavePrefix(notAllowed))
			r.Expect(v.visits.Load()).To(BeZero())
			status := r.protectedServer("other", v.URL)
			r.Eventually(status).Should(And(HavePrefix("False InvalidResponse: "), Not(ContainSubstring(secretWord))))
		}),
		control: inNamespace(func(r *testNamespace) {
			v := r.victim()
			r.protectedServer("other", v.URL)
			r.Eventually(v.visits.Load).Should(BeNumerically(">=", 1))
		}),
	},
)
