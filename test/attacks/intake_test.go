// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gatewayconfig "github.com/nestor-dev/nestor/config/components/gateway"
	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/intake"
)

// toOperator sends a registration to the operator's endpoint for the gateway, and returns the status.
func (r *testNamespace) toOperator(token string) int {
	r.t.Helper()
	authorities := x509.NewCertPool()
	pem, err := os.ReadFile(r.Intake.CAFile)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(authorities.AppendCertsFromPEM(pem)).To(BeTrue())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	body, err := json.Marshal(object{"namespace": r.Namespace, "task": "t", "id": "1", "url": "https://client.example.com/"})
	r.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.Intake.URL+intake.RegistrationsPath, bytes.NewReader(body))
	r.Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(response.Body.Close()).To(Succeed())
	return response.StatusCode
}

// gatewayToken returns a token of the gateway's service account.
func (r *testNamespace) gatewayToken(audiences ...string) string {
	r.t.Helper()
	token, err := r.TokenFor(r.t.Context(), operator.Namespace, gatewayconfig.ServiceAccount, audiences...)
	r.Expect(err).NotTo(HaveOccurred())
	return token
}

// intakeAttack sends a request to the operator's endpoint with a token that is not the gateway's.
func intakeAttack(name, attempt, defence string, want int, token func(r *testNamespace) string) attack {
	return attack{
		name: name, attempt: attempt, defence: defence,
		run: inNamespace(func(r *testNamespace) {
			r.Expect(r.toOperator(token(r))).To(Equal(want))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.toOperator(r.gatewayToken(intake.Audience))).To(Equal(http.StatusOK))
		}),
	}
}

var _ = class(
	"gateway",
	intakeAttack("anyone in the cluster reaches the operator's endpoint", "mallory connects to it without a token",
		"a TokenReview for each request", http.StatusUnauthorized, func(*testNamespace) string { return "" }),
	intakeAttack("the token of a caller opens the operator's endpoint", "a compromised gateway sends the token that a caller has sent to it",
		"the audience: such a token is for the API server", http.StatusUnauthorized, func(r *testNamespace) string {
			token, err := r.Token(r.t.Context(), r.Namespace, "caller", user)
			r.Expect(err).NotTo(HaveOccurred())
			return token
		}),
	intakeAttack("the gateway's token for the API server opens the operator's endpoint", "mallory sends a token of the gateway's pod that it found in a log of the API server",
		"the audience", http.StatusUnauthorized, func(r *testNamespace) string { return r.gatewayToken() }),
	intakeAttack("another service account speaks for the gateway", "mallory requests a token for the audience of the operator with a service account of the same name in its own namespace",
		"only the service account of the operator's namespace is admitted", http.StatusForbidden, func(r *testNamespace) string {
			r.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: gatewayconfig.ServiceAccount}})
			token, err := r.TokenFor(r.t.Context(), r.Namespace, gatewayconfig.ServiceAccount, intake.Audience)
			r.Expect(err).NotTo(HaveOccurred())
			return token
		}),
	intakeAttack("the operator's own token speaks for the gateway", "mallory requests a token of another service account of the operator's namespace",
		"only the gateway's service account is admitted", http.StatusForbidden, func(r *testNamespace) string {
			token, err := r.TokenFor(r.t.Context(), operator.Namespace, operator.ServiceAccount, intake.Audience)
			r.Expect(err).NotTo(HaveOccurred())
			return token
		}),
)
