// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("Access to the history", Ordered, ContinueOnFailure, func() {
	var w servedLedger
	BeforeAll(func() {
		l := newLedger()
		writeHistories(l)
		w = serve(l)
		DeferCleanup(func() { w.stop() })
		must(kubectl("create", "role", "reader", "-n", "team-a", "--verb=get,list", "--resource=transcripts.history.nestor.dev,usages.history.nestor.dev"))
		must(kubectl("create", "role", "follower", "-n", "team-a", "--verb=get", "--resource=transcripts.history.nestor.dev/log"))
		must(kubectl("create", "rolebinding", "reader", "-n", "team-a", "--role=reader", "--user=alice", "--user=bob", "--serviceaccount=team-a:robot"))
		must(kubectl("create", "rolebinding", "follower", "-n", "team-a", "--role=follower", "--user=bob"))
		for _, user := range []string{"alice", "bob", "system:serviceaccount:team-a:robot"} {
			waitForPermission(user, "team-a", "list", "transcripts", "")
			waitForPermission(user, "team-a", "list", "usages", "")
		}
		waitForPermission("bob", "team-a", "get", "transcripts", "log")
	})

	It("depends on the user's own permissions", func() {
		can := func(user string, question ...string) string {
			out, _ := kubectl(append([]string{"auth", "can-i", "--as", user}, question...)...) // it exits with an error for "no"
			return strings.TrimSpace(out)
		}
		Expect(can("alice", "get", "transcripts.history.nestor.dev", "-n", "team-a")).To(Equal("yes"))
		Expect(can("alice", "get", "transcripts.history.nestor.dev", "-n", "team-b")).To(Equal("no"))
		Expect(can("alice", "get", "transcripts.history.nestor.dev", "--subresource=log", "-n", "team-a")).To(Equal("no"))
		Expect(can("bob", "get", "transcripts.history.nestor.dev", "--subresource=log", "-n", "team-a")).To(Equal("yes"))

		Expect(firstColumn(must(kubectl("get", "transcripts", "-n", "team-a", "--as", "alice")))).To(HaveLen(3))
		Expect(must(kubectl("get", "transcript", "chat.release", "-n", "team-a", "--as", "alice", "-o", "yaml"))).To(ContainSubstring("leap days"))
		Expect(must(kubectl("get", "usages", "-n", "team-a", "--as", "alice"))).To(ContainSubstring("role.researcher"))
		Expect(must(kubectl("get", "--raw", raw("team-a", "transcripts/chat.release/log"), "--as", "bob"))).To(ContainSubstring("leap days"))
	})

	It("is limited to the namespace and the granted verbs", func() {
		for _, args := range [][]string{
			{"get", "transcripts", "-n", "team-b", "--as", "alice"},
			{"get", "transcripts", "-A", "--as", "alice"},
			{"get", "transcript", "chat.other", "-n", "team-b", "--as", "alice"},
			{"get", "modelcalls", "-n", "team-a", "--as", "alice"},
			{"get", "--raw", raw("team-a", "transcripts/chat.release/log"), "--as", "alice"},
			{"get", "transcripts", "-n", "team-a", "--as", "carol"},
			{"get", "usages", "-n", "team-a", "--as", "system:anonymous"},
		} {
			output := errorText(kubectl(args...))
			Expect(output).To(ContainSubstring("orbidden"), strings.Join(args, " "))
			Expect(output).NotTo(ContainSubstring("secret of team-b"))
		}
	})

	It("cannot bypass the API server", func() {
		pool := x509.NewCertPool()
		Expect(pool.AppendCertsFromPEM(w.server.CABundle())).To(BeTrue())
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
		DeferCleanup(client.CloseIdleConnections)
		ask := func(header http.Header) (int, string) {
			GinkgoHelper()
			url := fmt.Sprintf("https://127.0.0.1:%d%s", w.server.Port(), raw("team-a", "transcripts"))
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			Expect(err).NotTo(HaveOccurred())
			request.Header = header
			response, err := client.Do(request)
			Expect(err).NotTo(HaveOccurred())
			defer func() { Expect(response.Body.Close()).To(Succeed()) }()
			body, err := io.ReadAll(response.Body)
			Expect(err).NotTo(HaveOccurred())
			return response.StatusCode, string(body)
		}
		status, _ := ask(nil)
		Expect(status).To(Equal(http.StatusUnauthorized))
		status, _ = ask(http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}})
		Expect(status).To(Equal(http.StatusUnauthorized), "headers are trusted only with the aggregator's certificate")

		By("except with a token that the API server accepts, for authorized users")
		bearer := func(name string) http.Header {
			GinkgoHelper()
			accounts := core.CoreV1().ServiceAccounts("team-a")
			_, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
			token, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
			return http.Header{"Authorization": {"Bearer " + token.Status.Token}}
		}
		status, body := ask(bearer("robot"))
		Expect(status).To(Equal(http.StatusOK), body)
		status, _ = ask(bearer("stranger"))
		Expect(status).To(Equal(http.StatusForbidden))
	})

	It("is described for kubectl", func() {
		Expect(must(kubectl("api-resources", "--api-group=history.nestor.dev"))).To(And(
			ContainSubstring("transcripts"), ContainSubstring("modelcalls"), ContainSubstring("usages")))
		Eventually(func() (string, error) { return kubectl("explain", "transcript.entries.toolCalls.phase") }).Should(ContainSubstring("it waits for the runs that it started"))
	})
})
