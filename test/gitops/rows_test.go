// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
)

// verdicts are what kstatus, Flux and Argo CD show for each expectation: for kinds with the condition Ready, and for runs and messages,
// which have Succeeded. kstatus does not evaluate Succeeded.
var verdicts = map[string]struct{ standing, run string }{
	"healthy":     {"Current/Current/Healthy", "Current/Current/Healthy"},
	"suspended":   {"Current/Current/Suspended", "Current/InProgress/Suspended"},
	"progressing": {"InProgress/InProgress/Progressing", "Current/InProgress/Progressing"},
	"retrying":    {"InProgress/InProgress/Progressing", "InProgress/InProgress/Progressing"},
	"degraded":    {"InProgress/InProgress/Degraded", "Current/InProgress/Degraded"}, // it may recover
	"restricted":  {"Current/Current/Degraded", ""},
	"stalled":     {"Failed/Failed/Degraded", "Failed/Failed/Degraded"}, // a person must act
	"ended":       {"", "Current/Failed/Degraded"},
}

// expected has what a person expects of each reason; it is not derived from the groups of the table. A reason whose states differ is
// followed by the kind, or by the status of the condition.
var expected = map[string]string{
	"healthy":   "Ready NamesNotFound Success Handled ToolsAsPinned ToolsAdded QuotaExhausted/AgentQuota WorkspaceTooLarge/AgentChat WorkspaceNotKept/AgentChat",
	"suspended": "Suspended WaitingForUser WaitingForApproval PausedTurnLimit PausedTaskLimit PausedTokenLimit PausedLoop",
	"progressing": "NotChecked Running Pending ParallelLimit Delivered ChatNotReady QuotaExhausted LedgerQuota WorkspaceTooLarge/AgentTask " +
		"WorkspaceNotKept/AgentTask",
	"retrying": "RateLimited ProviderUnavailable Retrying QueuedForProvider WaitingForPromotion Evaluating",
	"degraded": "ToolServerNotReady Unreachable Unauthorized EndpointNotAllowed InvalidResponse CreationRefused PostRefused ModelError/AgentChat " +
		"LedgerUnavailable LedgerFull LedgerReadOnly LedgerCorrupt LedgerDenied LedgerMisconfigured LedgerSchemaTooNew LedgerSchemaTooOld " +
		"LedgerIOError LedgerMissing LedgerFailed",
	"restricted": "ToolsWithheld",
	"stalled": "PolicyNotReady RoleNotFound ProviderNotFound ModelNotSet SecretNotFound APIKeyFileNotFound IdentityNotAllowed ConfigMapNotFound ToolServerNotFound ToolNotFound " +
		"SubAgentNotFound WorkspaceUnavailable WorkspaceNotAllowed PriceUnknown ChatNotFound KindNotFound WatchNotAllowed InvalidSpec " +
		"InvalidExpression TooManyPolicies BudgetExhausted HistoryLost TaskNotFound/Unknown RevisionNotFound RolledBack RevisionNotKept EvaluationFailed EvaluationNotFound CasesNotFound",
	"ended": "ModelError Cancelled TimedOut IterationLimit DepthLimit LoopDetected ToolError SubAgentError ReviewRejected ApprovalExpired Diverged EmptyReply ReplyCutOff " +
		"InvalidArguments OutputSchemaNotMet TaskNotFound TaskFinished NotWaiting WrongToolCall DigestMismatch EditNotAllowed EditInvalid AttachmentInvalid RequesterDenied " +
		"AllowanceMismatch AllowanceLimit AllowanceNotFound",
}

// expectation returns what a person expects of a state, or nothing for a reason that is not listed.
func expectation(reason, kind, status string) string {
	for _, name := range []string{reason + "/" + kind, reason + "/" + status, reason} {
		for verdict, names := range expected {
			if slices.Contains(strings.Fields(names), name) {
				return verdict
			}
		}
	}
	return ""
}

// TestEveryRow_ToolVerdict builds an object for every state of every kind in the table, and compares what the tools show.
func TestEveryRow_ToolVerdict(t *testing.T) {
	var objects bytes.Buffer
	want := map[string]string{}
	for _, r := range rows(t) {
		for _, on := range slices.Sorted(maps.Keys(r.States)) {
			name, status, _ := strings.Cut(on, "=")
			for _, kind := range r.States[on] {
				c := metav1.Condition{Type: name, Status: metav1.ConditionStatus(status), Reason: r.Reason, Message: "why", ObservedGeneration: 1}
				main := mainCondition(kind)
				all := conditions.Set(nil, kind, main, metav1.Now())
				object := makeObject(t, kind, r.Reason+status, "{}")
				object.SetGeneration(1)
				object.Object["status"] = map[string]any{"observedGeneration": int64(1), "conditions": conditions.Set(all, kind, c, metav1.Now())}
				writeObject(t, &objects, object)
				verdict := verdicts[expectation(r.Reason, kind, status)]
				want[kind+" "+r.Reason+status] = verdict.standing
				if main.Type == v1beta1.ConditionSucceeded {
					want[kind+" "+r.Reason+status] = verdict.run
				}
			}
		}
	}
	got := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(toolReport(t, &objects)), "\n")[1:] {
		fields := strings.Fields(line)
		got[fields[0]+" "+fields[1]] = strings.Join(fields[2:], "/")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts of kstatus, Flux and Argo CD (-want +got):\n%s", diff)
	}
}

type row struct {
	Reason string
	States map[string][]string
}

func rows(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "api", "v1beta1", "conditions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Reasons []row }
	if err := yaml.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Reasons) < 50 {
		t.Fatalf("the table has only %d reasons", len(table.Reasons))
	}
	return table.Reasons
}

// mainCondition returns the condition of an object of a kind about which nothing is to report.
func mainCondition(kind string) metav1.Condition {
	switch kind {
	case "AgentTask", "SubAgent", "AgentMessage":
		return metav1.Condition{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonRunning, ObservedGeneration: 1}
	}
	return metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonReady, ObservedGeneration: 1}
}
