// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	registration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"

	historyapi "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/internal/servingcert"
)

const day = 24 * time.Hour

// longPolicy is a policy under which everything that was created in the months before today is still valid: the API
// server's clock cannot be moved.
var longPolicy = servingcert.Policy{
	Authority: servingcert.Lifetime{Valid: 3650 * day, RenewAfter: 10 * day},
	Serving:   servingcert.Lifetime{Valid: 1000 * day, RenewAfter: 3 * day},
	Overlap:   time.Hour,
}

// replica is a server with a certificate that is stored in the cluster.
type replica struct {
	keeper *servingcert.Keeper
	server *history.Server
}

func newReplica(w servedLedger, now func() time.Time) replica {
	GinkgoHelper()
	keeper := servingcert.New(servingcert.Options{
		Names: []string{"nestor-history." + operatorNamespace + ".svc"}, SecretName: "rotated", Secrets: core.CoreV1().Secrets(operatorNamespace),
		Registrations: []servingcert.Registration{servingcert.APIService{Name: "v1beta1.history.nestor.dev", Client: registration.NewForConfigOrDie(cluster.Config).APIServices()}},
		Policy:        longPolicy, Now: now, Log: GinkgoLogr,
	})
	Expect(keeper.Sync(ctx)).To(Succeed())
	server, err := history.New(ctx, history.Options{Cluster: cluster.Config, Ledger: w.ledger, Live: w.hub, Address: "127.0.0.1:0", Certificate: keeper, Poll: 100 * time.Millisecond})
	Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Start(running) }()
	DeferCleanup(func() {
		cancel()
		Eventually(stopped).Should(Receive(Succeed()))
	})
	return replica{keeper, server}
}

// poller sends the same request repeatedly and records errors.
type poller struct {
	done   atomic.Int64
	mu     sync.Mutex
	errors []error
}

// startPoller sends requests until the spec ends.
func startPoller(ask func(context.Context) error) *poller {
	v := &poller{}
	visiting, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for visiting.Err() == nil {
			if err := ask(visiting); err != nil && visiting.Err() == nil {
				v.mu.Lock()
				v.errors = append(v.errors, err)
				v.mu.Unlock()
			}
			v.done.Add(1)
		}
	}()
	DeferCleanup(func() {
		cancel()
		<-ended
	})
	return v
}

func (v *poller) failures() []error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.errors
}

// await waits for a number of further requests: by then the API server has the earlier writes.
func (v *poller) await(times int64) {
	GinkgoHelper()
	Eventually(v.done.Load).Should(BeNumerically(">=", v.done.Load()+times))
}

var _ = Describe("A certificate that is renewed under the aggregator", func() {
	It("does not interrupt clients", func() {
		namespace("team-rotation")
		namespace(operatorNamespace)
		w := servedLedger{ledger: newLedger()}
		pen := historytest.Chat("team-rotation", "chat", "uid-rotation")
		write(pen.Write(ctx, w.ledger, pen.Orchestrator(), agent.MessageArrived{Message: "hello", Text: "Hi"}))

		// The rotation takes place in the months before today.
		var passed atomic.Int64
		began := time.Now().Add(-300 * day)
		now := func() time.Time { return began.Add(time.Duration(passed.Load())) }
		replicas := []replica{newReplica(w, now), newReplica(w, now)}
		secret, err := core.CoreV1().Secrets(operatorNamespace).Get(ctx, "rotated", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.ServeAPI(ctx, localcluster.API{
			GroupVersion: historyapi.GroupVersion, Namespace: operatorNamespace, Service: "nestor-history",
			Port: replicas[0].server.Port(), CABundle: secret.Data["ca.crt"],
		})).To(Succeed())

		lines := follow("team-rotation", "chat.chat/log?follow=true")
		through := startPoller(func(ctx context.Context) error {
			return core.CoreV1().RESTClient().Get().RequestURI(raw("team-rotation", "transcripts/chat.chat")).Do(ctx).Error()
		})
		// The aggregator reuses connections; these visitors reconnect every time, as it would after a restart.
		visitors := []*poller{through}
		for _, r := range replicas {
			visitors = append(visitors, startPoller(func(ctx context.Context) error { return dial(ctx, r.server.Port()) }))
		}

		seen := map[string]bool{}
		pass := func(time time.Duration) {
			GinkgoHelper()
			passed.Add(int64(time))
			for _, r := range replicas {
				Expect(r.keeper.Sync(ctx)).To(Succeed())
				for _, v := range visitors {
					v.await(2)
				}
			}
			through.await(20)
			bundle, err := trusted(ctx)
			Expect(err).NotTo(HaveOccurred())
			seen[string(bundle)] = true
		}
		for range 2 {
			for range 3 {
				pass(3 * day) // a serving certificate
			}
			pass(day) // a new authority is added
			pass(longPolicy.Overlap)
			pass(longPolicy.Overlap) // the old one is removed
		}
		Expect(seen).To(HaveLen(5), "bundles: one at first, then two for each new authority")

		By("deleting the Secret by hand")
		Expect(core.CoreV1().Secrets(operatorNamespace).Delete(ctx, "rotated", metav1.DeleteOptions{})).To(Succeed())
		for range 3 {
			pass(longPolicy.Overlap)
		}
		for i, v := range visitors {
			Expect(v.failures()).To(BeEmpty(), fmt.Sprintf("visitor %d of %d visits", i, v.done.Load()))
		}

		By("keeping the stream that was opened at the start")
		write(pen.Write(ctx, w.ledger, pen.Replied("Good morning!")))
		Eventually(lines).Should(Receive(ContainSubstring("Good morning!")))
	})
})

// trusted returns the CA bundle that the API server trusts.
func trusted(ctx context.Context) ([]byte, error) {
	registered, err := registration.NewForConfigOrDie(cluster.Config).APIServices().Get(ctx, "v1beta1.history.nestor.dev", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return registered.Spec.CABundle, nil
}

// dial connects to a replica like the API server.
func dial(ctx context.Context, port int32) error {
	bundle, err := trusted(ctx)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "nestor-history." + operatorNamespace + ".svc", MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return connection.Close()
}
