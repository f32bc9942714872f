// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/role"
)

// keepTried is for how many seconds the task that tried a draft is kept, with the role that it owns.
const keepTried = 86_400

// draft is a role that a person edits, under the name of the role that it would change.
type draft struct {
	Spec v1beta1.AgentRoleSpec `json:"spec"`
	// Instruction is that of the task that tries it.
	Instruction string `json:"instruction"`
}

// readDraft reads the draft of a request, and returns the role as agents would use it.
func readDraft(w http.ResponseWriter, r *http.Request) (namespace string, d draft, effective role.Role, err error) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	if err := checkNames("role", namespace, name); err != nil {
		return "", d, effective, err
	}
	if err := readJSON(w, r, maxBody, &d); err != nil {
		return "", d, effective, err
	}
	builtIn, _ := role.BuiltIn(name)
	return namespace, d, builtIn.Overlay(role.Role{Name: name, AgentRoleSpec: d.Spec}), nil
}

// prompt returns the system prompt that an agent with a draft would get, without the texts of ConfigMaps and the tools.
func (s *site) prompt(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace, d, effective, err := readDraft(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		writeError(w, fmt.Errorf("reach the API server: %w", err))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"systemPrompt":  agent.SystemPrompt(promptConfig(effective, rolesOf(r.Context(), client, namespace))),
		"fromConfigMap": d.Spec.SystemPromptFrom != nil || len(d.Spec.Skills) > 0,
	})
}

// promptConfig returns what the prompt of an agent with a role depends on. A chat has the orchestrator; other roles are those of sub-agents.
func promptConfig(r role.Role, known map[string]role.Role) agent.Config {
	limits := ptr.Deref(r.Limits, v1beta1.RoleLimits{})
	c := agent.Config{
		Kind: agent.SubAgent, Name: r.Name, Depth: 1, MaxDepth: 2, Role: agent.Role{Name: r.Name, DisplayName: r.DisplayName, Prompt: r.SystemPrompt},
		Limits: agent.Limits{MaxIterations: int(limits.MaxIterations), MaxDuration: 1000 * agent.Millis(limits.MaxDurationSeconds)},
		Task:   agent.Task{Instruction: "(the instruction of the task)"}, Remote: r.Remote != nil,
	}
	if r.Name == role.Orchestrator {
		c.Kind, c.Depth = agent.Orchestrator, 0
	}
	if r.OutputSchema != nil {
		c.OutputSchema = r.OutputSchema.Raw
	}
	for _, name := range r.Delegates() {
		of := known[name]
		d := agent.Delegate{Name: name, DisplayName: of.DisplayName, Description: of.Description, When: of.DelegateWhen}
		if of.AsTool != nil {
			d.AsTool = &agent.AsTool{Name: of.AsTool.Name, InputSchema: of.InputSchema()}
		}
		c.Delegates = append(c.Delegates, d)
	}
	return c
}

// rolesOf returns the roles that agents of a namespace may use, as far as the person may list them.
func rolesOf(ctx context.Context, client dynamic.Interface, namespace string) map[string]role.Role {
	known := map[string]role.Role{}
	for _, name := range role.Names() {
		known[name], _ = role.BuiltIn(name)
	}
	list, err := client.Resource(nestorResource(roles)).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: pageSize})
	if err != nil {
		return known
	}
	for i := range list.Items {
		if own := typed[v1beta1.AgentRole](&list.Items[i]); own != nil {
			known[own.Name] = known[own.Name].Overlay(role.Role{Name: own.Name, AgentRoleSpec: own.Spec})
		}
	}
	return known
}

// try runs a draft on a task without applying it: as the person, it creates a task that names a role which does not exist yet, and then
// the role, which the task owns. The task waits for its role, and takes it along when it is deleted.
func (s *site) try(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace, d, effective, err := readDraft(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	if strings.TrimSpace(d.Instruction) == "" {
		writeError(w, apierrors.NewBadRequest("Write what the agent should do."))
		return
	}
	person, err := review(r.Context(), config)
	if err != nil {
		writeError(w, err)
		return
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		writeError(w, fmt.Errorf("reach the API server: %w", err))
		return
	}
	name := fmt.Sprintf("try-%.40s-%s", effective.Name, rand.String(5))
	tried := &v1beta1.AgentRole{TypeMeta: metav1.TypeMeta{APIVersion: v1beta1.GroupVersion.String(), Kind: "AgentRole"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: effective.AgentRoleSpec}
	tried.Spec.AsTool = nil // it is offered to no one
	if tried.Spec.SystemPromptFrom = d.Spec.SystemPromptFrom; tried.Spec.SystemPromptFrom != nil {
		tried.Spec.SystemPrompt = ""
	}
	task := &v1beta1.AgentTask{TypeMeta: metav1.TypeMeta{APIVersion: v1beta1.GroupVersion.String(), Kind: "AgentTask"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	task.Spec = v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: name, Instruction: d.Instruction, User: person.Username, TTLSecondsAfterFinished: ptr.To[int32](keepTried),
	}
	created, err := createTried(r.Context(), client, tried, task)
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, created.Object)
}

// createTried creates the task and the role that it owns. The role is checked first: a task must not wait for a role that is rejected.
func createTried(ctx context.Context, client dynamic.Interface, tried *v1beta1.AgentRole, task *v1beta1.AgentTask) (*unstructured.Unstructured, error) {
	ofRoles := client.Resource(nestorResource(roles)).Namespace(task.Namespace)
	if _, err := ofRoles.Create(ctx, untyped(tried), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // a task without its role would wait forever
	created, err := client.Resource(nestorResource(tasks)).Namespace(task.Namespace).Create(ctx, untyped(task), metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	tried.OwnerReferences = []metav1.OwnerReference{{APIVersion: task.APIVersion, Kind: task.Kind, Name: task.Name, UID: created.GetUID()}}
	if _, err := ofRoles.Create(ctx, untyped(tried), metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	return created, nil
}

// untyped returns an object without its status.
func untyped(object any) *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(fmt.Sprintf("convert %T: %v", object, err)) // the API's own types
	}
	delete(content, "status")
	return &unstructured.Unstructured{Object: content}
}
