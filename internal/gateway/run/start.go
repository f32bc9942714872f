// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/similar"
)

// ErrKeyReused means that an idempotency key was used before for another request.
var ErrKeyReused = errors.New("this idempotency key was used for another request: use a new key for each request")

// maxKey bounds an idempotency key.
const maxKey = 256

// Request describes a standalone task.
type Request struct {
	Namespace, Role string
	// Instruction is the work. Arguments is the input of a role with an input schema.
	Instruction     string
	Arguments       json.RawMessage
	SuccessCriteria string
	// OutputSchema is the JSON schema of the structured result.
	OutputSchema  json.RawMessage
	ModelProvider string
	Model         string
	// ContinueFrom is a finished SubAgent of the same role whose memory the agent continues.
	ContinueFrom string
	Limits       *v1beta1.TaskLimits
	TTLSeconds   *int32
	// Key is an idempotency key: requests of the same user with the same key, namespace and role are one request. If
	// empty, each request starts a run.
	Key string
	// Repeated reports that the client marks the request as a repetition; see StartOnce.
	Repeated bool
	// Door is the protocol of the request; it becomes a label.
	Door                string
	Labels, Annotations map[string]string
}

// Start creates a standalone task. It reports false if an earlier request with the same key created it.
func (c *Caller) Start(ctx context.Context, r Request) (_ *v1beta1.AgentTask, created bool, err error) {
	task, err := c.task(r)
	if err != nil {
		return nil, false, err
	}
	if err := c.checkRole(ctx, r.Namespace, r.Role); err != nil {
		return nil, false, err
	}
	err = c.API.Create(ctx, task)
	if err == nil {
		return task, true, nil
	}
	if !apierrors.IsAlreadyExists(err) || r.Key == "" {
		return nil, false, err
	}
	existing := &v1beta1.AgentTask{}
	if err := c.API.Get(ctx, client.ObjectKeyFromObject(task), existing); err != nil {
		return nil, false, err
	}
	if existing.Annotations[v1beta1.AnnotationRequest] != task.Annotations[v1beta1.AnnotationRequest] || existing.Spec.User != c.User {
		return nil, false, ErrKeyReused
	}
	return existing, false, nil
}

// TaskName returns the name of the task that a request with an idempotency key creates.
func (c *Caller) TaskName(r Request) string { return c.name(r.Role, r.Namespace, r.Role, r.Key) }

// checkRole returns an error if the role does not exist, because its task would never start. It returns nil if the
// caller may not read roles.
func (c *Caller) checkRole(ctx context.Context, namespace, name string) error {
	if _, ok := role.BuiltIn(name); ok {
		return nil
	}
	for _, place := range []string{namespace, c.connector.operatorNamespace} {
		err := c.API.Get(ctx, client.ObjectKey{Namespace: place, Name: name}, &v1beta1.AgentRole{})
		if !apierrors.IsNotFound(err) {
			return client.IgnoreNotFound(ignoreForbidden(err))
		}
	}
	return NotFound(fmt.Sprintf("there is no role %q in the namespace %s%s", name, namespace, c.SimilarRoles(ctx, namespace, name)))
}

// SimilarRoles returns "; did you mean A or B?" with roles of the namespace, or ".".
func (c *Caller) SimilarRoles(ctx context.Context, namespace, name string) string {
	names := role.Names()
	var list v1beta1.AgentRoleList
	_ = c.API.List(ctx, &list, client.InNamespace(namespace)) // without permission, only built-in roles are suggested
	for _, r := range list.Items {
		names = append(names, r.Name)
	}
	return cmp.Or(similar.DidYouMean(name, names), ".")
}

// Discard deletes a task whose role does not exist, or cancels it if the caller may not delete tasks. It returns the
// result of SimilarRoles.
func (c *Caller) Discard(ctx context.Context, task *v1beta1.AgentTask) (suggestion string, err error) {
	err = c.API.Delete(ctx, task, client.Preconditions{UID: &task.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsForbidden(err) {
		err = c.Cancel(ctx, task.Namespace, task.Name, "no such role")
	}
	return c.SimilarRoles(ctx, task.Namespace, task.Spec.Role), client.IgnoreNotFound(err)
}

func checkKey(key string) error {
	if len(key) > maxKey {
		return apierrors.NewBadRequest(fmt.Sprintf("The idempotency key has more than %d characters.", maxKey))
	}
	return nil
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

func (c *Caller) task(r Request) (*v1beta1.AgentTask, error) {
	if err := checkKey(r.Key); err != nil {
		return nil, err
	}
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.Namespace, Name: c.TaskName(r),
		Labels: map[string]string{v1beta1.LabelDoor: r.Door}, Annotations: map[string]string{},
	}}
	maps.Copy(task.Labels, r.Labels)
	maps.Copy(task.Annotations, r.Annotations)
	task.Spec = v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: r.Role, Instruction: r.Instruction, SuccessCriteria: r.SuccessCriteria, ModelProvider: r.ModelProvider,
		Model: r.Model, ContinueFrom: r.ContinueFrom, Limits: r.Limits, TTLSecondsAfterFinished: r.TTLSeconds, User: c.User,
	}
	if len(r.Arguments) > 0 {
		task.Spec.Arguments = &runtime.RawExtension{Raw: r.Arguments}
	}
	if len(r.OutputSchema) > 0 {
		task.Spec.OutputSchema = &runtime.RawExtension{Raw: r.OutputSchema}
	}
	digest, err := digestOf(task.Spec)
	if err != nil {
		return nil, err
	}
	task.Annotations[v1beta1.AnnotationRequest] = digest
	return task, nil
}

// digestOf returns the digest by which a repeated request is recognized.
func digestOf(spec any) (string, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("encode the request: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// maxPrefix bounds the readable part of a name, so that the tasks of a run and their suffixes fit into 63 characters.
const maxPrefix = 30

// name returns the name of an object: derived from the user, namespace, scope and idempotency key, or random without
// a key.
func (c *Caller) name(prefix, namespace, scope, key string) string {
	suffix := rand.Text()
	if key != "" {
		// Lengths separate the parts, so that different lists of parts never have the same hash.
		h := sha256.New()
		for _, part := range []string{c.User, namespace, scope, key} {
			fmt.Fprintf(h, "%d:%s", len(part), part)
		}
		suffix = base32.StdEncoding.EncodeToString(h.Sum(nil))
	}
	prefix = strings.TrimRight(prefix[:min(len(prefix), maxPrefix)], "-")
	return prefix + "-" + strings.ToLower(suffix[:16])
}

func (c *Caller) Task(ctx context.Context, namespace, name string) (*v1beta1.AgentTask, error) {
	task := &v1beta1.AgentTask{}
	err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, task)
	return task, err
}

// Tasks returns the caller's tasks that match a selector. Tasks of others can have the same labels, because anyone
// with permission to create tasks can choose them.
func (c *Caller) Tasks(ctx context.Context, namespace string, selector labels.Selector) ([]v1beta1.AgentTask, error) {
	var list v1beta1.AgentTaskList
	err := c.API.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector})
	return slices.DeleteFunc(list.Items, func(t v1beta1.AgentTask) bool { return t.Spec.User != c.User }), err
}
