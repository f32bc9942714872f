// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// tenPolicies are as policies usually are: each reads arguments, labels, the agent or the usage, and allows the call.
func tenPolicies(t testing.TB) []*Policy {
	rules := []v1beta1.PolicyRule{
		{Name: "writes", AllowWhen: "call.readOnly || !('secret' in labels || 'overflow' in labels)", Otherwise: v1beta1.OutcomeRequireApproval},
		{Name: "paths", AllowWhen: "!has(call.arguments.path) || !call.arguments.path.startsWith('secrets/')"},
		{Name: "limit", AllowWhen: "usage.writes < 50 && usage.tokens < 1000000"},
		{Name: "hosts", AllowWhen: "call.arguments.urls.all(u, u.matches('^https://[a-z.]+[.]example[.]com/'))"},
		{Name: "people", AllowWhen: "agent.requesters.exists(r, r == 'alice') && agent.depth < 3"},
	}
	var policies []*Policy
	for i := range 10 {
		p := object(rules[i%len(rules)])
		p.Name = fmt.Sprint("p", i)
		policies = append(policies, compile(t, p))
	}
	return policies
}

const benchedCall = `{"path":"docs/a.md","urls":["https://git.example.com/a","https://www.example.com/b"],"body":"A text of some length, as tools get it."}`

// maxJudgement is the CPU time that ten policies may add to a call.
const maxJudgement = 200 * time.Microsecond

// BenchmarkJudge measures the CPU time that ten policies add to a call, and its ratio to the most that is allowed.
func BenchmarkJudge(b *testing.B) {
	policies, in := tenPolicies(b), call("github__create_issue", benchedCall)
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		if verdicts, err := Judge(b.Context(), policies, in); err != nil || len(verdicts) != len(policies) {
			b.Fatal(verdicts, err)
		}
	}
	spent := (cpuTime(b) - before) / time.Duration(b.N)
	b.ReportMetric(float64(spent.Nanoseconds())/1e6, "cpu-ms/call")
	b.ReportMetric(float64(spent)/float64(maxJudgement), "of-allowed")
}

// cpuTime returns the CPU time of the process, which other work on the machine does not change.
func cpuTime(t testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
