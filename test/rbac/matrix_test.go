// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Outcomes of a request.
const (
	allowed   = "yes"
	refused   = "-"      // denied by RBAC
	forbidden = "policy" // allowed by RBAC, denied by a policy
)

var _ = Describe("The matrix", func() {
	It("matches the table", func(ctx SpecContext) {
		t := newTable()
		for _, k := range kinds {
			for _, v := range verbs {
				t.row(v.name+" "+k.resource, func(who person) error { return v.try(ctx, who, k) })
			}
			t.gap()
		}
		for _, h := range histories {
			t.row(h.does, func(who person) (err error) {
				// The API server stops forwarding for a while if the operator once answers late.
				Eventually(func() bool {
					err = h.try(ctx, who)
					return apierrors.IsServiceUnavailable(err)
				}).WithContext(ctx).Should(BeFalse(), h.does)
				return err
			})
		}
		t.gap()
		for _, d := range doors {
			t.row(d.does, func(who person) error { return d.try(ctx, who) })
		}
		AddReportEntry("cells", t.cells)
		Expect(t.cells).To(BeNumerically(">=", 100))
		expectGolden("matrix.txt", t.String())
	})
})

type table struct {
	strings.Builder
	cells int
}

const legend = `# Who may do what in a namespace. yes: it is done; -: no role allows it; policy: a role does, a policy refuses it.
# outsider has nestor-user in another namespace; viewer, user, runner and admin have the chart's roles; view, edit and owner have
# the cluster's own (owner: admin), to which the chart's are added. The last rows are requests to the gateway with the token of a
# service account that has the same role.
`

func newTable() *table {
	t := &table{}
	t.WriteString(legend)
	t.line("", func(who person) string { return string(who) })
	t.gap()
	return t
}

func (t *table) row(does string, try func(person) error) {
	GinkgoHelper()
	t.line(does, func(who person) string {
		t.cells++
		return outcome(does, who, try(who))
	})
}

func (t *table) line(head string, cell func(person) string) {
	line := fmt.Sprintf("%-36s", head)
	for _, who := range everybody {
		line += fmt.Sprintf("%-10s", cell(who))
	}
	t.WriteString(strings.TrimRight(line, " ") + "\n")
}

func (t *table) gap() { t.WriteString("\n") }

func outcome(does string, who person, err error) string {
	GinkgoHelper()
	switch {
	case err == nil:
		return allowed
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"):
		return forbidden
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot"):
		return refused
	}
	Fail(fmt.Sprintf("%s: %s: %v", who, does, err))
	return ""
}

// expectGolden compares text with a file in testdata, or rewrites the file with -update.
func expectGolden(file, text string) {
	GinkgoHelper()
	path := filepath.Join("testdata", file)
	if *update {
		Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	}
	golden, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	Expect(text).To(Equal(string(golden)), "%s differs: run go test ./test/rbac -update and read the difference", path)
}
