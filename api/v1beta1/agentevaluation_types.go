// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EvaluationResults is where the results of an evaluation's calls come from. They are never live.
// +kubebuilder:validation:Enum=Recorded;ReadOnly
type EvaluationResults string

// The sources of results of an evaluation.
const (
	// EvaluationRecorded: from the record.
	EvaluationRecorded EvaluationResults = "Recorded"
	// EvaluationReadOnly: from the record, and read-only tools run.
	EvaluationReadOnly EvaluationResults = "ReadOnly"
)

// Verdict is what an evaluation has found about a candidate.
// +kubebuilder:validation:Enum=Passed;Failed;Inconclusive
type Verdict string

// The verdicts.
const (
	// VerdictPassed: all thresholds are met.
	VerdictPassed Verdict = "Passed"
	// VerdictFailed: a threshold is not met.
	VerdictFailed Verdict = "Failed"
	// VerdictInconclusive: too many cases have no outcome, or a cost is not known.
	VerdictInconclusive Verdict = "Inconclusive"
)

// CaseOutcome is how the candidate did in a case.
// +kubebuilder:validation:Enum=Regressed;Failed;Inconclusive;Passed
type CaseOutcome string

// The outcomes of cases, from the worst.
const (
	// CaseRegressed: most runs of the baseline passed, and those of the candidate did not.
	CaseRegressed CaseOutcome = "Regressed"
	// CaseFailed: not even half of the candidate's runs passed, nor did most of the baseline's.
	CaseFailed CaseOutcome = "Failed"
	// CaseInconclusive: no run of the candidate has an outcome.
	CaseInconclusive CaseOutcome = "Inconclusive"
	// CasePassed: most runs of the candidate passed.
	CasePassed CaseOutcome = "Passed"
)

// Expectation is a CEL expression about a run, which must be true.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
type Expectation = string

// AgentEvaluationSpec is a suite of recorded runs, and what is expected of a candidate that does their work again.
// +kubebuilder:validation:XValidation:rule="!has(self.judge) || self.judge != self.role",message="judge must be another role: an isolated one, whose runs cannot be repeated"
type AgentEvaluationSpec struct {
	// role is the AgentRole of this namespace whose revisions are evaluated. Its promotion mode must be Gated.
	// +required
	Role Name `json:"role"`
	// cases are the recorded runs, and what is expected of each.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Cases []EvaluationCase `json:"cases"`
	// judge is an isolated AgentRole of this namespace that reads the task and the result of each run; expressions of expect read
	// its data as judge. A case that reads it needs another expression that does not.
	// +optional
	Judge Name `json:"judge,omitempty"`
	// toolResults is where the results of calls come from: Recorded, or ReadOnly, which also runs read-only tools. A run
	// that makes any other call than those in the record is inconclusive.
	// +optional
	// +default="Recorded"
	ToolResults EvaluationResults `json:"toolResults,omitempty"`
	// repeats is the number of times that each revision does the work of each run.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	Repeats *int32 `json:"repeats,omitempty"`
	// thresholds determine the verdict.
	// +optional
	// +default={}
	Thresholds EvaluationThresholds `json:"thresholds,omitzero"`
}

// EvaluationCase selects recorded runs, and has what is expected of them.
// +kubebuilder:validation:XValidation:rule="has(self.taskUID) != has(self.taskSelector)",message="set either taskUID or taskSelector"
type EvaluationCase struct {
	// name identifies the case in the status.
	// +required
	Name Name `json:"name"`
	// taskUID is the metadata.uid of an AgentTask of this namespace that has ended. It may be deleted once the evaluation has
	// resolved its cases.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TaskUID string `json:"taskUID,omitempty"`
	// taskSelector matches the labels of AgentTasks of the role that have ended, without forks. It is resolved once for
	// each generation of the spec, so that a case does not change from one candidate to the next.
	// +optional
	TaskSelector *metav1.LabelSelector `json:"taskSelector,omitempty"`
	// expect are CEL expressions over result, data, calls, usage, labels and judge, which must all be true. Without any, a
	// run passes if its task succeeds.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Expect []Expectation `json:"expect,omitempty"`
}

// EvaluationThresholds are what a candidate must reach.
type EvaluationThresholds struct {
	// minPassRate is the smallest percentage of the candidate's runs that must pass, of those that have an outcome.
	// +optional
	// +default=100
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MinPassRate *int32 `json:"minPassRate,omitempty"`
	// maxRegressions is the number of runs that may pass with the promoted revision and fail with the candidate.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=200
	MaxRegressions int32 `json:"maxRegressions,omitempty"`
	// maxCostIncreasePercent is how much more the candidate may cost than the promoted revision. If absent, the cost does
	// not matter.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	MaxCostIncreasePercent *int32 `json:"maxCostIncreasePercent,omitempty"`
	// maxInconclusive is the number of runs that may have no outcome with the candidate, for example because it makes a
	// call that is not in the record.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=200
	MaxInconclusive int32 `json:"maxInconclusive,omitempty"`
}

// EvaluatedRun is a recorded run that a case has resolved to.
type EvaluatedRun struct {
	// case is the name of the case.
	// +required
	Case Name `json:"case"`
	// task is the AgentTask of the run.
	// +required
	Task Name `json:"task"`
	// subAgent is the SubAgent of the run.
	// +required
	SubAgent Name `json:"subAgent"`
	// uid is the UID of the SubAgent.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
}

// EvaluationLane sums up the runs of one revision.
type EvaluationLane struct {
	// passed is the number of runs that met all expectations.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Passed int32 `json:"passed,omitempty"`
	// failed is the number of runs that did not.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failed int32 `json:"failed,omitempty"`
	// inconclusive is the number of runs without an outcome.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Inconclusive int32 `json:"inconclusive,omitempty"`
	// passRate is the percentage of runs that passed, of those that have an outcome, rounded down. It is absent if none has.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PassRate *int32 `json:"passRate,omitempty"`
	// totalTokens is the number of tokens that the runs used, without those of the judge.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalTokens int64 `json:"totalTokens,omitempty"`
	// costMicros is the cost of the runs in millionths of the currency, without that of the judge. It is absent if the cost
	// of any run is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CostMicros *int64 `json:"costMicros,omitempty"`
	// currency is the currency of costMicros.
	// +optional
	// +kubebuilder:validation:MaxLength=3
	// +kubebuilder:validation:Pattern="^[A-Z]{3}$"
	Currency string `json:"currency,omitempty"`
	// averageDurationSeconds is how long a run took on average, rounded up.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AverageDurationSeconds int64 `json:"averageDurationSeconds,omitempty"`
}

// CaseResult is how both revisions did in a case.
type CaseResult struct {
	// case is the name of the case.
	// +required
	Case Name `json:"case"`
	// task is the AgentTask of the recorded run.
	// +required
	Task Name `json:"task"`
	// outcome is Regressed, Failed, Inconclusive or Passed.
	// +required
	Outcome CaseOutcome `json:"outcome"`
	// baselinePassed is the number of the promoted revision's runs that passed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BaselinePassed int32 `json:"baselinePassed,omitempty"`
	// candidatePassed is the number of the candidate's runs that passed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CandidatePassed int32 `json:"candidatePassed,omitempty"`
	// candidateTask is the AgentTask of the candidate's run that the message is about, or of its first one.
	// +optional
	CandidateTask Name `json:"candidateTask,omitempty"`
	// message describes why the candidate did not pass.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}

// AgentEvaluationStatus is the verdict on the newest candidate.
type AgentEvaluationStatus struct {
	// observedGeneration is the generation of the spec that is in effect; -1 until the operator has checked the object.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// resolvedGeneration is the generation of the spec whose cases have been resolved, and which the verdict is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ResolvedGeneration int64 `json:"resolvedGeneration,omitempty"`
	// runs are the recorded runs that the cases have resolved to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=200
	Runs []EvaluatedRun `json:"runs,omitempty"`
	// candidateRevision is the revision that is evaluated, or was evaluated last.
	// +optional
	CandidateRevision Revision `json:"candidateRevision,omitempty"`
	// baselineRevision is the promoted revision that it is compared with.
	// +optional
	BaselineRevision Revision `json:"baselineRevision,omitempty"`
	// startTime is the time when the evaluation of the candidate began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is the time of the verdict.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// judgeRevision is the revision of the judge that judges the runs of both revisions.
	// +optional
	JudgeRevision Revision `json:"judgeRevision,omitempty"`
	// completedTasks is the number of tasks of both revisions that have ended, with those of the judge that have ended or
	// are not needed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CompletedTasks int32 `json:"completedTasks,omitempty"`
	// totalTasks is the number of tasks of both revisions, with those of the judge.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalTasks int32 `json:"totalTasks,omitempty"`
	// verdict is Passed, Failed or Inconclusive, once all tasks have ended.
	// +optional
	Verdict Verdict `json:"verdict,omitempty"`
	// regressions is the number of runs that passed with the promoted revision and failed with the candidate.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Regressions int32 `json:"regressions,omitempty"`
	// inconclusive is the number of runs that have no outcome with the candidate.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Inconclusive int32 `json:"inconclusive,omitempty"`
	// costIncreasePercent is how much more the candidate costs, over the runs that both revisions have completed. It is absent
	// if that is not known.
	// +optional
	// +kubebuilder:validation:Minimum=-100
	CostIncreasePercent *int32 `json:"costIncreasePercent,omitempty"`
	// baseline sums up the runs of the promoted revision.
	// +optional
	Baseline *EvaluationLane `json:"baseline,omitempty"`
	// candidate sums up the runs of the candidate.
	// +optional
	Candidate *EvaluationLane `json:"candidate,omitempty"`
	// cases are the results of up to 50 cases, the worst first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Cases []CaseResult `json:"cases,omitempty"`
	// conditions contains Ready, Reconciling while a candidate is evaluated, and Stalled if a person must act.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AgentEvaluation is a standing suite of recorded runs. Each candidate revision of its role does their work again, beside
// the promoted revision, in forks whose calls get the recorded results.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=aeval,categories=nestor
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.role`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="Passed %",type=integer,JSONPath=`.status.candidate.passRate`
// +kubebuilder:printcolumn:name="Regressions",type=integer,JSONPath=`.status.regressions`
// +kubebuilder:printcolumn:name="Candidate",type=string,JSONPath=`.status.candidateRevision`,priority=1
// +kubebuilder:printcolumn:name="Baseline",type=string,JSONPath=`.status.baselineRevision`,priority=1
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="metadata.name must have at most 63 characters and no dots, so that roles can refer to it"
type AgentEvaluation struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is the suite.
	// +required
	Spec AgentEvaluationSpec `json:"spec,omitzero"`
	// status is the verdict on the newest candidate.
	// +optional
	// +default={"observedGeneration": -1}
	// +structType=atomic
	Status AgentEvaluationStatus `json:"status,omitzero"`
}

// AgentEvaluationList is a list of evaluations.
//
// +kubebuilder:object:root=true
type AgentEvaluationList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []AgentEvaluation `json:"items"`
}
