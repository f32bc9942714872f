// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certutil "k8s.io/client-go/util/cert"

	historyapi "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/localcluster"
)

var _ = Describe("A certificate in files", func() {
	It("is served unchanged", func() {
		certificate, key, err := certutil.GenerateSelfSignedCertKey("nestor-history."+operatorNamespace+".svc", nil, nil)
		Expect(err).NotTo(HaveOccurred())
		dir := GinkgoT().TempDir()
		options := history.Options{
			Cluster: cluster.Config, Ledger: newLedger(), Address: "127.0.0.1:0", CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
		}
		_, err = history.New(ctx, options)
		Expect(err).To(MatchError(ContainSubstring("read the certificate of the history API")), "there are no files yet")
		Expect(os.WriteFile(options.CertFile, certificate, 0o600)).To(Succeed())
		Expect(os.WriteFile(options.KeyFile, key, 0o600)).To(Succeed())
		server, err := history.New(ctx, options)
		Expect(err).NotTo(HaveOccurred())
		serving, cancel := context.WithCancel(ctx)
		stopped := make(chan error, 1)
		go func() { stopped <- server.Start(serving) }()
		DeferCleanup(func() {
			cancel()
			Eventually(stopped).Should(Receive(Succeed()))
		})
		Expect(cluster.ServeAPI(ctx, localcluster.API{
			GroupVersion: historyapi.GroupVersion, Namespace: operatorNamespace, Service: "nestor-history", Port: server.Port(), CABundle: certificate,
		})).To(Succeed())
		Expect(must(fetch(raw("default", "usages")))).To(ContainSubstring("UsageList"))
	})
})
