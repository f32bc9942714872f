// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TranscriptCalls are the tool calls of an agent as ToolPolicies judge them, computed from its recorded events, even
// from those at times without policies. A moment is an event in which a call was planned, started or decided, with the
// content labels and the usage at that event.
//
// +kubebuilder:object:root=true
type TranscriptCalls struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// agent identifies the agent that made the calls.
	// +required
	Agent TranscriptAgent `json:"agent"`
	// callerRole is the role of the agent that created the tool run: policies judge the call as one of that role. It is
	// absent for a person's task, and if the record no longer has the caller.
	// +optional
	CallerRole string `json:"callerRole,omitempty"`
	// moments are a page of the calls, in order. A call may occur several times.
	// +required
	// +listType=atomic
	Moments []CallMoment `json:"moments"`
	// next is the since of the next page. It is absent if this page contains the newest call.
	// +optional
	Next *int64 `json:"next,omitempty"`
}

// CallMomentKind is what happens to a call.
// +enum
type CallMomentKind string

// What happens to a call at a moment.
const (
	// CallPlanned: the model has requested it, and policies judge it for the first time.
	CallPlanned CallMomentKind = "Planned"
	// CallStarts: it is about to start, or to continue after an answer or a restart, and policies judge it again.
	CallStarts CallMomentKind = "Starts"
	// CallDecided: a person or an allowance approved or denied it.
	CallDecided CallMomentKind = "Decided"
)

// CallMoment is a call at one moment.
type CallMoment struct {
	// seq is the event at that moment. All moments of an event are on the same page.
	// +required
	Seq int64 `json:"seq"`
	// time is the time of the event.
	// +required
	Time metav1.MicroTime `json:"time"`
	// kind is what happens to the call.
	// +required
	Kind CallMomentKind `json:"kind"`
	// toolCall is the id of the call, as in the entries of the transcript.
	// +required
	ToolCall string `json:"toolCall"`
	// tool is the name of the tool, as used by the model.
	// +optional
	Tool string `json:"tool,omitempty"`
	// arguments are the arguments that policies judge, as JSON, or in a Decided moment, those that the person wrote. A call that starts several
	// runs has a moment for each of them, with its part of the arguments.
	// +optional
	Arguments string `json:"arguments,omitempty"`
	// readOnly is true if the agent's configuration declares the tool read-only. For a tool of a ToolServer, policies
	// read spec.readOnlyTools of the ToolServer instead.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
	// control is true for the agent's own tools, which belong to no ToolServer.
	// +optional
	Control bool `json:"control,omitempty"`
	// targetRole is the role of the run that the call starts.
	// +optional
	TargetRole string `json:"targetRole,omitempty"`
	// contentLabels are the content labels of the agent's context.
	// +optional
	// +listType=atomic
	ContentLabels []ContentLabel `json:"contentLabels,omitempty"`
	// judgedAs identifies the agent that counts as the caller when policies judge an input by reference. It is absent
	// for other calls.
	// +optional
	JudgedAs *JudgedAs `json:"judgedAs,omitempty"`
	// usage is the usage of the whole tree when the call was judged. It includes the reservations of calls in flight but
	// not the call itself, and is absent if it was not recorded.
	// +optional
	Usage *TreeUsage `json:"usage,omitempty"`
	// requesters are the people who had requested the work. They are absent if the record of the chat or task was pruned.
	// +optional
	Requesters *CallRequesters `json:"requesters,omitempty"`
	// judged is true if policies applied to the agent, so that verdicts are those of all policies that matched the call.
	// +optional
	Judged bool `json:"judged,omitempty"`
	// verdicts are the verdicts of policies. Those on a call that starts several runs are in the first of its moments.
	// +optional
	// +listType=atomic
	Verdicts []PolicyVerdict `json:"verdicts,omitempty"`
	// decision is Approve or Deny.
	// +optional
	Decision string `json:"decision,omitempty"`
	// user is the person who decided, if known.
	// +optional
	User string `json:"user,omitempty"`
	// allowance is the name of the allowance that approved the call.
	// +optional
	Allowance string `json:"allowance,omitempty"`
	// comment is what the person wrote.
	// +optional
	Comment string `json:"comment,omitempty"`
}

// ContentLabel is a content label with its first source.
type ContentLabel struct {
	// name is the label.
	// +required
	Name string `json:"name"`
	// source is the tool whose result first had the label, or another source such as parent or message.
	// +optional
	Source string `json:"source,omitempty"`
	// toolCall is the id of the call that brought it, if a call did.
	// +optional
	ToolCall string `json:"toolCall,omitempty"`
}

// PolicyVerdict is the verdict of a policy's rule on a call, or the policy's permission.
type PolicyVerdict struct {
	// policy is the namespace and name of the ToolPolicy.
	// +required
	Policy string `json:"policy"`
	// uid is the UID of the ToolPolicy.
	// +optional
	UID string `json:"uid,omitempty"`
	// generation is the generation of its spec at that moment.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// rule is the rule that does not allow the call; absent if the policy allows it.
	// +optional
	Rule string `json:"rule,omitempty"`
	// action is Allow, RequireApproval or Deny.
	// +required
	Action string `json:"action"`
	// audit is true if the verdict has no effect.
	// +optional
	Audit bool `json:"audit,omitempty"`
	// failed is true if the call is denied because the expression of the rule failed, or because the arguments could not be read.
	// +optional
	Failed bool `json:"failed,omitempty"`
	// message is the message of the rule.
	// +optional
	Message string `json:"message,omitempty"`
}

// JudgedAs identifies the agent that counts as the caller when policies judge a call.
type JudgedAs struct {
	// role is its role.
	// +optional
	Role string `json:"role,omitempty"`
	// depth is its depth.
	// +optional
	Depth int32 `json:"depth,omitempty"`
}

// TreeUsage is the usage of a tree of agents when a call was judged.
type TreeUsage struct {
	// tokens is the number of tokens.
	// +optional
	Tokens int64 `json:"tokens,omitempty"`
	// costMicros is the cost in millionths of the currency.
	// +optional
	CostMicros int64 `json:"costMicros,omitempty"`
	// tasks is the number of tasks that were started.
	// +optional
	Tasks int64 `json:"tasks,omitempty"`
	// writes is the number of calls that may have changed something.
	// +optional
	Writes int64 `json:"writes,omitempty"`
}

// CallRequesters are the people who had requested the work when a call was judged, without the author of the chat or task.
type CallRequesters struct {
	// users are their user names.
	// +optional
	// +listType=atomic
	Users []string `json:"users,omitempty"`
	// unknown is true if at least one of them is not known by name.
	// +optional
	Unknown bool `json:"unknown,omitempty"`
}
