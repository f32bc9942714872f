// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// AnnotationCall is on a message that the operator posts about a question or an approval; its value is the id of the call.
// A reply to such a message is for that call. Only the operator writes it.
const AnnotationCall = "nestor.dev/call"

// AnnotationStopped is on a message of an assistant that contains the beginning of a reply: a person stopped it. Only the
// operator writes it.
const AnnotationStopped = "nestor.dev/stopped"

// AnnotationTruncated is on a message of an assistant whose reply reached the limit of output tokens and is cut off. Only
// the operator writes it.
const AnnotationTruncated = "nestor.dev/truncated"

// AnnotationPostsBefore is on a task that the orchestrator of a chat delegated; its value is the number of messages that the orchestrator had
// posted before. The name of a message that it posts ends with the number of the message. Only the operator writes it.
const AnnotationPostsBefore = "nestor.dev/posts-before"

// AnnotationArgumentsDigest is on a message that requests an approval; its value is the digest of the call. Only the operator writes
// it.
const AnnotationArgumentsDigest = "nestor.dev/arguments-digest"

// AnnotationCancelledBy is on a task and its sub-agent that were cancelled; its value is the user name of the person, or a text that describes
// the cause. Only the operator writes it.
const AnnotationCancelledBy = "nestor.dev/cancelled-by"

// AnnotationTitle is on a chat; its value is a title for people, which lists show instead of the name.
const AnnotationTitle = "nestor.dev/title"

// AnnotationFirstWords is on a chat; its value is the beginning of its first message, which lists show while the chat has no title. Clients that
// begin a chat with a message write it.
const AnnotationFirstWords = "nestor.dev/first-words"

// AnnotationRequest is on a task or message that came through the gateway; its value is a digest of the request, by which a repeated request
// with the same idempotency key is recognised.
const AnnotationRequest = "nestor.dev/request"

// AnnotationAnswers is on a message that came through the gateway; its value identifies the question or approval that the message answers, so
// that a repeated request is not told that this still waits.
const AnnotationAnswers = "nestor.dev/answers"

// AnnotationRun is on a task that came through the gateway; its value is the id that the client gave the run.
const AnnotationRun = "nestor.dev/run"

// Annotations on a task with push notifications.
const (
	// AnnotationPush has the push notification configurations of the task. Secrets in it are sealed.
	AnnotationPush = "nestor.dev/a2a-push"
	// AnnotationNotified has the newest notification of each receiver, and why it could not be delivered. It is also
	// on chats with notifications. Only the operator writes it.
	AnnotationNotified = "nestor.dev/notified"
)

// AnnotationNotice is on a message that the operator posts about something that receivers are notified of; its value
// is JSON with the number of the message, the state and what waits. Only the operator writes it.
const AnnotationNotice = "nestor.dev/notice"

// AnnotationFire is on a trigger that a person fires; its value is JSON with an id and, optionally, the body and headers of a request or
// the object of a watch. The operator removes it when the firing is recorded.
const AnnotationFire = "nestor.dev/fire"

// AnnotationFireUser is beside AnnotationFire; its value is the user name of the person, who requests the work.
const AnnotationFireUser = "nestor.dev/fire-user"

// AnnotationFireResult is on a trigger that a person fired, if the firing left nothing in the status: its value is JSON with the id of the
// request, an outcome for programs and a message for people. Only the operator writes it.
const AnnotationFireResult = "nestor.dev/fire-result"

// AnnotationPromote is on a gated AgentRole; its value is the revision that runs shall begin with, optionally with a slash and an id that makes
// repeated requests different. The status has the value that was handled last.
const AnnotationPromote = "nestor.dev/promote"

// AnnotationPromoteUser is beside AnnotationPromote; its value is the user name of the person who promotes the revision.
const AnnotationPromoteUser = "nestor.dev/promote-user"

// AnnotationFiring is on a task or message that a trigger created; its value is the UID of the trigger and the id of the firing. Only the
// operator writes it.
const AnnotationFiring = "nestor.dev/firing"

// AnnotationToolLoginServer and AnnotationToolLoginPerson are on a Secret with the login of a person at a tool server;
// their values are the namespace and name of the ToolServer, and the user name of the person. Only the operator writes them.
const (
	AnnotationToolLoginServer = "nestor.dev/tool-login-server"
	AnnotationToolLoginPerson = "nestor.dev/tool-login-person"
)

// AnnotationReportTo is on a task whose end is reported in an Event of another object; its value is JSON with the apiVersion, kind, name and
// uid of the object. Only the operator writes it, and removes it when it has reported.
const AnnotationReportTo = "nestor.dev/report-to"

// FinalizerFiring is on a task or message whose firing is not confirmed. Until it is removed, the operator does not start the work, and the
// object keeps its name.
const FinalizerFiring = "nestor.dev/firing"

// Labels on objects that came through the gateway.
const (
	// LabelDoor is on a task or message; its value is the protocol of the request: openai, a2a, mcp or ag-ui.
	LabelDoor = "nestor.dev/door"
	// LabelConversation is on a task; its value is a digest by which a later request of the same conversation finds it.
	LabelConversation = "nestor.dev/conversation"
)

// Labels on objects that the operator creates.
const (
	// LabelRoot is on everything that belongs to a tree; its value is the UID of the chat or standalone task at its root.
	LabelRoot = "nestor.dev/root"
	// LabelChat is on everything that belongs to a chat; its value is the chat's name.
	LabelChat = "nestor.dev/chat"
	// LabelRole is on a task and its sub-agent; its value is the name of the role.
	LabelRole = "nestor.dev/role"
	// LabelToolLogin is on a Secret with the login of a person at a tool server; its value is the UID of the ToolServer.
	LabelToolLogin = "nestor.dev/tool-login"
	// LabelTrigger is on a task or message that a trigger created; its value is the trigger's name.
	LabelTrigger = "nestor.dev/trigger"
	// LabelEvaluation is on a task that an evaluation created; its value is the evaluation's name.
	LabelEvaluation = "nestor.dev/evaluation"
	// LabelParent is on a task and its sub-agent that a sub-agent delegated; its value is the name of that sub-agent.
	LabelParent = "nestor.dev/parent"
)

// LabelRevision is on a ControllerRevision that contains a revision of a role; its value is the revision. LabelRole has the name of the role.
const LabelRevision = "nestor.dev/role-revision"

// LabelBuiltIn is on the AgentRoles of the operator's namespace that are installed with Nestor; its value is "true".
const LabelBuiltIn = "nestor.dev/built-in"

// Annotations and labels that people set on objects that agents may use.
const (
	// AnnotationGitHosts is on a Secret that workspaces may use; its value is a comma-separated list of the git servers that may receive
	// it: git.example.com, git.example.com:8443, http://git.example.com.
	AnnotationGitHosts = "nestor.dev/git-hosts"
	// LabelAttachment is on a ConfigMap that messages may attach; its value is "true".
	LabelAttachment = "nestor.dev/attachment"
	// LabelWorkspace is on a PersistentVolumeClaim that workspaces may use; its value is "true".
	LabelWorkspace = "nestor.dev/workspace"
)
