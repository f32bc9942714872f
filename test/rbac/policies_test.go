// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// policyCase is a request that RBAC allows. If words is not empty, a policy rejects it with that message.
type policyCase struct {
	who     person
	does    string
	message string
	try     func(context.Context) error
}

func policyCases() []policyCase {
	const (
		alone       = "messages of role Assistant are written by the operator alone: leave spec.role out, or set it to User"
		yourself    = "spec.user must be you: leave it out, or set it to "
		byChat      = "tasks of a chat are made by the operator alone: write an AgentMessage to the chat talk, or leave spec.chat out for a standalone task"
		byAgent     = "tasks that belong to an agent are made by the operator alone"
		unchanged   = "this task was delegated, and only the operator changes it: to cancel it, write an AgentMessage with spec.cancel"
		undeleted   = "this task was delegated, and goes with its chat: to cancel it, write an AgentMessage with spec.cancel"
		owned       = "this task was delegated, and goes with the one that asked for it: leave metadata.ownerReferences as it is"
		parent      = "the label nestor.dev/parent is the operator's: leave it out of new objects, and alone on others"
		cancelledBy = "the annotation nestor.dev/cancelled-by is the operator's: leave it out of new objects, and alone on others; to cancel with your name"
		noSubAgent  = "sub-agents are made by the operator alone: write an AgentMessage to a chat, or create a standalone AgentTask"
		noSecret    = "spec.workspace.git.secretName: you may not get the Secret login, so agents may not use it for you: ask for the right to get it, or leave it out"
		noClaim     = "spec.workspace.persistentVolumeClaim.claimName: you may not get the PersistentVolumeClaim files, so agents may not use it for you"
		noAttach    = "spec.attachments: you may not get the ConfigMap table, so you may not attach it: ask for the right to get it, or attach data"
		noPromote   = "ask for the verb promote on agentroles"
		noContext   = "context Summary and Full show the conversation of the agent that asked, and a standalone task has none"
	)
	message := func(s spec) spec {
		s["chat"], s["content"] = "talk", "Hello!"
		return s
	}
	small, hook := spec{"role": "general", "instruction": "Look."}, spec{"secretKeyRef": spec{"name": "login", "key": "token"}}
	suite := func() spec {
		return spec{"role": "helper", "cases": []any{map[string]any{"name": "one", "taskUID": "a"}}}
	}
	timed := func(s spec) spec {
		s["schedule"] = spec{"cron": "0 0 1 1 *"}
		return s
	}
	watching := func(version, kind string) spec {
		return spec{"watch": spec{"apiVersion": version, "kind": kind, "when": "true"}, "task": small}
	}
	attach := func(count int) spec {
		var attachments []any
		for i := range count {
			attachments = append(attachments, spec{"name": fmt.Sprintf("%d.csv", i), "mediaType": "text/csv", "configMapKeyRef": spec{"name": "table", "key": "a"}})
		}
		return message(spec{"attachments": attachments})
	}
	trusted := func(s spec) spec {
		s["trusted"] = true
		return s
	}
	closed := spec{"type": "object", "additionalProperties": false, "properties": spec{"spam": spec{"type": "boolean"}}}
	server := func() spec { return spec{"url": "http://127.0.0.1:1/mcp"} }
	return []policyCase{
		creates(admin, "a ToolServer", "ToolServer", server(), ""),
		creates(admin, "a ToolServer with a content label", "ToolServer", spec{"url": "http://127.0.0.1:1/mcp", "contentLabels": []any{"internal"}}, ""),
		creates(admin, "a trusted ToolServer", "ToolServer", trusted(server()), "spec.trusted: you may not trust this object: ask for the verb trust on toolservers"),
		patches(admin, "trusts a ToolServer", "toolservers", "tools", `{"spec":{"trusted":true}}`, "spec.trusted: you may not trust this object"),
		creates(admin, "a role with a trusted skill", "AgentRole", spec{"systemPrompt": "Help.", "skills": []any{trusted(spec{"configMapName": "letters"})}}, "trusted: you may not trust this object"),
		creates(admin, "a trusted remote role", "AgentRole", spec{"remote": trusted(spec{"a2a": spec{"url": "https://agents.example.com"}})}, "trusted: you may not trust this object"),
		creates(admin, "an isolated role", "AgentRole", spec{"isolated": true, "systemPrompt": "You read.", "outputSchema": closed}, "spec.isolated: you may not trust this object: ask for the verb trust on agentroles"),
		creates(admin, "a role that is not isolated", "AgentRole", spec{"isolated": false, "systemPrompt": "You read.", "outputSchema": closed}, ""),
		creates(admin, "a gated role", "AgentRole", spec{"systemPrompt": "Help.", "promotion": spec{"mode": "Gated"}}, ""),
		patches(admin, "changes a gated role", "agentroles", "gated", `{"spec":{"systemPrompt":"Help more."}}`, ""),
		patches(admin, "gates a role", "agentroles", "helper", `{"spec":{"promotion":{"mode":"Gated"}}}`, ""),
		patches(admin, "promotes a revision", "agentroles", "gated", `{"metadata":{"annotations":{"nestor.dev/promote":"1a"}}}`, noPromote),
		patches(admin, "makes a gated role immediate", "agentroles", "gated", `{"spec":{"promotion":{"mode":"Immediate"}}}`, noPromote),
		patches(admin, "removes the gate of a role", "agentroles", "gated", `{"spec":{"promotion":null}}`, noPromote),
		patches(admin, "names the evaluation of a gated role", "agentroles", "gated", `{"spec":{"promotion":{"evaluation":"suite"}}}`, noPromote),
		patches(admin, "gates a role with an evaluation", "agentroles", "helper", `{"spec":{"promotion":{"mode":"Gated","evaluation":"suite"}}}`, ""),
		creates(admin, "an evaluation of a role that they may not promote", "AgentEvaluation", suite(), "you may not promote revisions of the role helper, which an evaluation may do"),
		creates(admin, "a fork with a revision", "AgentTask", spec{"type": "Agent", "role": "helper", "fork": spec{"uid": "a", "task": "research", "roleRevision": "1a"}}, "spec.fork.roleRevision is the operator's"),
		creates(admin, "a trusted trigger", "AgentTrigger", trusted(timed(spec{"task": small})), "spec.trusted: you may not trust this object"),

		creates(user, "a message with a ConfigMap", "AgentMessage", attach(1), noAttach),
		creates(user, "a message with eight ConfigMaps", "AgentMessage", attach(8), noAttach),
		creates(user, "a message with attached data", "AgentMessage", message(spec{"attachments": []any{spec{"name": "a.txt", "mediaType": "text/plain", "data": "SGVsbG8="}}}), ""),
		creates(owner, "a message with eight ConfigMaps", "AgentMessage", attach(8), ""),
		creates(user, "a message without a user", "AgentMessage", message(spec{}), ""),
		creates(user, "a message as themselves", "AgentMessage", message(spec{"user": "user"}), ""),
		creates(user, "a message as another user", "AgentMessage", message(spec{"user": "owner"}), yourself+"user"),
		creates(user, "a cancel as themselves", "AgentMessage", spec{"chat": "talk", "user": "user", "cancel": spec{}}, ""),
		creates(user, "a cancel as another user", "AgentMessage", spec{"chat": "talk", "user": "owner", "cancel": spec{}}, yourself+"user"),
		creates(user, "an approval as another user", "AgentMessage", spec{"chat": "talk", "user": "owner", "approval": spec{"task": "talk-1", "decision": "Approve"}}, yourself+"user"),
		creates(user, "a message of role User", "AgentMessage", message(spec{"role": "User"}), ""),
		creates(user, "a message of role Assistant", "AgentMessage", message(spec{"role": "Assistant"}), alone),
		creates(user, "a message of role System", "AgentMessage", message(spec{"role": "System"}), "messages of role System are written by the operator alone"),
		creates(runner, "a message of role Assistant", "AgentMessage", message(spec{"role": "Assistant"}), alone),
		creates(owner, "a message of role Assistant", "AgentMessage", message(spec{"role": "Assistant"}), alone),
		creates(theOperator, "a message of role Assistant", "AgentMessage", message(spec{"role": "Assistant"}), ""),

		creates(user, "a chat as themselves", "AgentChat", spec{"user": "user"}, ""),
		creates(user, "a chat as another user", "AgentChat", spec{"user": "owner"}, yourself+"user"),
		creates(admin, "a chat as another user", "AgentChat", spec{"user": "user"}, yourself+"admin"),
		patches(user, "takes a chat for themselves", "agentchats", "talk", `{"spec":{"user":"user"}}`, ""),
		patches(user, "gives a chat to another user", "agentchats", "talk", `{"spec":{"user":"owner"}}`, yourself+"user"),
		patches(user, "changes a chat's limits", "agentchats", "talk", `{"spec":{"limits":{"maxDepth":1}}}`, ""),

		creates(user, "a chat with a public repository", "AgentChat", spec{"workspace": repository("")}, ""),
		creates(user, "a chat with a Secret that they may not read", "AgentChat", spec{"workspace": repository("login")}, noSecret),
		creates(admin, "a chat with a Secret that they may not read", "AgentChat", spec{"workspace": repository("login")}, noSecret),
		creates(edit, "a chat with a Secret that they may read", "AgentChat", spec{"workspace": repository("login")}, ""),
		creates(user, "a chat with a volume that they may not see", "AgentChat", spec{"workspace": volume("files")}, noClaim),
		creates(owner, "a chat with a volume that they may see", "AgentChat", spec{"workspace": volume("files")}, ""),
		patches(user, "adds a workspace with a Secret to a chat", "agentchats", "talk", `{"spec":{"workspace":{"git":{"url":"https://git.example.com/x","secretName":"login"}}}}`, noSecret),
		patches(user, "adds a workspace with a volume to a chat", "agentchats", "talk", `{"spec":{"workspace":{"persistentVolumeClaim":{"claimName":"files"}}}}`, noClaim),
		patches(edit, "adds a workspace with a Secret to a chat", "agentchats", "talk", `{"spec":{"workspace":{"git":{"url":"https://git.example.com/x","secretName":"login"}}}}`, ""),
		patches(user, "gives a chat with a Secret another role", "agentchats", "private", `{"spec":{"role":"helper"}}`, noSecret),
		patches(user, "labels a chat with a Secret", "agentchats", "private", `{"metadata":{"labels":{"example.com/team":"a"}}}`, ""),
		creates(runner, "a task with a Secret that they may not read", "AgentTask", tool(spec{"workspace": repository("login")}), noSecret),
		creates(runner, "a task with a volume that they may not see", "AgentTask", tool(spec{"workspace": volume("files")}), noClaim),
		creates(edit, "a task with a Secret that they may read", "AgentTask", tool(spec{"workspace": repository("login")}), ""),

		creates(runner, "a standalone task", "AgentTask", tool(spec{}), ""),
		creates(runner, "a standalone task with a group", "AgentTask", tool(spec{"group": "g1"}), "spec.group is the operator's"),
		creates(runner, "a standalone task with the context Summary", "AgentTask", work(spec{"context": "Summary"}), noContext),
		creates(runner, "a standalone task with the context Full", "AgentTask", work(spec{"context": "Full"}), noContext),
		creates(runner, "a standalone task with the context None", "AgentTask", work(spec{"context": "None"}), ""),
		creates(runner, "a standalone task with files", "AgentTask", work(spec{"context": "Selective", "contextFiles": []any{"README.md"}}), ""),
		creates(theOperator, "a task with a group and a context", "AgentTask", work(spec{"context": "Summary", "group": "g1"}), ""),
		creates(runner, "a task of a chat", "AgentTask", tool(spec{"chat": "talk"}), byChat),
		creates(owner, "a task of a chat", "AgentTask", tool(spec{"chat": "talk"}), byChat),
		createsOwned(runner, "a task that the sub-agent owns", v1beta1.GroupVersion.String(), byAgent),
		createsOwned(runner, "a task that a sub-agent of another group owns", "example.com/v1", byAgent),
		patches(runner, "cancels a standalone task", "agenttasks", "research", `{"spec":{"cancel":true}}`, ""),
		patches(runner, "cancels a chat's task", "agenttasks", "of-the-chat", `{"spec":{"cancel":true}}`, unchanged),
		patches(runner, "cancels an agent's task", "agenttasks", "of-the-research", `{"spec":{"cancel":true}}`, unchanged),
		patches(owner, "cancels a chat's task", "agenttasks", "of-the-chat", `{"spec":{"cancel":true}}`, unchanged),
		patches(runner, "says who cancelled a task", "agenttasks", "research", `{"metadata":{"annotations":{"nestor.dev/cancelled-by":"owner"}}}`, cancelledBy),
		patches(runner, "labels a chat's task", "agenttasks", "of-the-chat", `{"metadata":{"labels":{"example.com/team":"a"}}}`, ""),
		patches(runner, "gives a standalone task a parent", "agenttasks", "research", `{"metadata":{"labels":{"nestor.dev/parent":"research"}}}`, parent),
		patches(owner, "gives a chat's task a parent", "agenttasks", "of-the-chat", `{"metadata":{"labels":{"nestor.dev/parent":"research"}}}`, parent),
		patches(runner, "frees an agent's task", "agenttasks", "of-the-research", `{"metadata":{"ownerReferences":null}}`, owned),
		patches(runner, "frees an agent's task and cancels it", "agenttasks", "of-the-research", `{"metadata":{"ownerReferences":null},"spec":{"cancel":true}}`, unchanged),
		changesOwner(runner, "changes who controls an agent's task", func(o *metav1.OwnerReference) { o.Controller = ptr.To(!ptr.Deref(o.Controller, false)) }, byAgent),
		changesOwner(runner, "gives an agent's task an owner that is not there", func(o *metav1.OwnerReference) { o.Name = "nobody" }, byAgent),
		changesOwner(runner, "lets an agent's task not keep its owner", func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = ptr.To(false) }, ""),
		patches(admin, "frees an agent's task", "agenttasks", "of-the-research", `{"metadata":{"ownerReferences":null}}`, ""),
		annotates(runner, "a task", "AgentTask", tool(spec{}), "the annotation nestor.dev/firing is the operator's"),
		annotates(user, "a message", "AgentMessage", message(spec{}), "the annotation nestor.dev/firing is the operator's"),
		createsOwnedByTrigger(runner, "tasks and messages of a trigger or an evaluation are made by the operator alone"),
		creates(runner, "a task with a tool of a server", "AgentTask", spec{"type": "Tool", "tool": "github__merge"}, ""),
		creates(runner, "a task with their group", "AgentTask", tool(spec{"user": "runner", "userGroups": []any{"system:authenticated"}}), ""),
		creates(runner, "a task with a group of others", "AgentTask", tool(spec{"user": "runner", "userGroups": []any{"platform"}}), "spec.userGroups must be groups that you are in"),
		creates(runner, "a fired task", "AgentTask", tool(spec{"fireUser": "owner"}), "spec.fireUser is the operator's"),
		creates(user, "a fired message", "AgentMessage", message(spec{"fireUser": "owner"}), "spec.fireUser is the operator's"),
		creates(theOperator, "a fired task", "AgentTask", tool(spec{"fireUser": "owner"}), ""),
		patches(runner, "holds an agent's task", "agenttasks", "of-the-research", `{"metadata":{"finalizers":["nestor.dev/firing"]}}`, "the finalizer nestor.dev/firing is the operator's"),
		patches(owner, "marks a role", "agentroles", "helper", `{"metadata":{"labels":{"nestor.dev/root":"x"}}}`, "the label nestor.dev/root is the operator's"),
		patches(owner, "gives a chat the label of a chat", "agentchats", "talk", `{"metadata":{"labels":{"nestor.dev/chat":"talk"}}}`, "the label nestor.dev/chat must be spec.chat"),
		patches(edit, "forges the result of a firing", "agenttriggers", "nightly", `{"metadata":{"annotations":{"nestor.dev/fire-result":"{}"}}}`, "the annotation nestor.dev/fire-result is the operator's"),
		deletes(runner, "a standalone task", "research", ""),
		deletes(runner, "a chat's task", "of-the-chat", undeleted),
		deletes(runner, "an agent's task", "of-the-research", undeleted),
		deletes(admin, "a chat's task", "of-the-chat", ""),
		deletes(owner, "a chat's task", "of-the-chat", ""),
		deletes(theOperator, "a chat's task", "of-the-chat", ""),

		// A trigger acts later, with the operator's permissions.
		creates(runner, "a trigger of tasks", "AgentTrigger", timed(spec{"task": small}), ""),
		creates(runner, "a trigger of messages", "AgentTrigger", timed(spec{"message": spec{"chat": "talk", "content": "Hello!"}}), ""),
		creates(runner, "a trigger as themselves", "AgentTrigger", timed(spec{"task": small, "user": "runner"}), ""),
		creates(runner, "a trigger as another user", "AgentTrigger", timed(spec{"task": small, "user": "owner"}), "spec.user must be you, because you write the spec: leave it out, or set it to runner"),
		creates(runner, "a trigger of tasks with a Secret that they may not read", "AgentTrigger", timed(spec{"task": spec{"role": "general", "instruction": "Look.", "workspace": repository("login")}}), ofTask(noSecret)),
		creates(runner, "a trigger of tasks with a volume that they may not see", "AgentTrigger", timed(spec{"task": spec{"role": "general", "instruction": "Look.", "workspace": volume("files")}}), ofTask(noClaim)),
		creates(edit, "a trigger of tasks with a Secret that they may read", "AgentTrigger", timed(spec{"task": spec{"role": "general", "instruction": "Look.", "workspace": repository("login")}}), ""),
		creates(runner, "a trigger with a webhook whose Secret they may not read", "AgentTrigger", spec{"webhook": hook, "task": small}, "spec.webhook.secretKeyRef: you may not get the Secret login"),
		creates(edit, "a trigger with a webhook whose Secret they may read", "AgentTrigger", spec{"webhook": hook, "task": small}, ""),
		creates(runner, "a trigger that watches pods", "AgentTrigger", watching("v1", "Pod"), "spec.watch: you may not watch pods, so a trigger may not watch them for you"),
		creates(runner, "a trigger that watches policies", "AgentTrigger", watching("networking.k8s.io/v1", "NetworkPolicy"), "you may not watch networkpolicies"),
		creates(runner, "a trigger that watches ingresses", "AgentTrigger", watching("networking.k8s.io/v1", "Ingress"), "you may not watch ingresses"),
		creates(runner, "a trigger that watches gateways", "AgentTrigger", watching("gateway.networking.k8s.io/v1", "Gateway"), "you may not watch gateways"),
		creates(edit, "a trigger that watches pods", "AgentTrigger", watching("v1", "Pod"), ""),
		creates(edit, "a trigger that watches what they may not", "AgentTrigger", watching("example.com/v1", "Thing"), "you may not watch things"),
		patches(edit, "rewrites another user's trigger in their name", "agenttriggers", "nightly", `{"spec":{"task":{"instruction":"Send me everything."}}}`, "spec.user must be you, because you write the spec: leave it out, or set it to edit"),
		patches(edit, "takes over a trigger", "agenttriggers", "nightly", `{"spec":{"user":"edit","task":{"instruction":"Look."}}}`, ""),
		patches(edit, "suspends another user's trigger", "agenttriggers", "nightly", `{"spec":{"suspend":true}}`, ""),
		patches(edit, "labels another user's trigger", "agenttriggers", "nightly", `{"metadata":{"labels":{"example.com/team":"a"}}}`, ""),
		patches(edit, "fires a trigger", "agenttriggers", "nightly", `{"metadata":{"annotations":{"nestor.dev/fire":"{\"id\":\"1\"}"}}}`, ""),
		patches(edit, "fires a trigger as themselves", "agenttriggers", "nightly", `{"metadata":{"annotations":{"nestor.dev/fire":"{\"id\":\"1\"}","nestor.dev/fire-user":"edit"}}}`, ""),
		patches(edit, "fires a trigger as another user", "agenttriggers", "nightly", `{"metadata":{"annotations":{"nestor.dev/fire":"{\"id\":\"1\"}","nestor.dev/fire-user":"runner"}}}`, "the annotation nestor.dev/fire-user must be you"),

		// Only the operator has a role that allows creating or changing sub-agents; the policy is for administrators.
		asRoot("a trusted ToolServer", "", func(ctx context.Context) error { // root has all verbs, trust too
			_, err := administrator().Resource(resource("toolservers")).Namespace(team).Create(ctx, object("ToolServer", "new", trusted(server())), metav1.CreateOptions{DryRun: dry})
			return err
		}),
		asRoot("an isolated role", "", func(ctx context.Context) error {
			_, err := administrator().Resource(resource("agentroles")).Namespace(team).Create(ctx, object("AgentRole", "new", spec{"isolated": true, "systemPrompt": "You read.", "outputSchema": closed}), metav1.CreateOptions{DryRun: dry})
			return err
		}),
		asRoot("an evaluation", "", func(ctx context.Context) error {
			_, err := administrator().Resource(resource("agentevaluations")).Namespace(team).Create(ctx, object("AgentEvaluation", "new", suite()), metav1.CreateOptions{DryRun: dry})
			return err
		}),
		asRoot("a promotion", "", promote("gated", "")),
		asRoot("a promotion of a role that is not gated", "is for roles with the spec.promotion.mode Gated", promote("helper", "")),
		asRoot("a promotion as another user", "the annotation nestor.dev/promote-user must be you", promote("gated", "alice")),
		asRoot("a sub-agent", noSubAgent, func(ctx context.Context) error {
			_, err := administrator().Resource(resource("subagents")).Namespace(team).Create(ctx, object("SubAgent", "new", kinds[3].spec), metav1.CreateOptions{DryRun: dry})
			return err
		}),
		asRoot("a cancelled sub-agent", "only the operator changes a sub-agent", func(ctx context.Context) error {
			_, err := administrator().Resource(resource("subagents")).Namespace(team).Patch(ctx, "research", types.MergePatchType, []byte(`{"spec":{"cancel":true}}`), metav1.PatchOptions{DryRun: dry})
			return err
		}),
		asRoot("a label on a sub-agent", "", func(ctx context.Context) error {
			_, err := administrator().Resource(resource("subagents")).Namespace(team).Patch(ctx, "research", types.MergePatchType, touch, metav1.PatchOptions{DryRun: dry})
			return err
		}),
	}
}

// repository returns a workspace with a git repository, and a Secret if that is not empty.
func repository(secret string) spec {
	git := spec{"url": "https://git.example.com/team/app.git"}
	if secret != "" {
		git["secretName"] = secret
	}
	return spec{"git": git}
}

func volume(claim string) spec { return spec{"persistentVolumeClaim": spec{"claimName": claim}} }

func work(s spec) spec {
	s["type"], s["role"], s["instruction"] = "Agent", "general", "Count to three."
	return s
}

func tool(s spec) spec {
	s["type"], s["tool"] = "Tool", "calculator"
	return s
}

func plural(kind string) string {
	for _, k := range kinds {
		if k.kind == kind {
			return k.resource
		}
	}
	return ""
}

func creates(who person, what, kind string, s spec, message string) policyCase {
	return policyCase{who, "creates " + what, message, func(ctx context.Context) error {
		_, err := as(who).Resource(resource(plural(kind))).Namespace(team).Create(ctx, object(kind, "new", s), metav1.CreateOptions{DryRun: dry})
		return err
	}}
}

// createsOwned creates a task as if the sub-agent had delegated it.
func createsOwned(who person, what, group, message string) policyCase {
	return policyCase{who, "creates " + what, message, func(ctx context.Context) error {
		task := object("AgentTask", "new", tool(spec{}))
		task.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: group, Kind: "SubAgent", Name: "research", Controller: ptr.To(true), UID: standing(ctx, "subagents", "research").GetUID(),
		}})
		_, err := as(who).Resource(resource("agenttasks")).Namespace(team).Create(ctx, task, metav1.CreateOptions{DryRun: dry})
		return err
	}}
}

// annotates creates an object as if a trigger had created it.
func annotates(who person, what, kind string, s spec, message string) policyCase {
	return policyCase{who, "creates with the annotation of a firing " + what, message, func(ctx context.Context) error {
		forged := object(kind, "new", s)
		forged.SetAnnotations(map[string]string{v1beta1.AnnotationFiring: "uid/m1"})
		_, err := as(who).Resource(resource(plural(kind))).Namespace(team).Create(ctx, forged, metav1.CreateOptions{DryRun: dry})
		return err
	}}
}

// createsOwnedByTrigger creates a task as if it belonged to a trigger.
func createsOwnedByTrigger(who person, message string) policyCase {
	return policyCase{who, "creates a task that a trigger owns", message, func(ctx context.Context) error {
		task := object("AgentTask", "new", tool(spec{}))
		task.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: v1beta1.GroupVersion.String(), Kind: "AgentTrigger", Name: "nightly", Controller: ptr.To(true), UID: standing(ctx, "agenttriggers", "nightly").GetUID(),
		}})
		_, err := as(who).Resource(resource("agenttasks")).Namespace(team).Create(ctx, task, metav1.CreateOptions{DryRun: dry})
		return err
	}}
}

// changesOwner changes the owner of the sub-agent's task.
func changesOwner(who person, does string, change func(*metav1.OwnerReference), message string) policyCase {
	return policyCase{who, does, message, func(ctx context.Context) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the operator writes the status
			task := standing(ctx, "agenttasks", "of-the-research")
			owners := task.GetOwnerReferences()
			change(&owners[0])
			task.SetOwnerReferences(owners)
			_, err := as(who).Resource(resource("agenttasks")).Namespace(team).Update(ctx, task, metav1.UpdateOptions{DryRun: dry})
			return err
		})
	}}
}

func patches(who person, does, of, name, patch, message string) policyCase {
	return policyCase{who, does, message, func(ctx context.Context) error {
		_, err := as(who).Resource(resource(of)).Namespace(team).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dry})
		return err
	}}
}

func deletes(who person, what, name, message string) policyCase {
	return policyCase{who, "deletes " + what, message, func(ctx context.Context) error {
		return as(who).Resource(resource("agenttasks")).Namespace(team).Delete(ctx, name, metav1.DeleteOptions{DryRun: dry})
	}}
}

// ofTask returns a message about the spec of a task as a trigger has it.
func ofTask(message string) string { return "spec.task." + strings.TrimPrefix(message, "spec.") }

func asRoot(what, message string, try func(context.Context) error) policyCase {
	return policyCase{"root", "makes " + what, message, try}
}

// promote sets the annotations that promote a revision of a role.
func promote(role, user string) func(context.Context) error {
	return func(ctx context.Context) error {
		annotations := spec{v1beta1.AnnotationPromote: "1a"}
		if user != "" {
			annotations[v1beta1.AnnotationPromoteUser] = user
		}
		patch, err := json.Marshal(spec{"metadata": spec{"annotations": annotations}})
		if err != nil {
			return err
		}
		_, err = administrator().Resource(resource("agentroles")).Namespace(team).Patch(ctx, role, types.MergePatchType, patch, metav1.PatchOptions{DryRun: dry})
		return err
	}
}

var _ = Describe("The policies", func() {
	for _, c := range policyCases() {
		name := string(c.who) + " " + c.does
		if c.message == "" {
			It("allow: "+name, func(ctx SpecContext) { Expect(c.try(ctx)).To(Succeed()) })
			continue
		}
		It("reject: "+name, func(ctx SpecContext) {
			err := c.try(ctx)
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(ContainSubstring(c.message)))
		})
	}
})
