// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestE2E(t *testing.T) {
	if os.Getenv("E2E") == "" {
		t.Skip("make e2e runs this: it needs a real cluster")
	}
	RegisterFailHandler(Fail)
	log.SetLogger(klog.Background())
	SetDefaultEventuallyTimeout(3 * time.Minute) // a real cluster pulls images and starts pods
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Nestor on a real cluster")
}

var _ = Describe("Nestor", Ordered, ContinueOnFailure, func() {
	c := &cluster{}
	BeforeAll(func(ctx SpecContext) { c.start(ctx) })
	AfterEach(func(ctx SpecContext) { c.reportFailure(ctx) })

	if os.Getenv("E2E_RELEASE") != "" {
		Describe("from the files of a release", func() {
			installSpecs(c)
			tourSpecs(c)
			gatewaySpecs(c)
			uninstallSpecs(c)
		})
		return
	}
	Describe("with SQLite", func() {
		installSpecs(c)
		tourSpecs(c)
		workspaceSpecs(c)
		isolationSpecs(c)
		publishSpecs(c)
		policySpecs(c)
		crashSpecs(c)
		historySpecs(c)
		gatewaySpecs(c)
		upgradeSpecs(c)
		uninstallSpecs(c)
	})
	Describe("with PostgreSQL and two replicas", func() {
		replicaSpecs(c)
	})
})

var _ = ReportAfterSuite("times", func(report types.Report) {
	fmt.Println() // Ginkgo may be in the middle of a line
	for _, spec := range report.SpecReports {
		if spec.LeafNodeType == types.NodeTypeIt && spec.RunTime > 0 {
			fmt.Printf("%7.1f s  %-7s %s\n", spec.RunTime.Seconds(), spec.State, spec.FullText())
		}
	}
	fmt.Printf("%7.1f s  all, with the start and the end of the cluster\n", report.RunTime.Seconds())
})
