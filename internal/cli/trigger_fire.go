// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/kubewatch"
)

// maxFire bounds the body and headers of a firing by a person: annotations of an object have at most 256 KiB.
const maxFire = 128 << 10

type triggerFireOptions struct {
	body, object string
	headers      []string
	wait         bool
	timeout      time.Duration
	print        *printFlags
}

func newTriggerFire(f *Factory) *cobra.Command {
	o := triggerFireOptions{print: newPrintFlags("created")}
	cmd := &cobra.Command{
		Use:   "fire NAME",
		Short: "Start the work of a trigger now",
		Long: dedent(`
			Start the work of a trigger now, with the permission to patch the trigger and to create what it creates. The firing is
			recorded like every other: the condition of the source, dedupKey and concurrencyPolicy apply.

			The command prints the task or message that the firing created. If it started no work, the command prints the reason
			and exits with code 1. With --wait, it also waits until the task has ended, and prints the result as "run" does.

			` + exitCodes + `
		`),
		Example: dedent(`
			# Start the work of a schedule now, and print its result
			kubectl nestor trigger fire nightly --wait

			# Send what a webhook would send
			kubectl nestor trigger fire reviews --body request.json --header x-github-event=pull_request

			# The body may also be JSON
			kubectl nestor trigger fire alerts --body '{"alerts": [{"labels": {"alertname": "HighLatency"}}]}'
		`),
		Args:              argCount(1, 1, "the name of a trigger"),
		ValidArgsFunction: f.firstArg(triggers),
		RunE:              f.runE(o.run),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.body, "body", "", "The body for the expressions: JSON, or a file with JSON or YAML.")
	flags.StringArrayVar(&o.headers, "header", nil, "A header for the expressions, as name=value; may be repeated.")
	flags.StringVar(&o.object, "object", "", "For a watch: the object for the expressions, as JSON, or a file with JSON or YAML.")
	flags.BoolVar(&o.wait, "wait", false, "Wait until the task has ended, print the result, and exit with a code for the outcome.")
	flags.DurationVar(&o.timeout, "timeout", 0, "Give up after this time, for example 10m. 0 waits forever for the work, and 30 seconds for the operator to record the firing.")
	o.print.add(cmd)
	return cmd
}

// fireRequest is the value of the annotation that fires a trigger.
type fireRequest struct {
	ID      string            `json:"id"`
	Body    json.RawMessage   `json:"body,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Object  json.RawMessage   `json:"object,omitempty"`
}

func (o *triggerFireOptions) run(ctx context.Context, s *session, args []string) error {
	request, err := o.request(s.now())
	if err != nil {
		return err
	}
	t, err := s.getTrigger(ctx, args[0])
	if err != nil {
		return err
	}
	if o.wait && t.Spec.Message != nil {
		return usagef("--wait is for triggers that start tasks; %s writes to the chat %s, which `kubectl nestor chat %s` shows", t.Name, t.Spec.Message.Chat, t.Spec.Message.Chat)
	}
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	created, err := o.fire(ctx, s, t, request)
	if err != nil {
		return err
	}
	if !o.wait {
		return s.print(o.print, created)
	}
	task, ok := created.(*v1beta1.AgentTask)
	if !ok {
		return fmt.Errorf("unexpected %T", created)
	}
	s.noticef("%s/%s created", "agenttask.nestor.dev", task.Name)
	err = s.waitForTask(ctx, task, o.print)
	s.noticeIfInterrupted(ctx, "the task keeps running: `kubectl nestor tree` shows it, `kubectl nestor cancel %s` stops it", task.Name)
	return explainTimeout(err, "waiting for the task "+task.Name)
}

// request returns the request that the flags describe.
func (o *triggerFireOptions) request(now time.Time) (fireRequest, error) {
	request := fireRequest{ID: now.UTC().Format("20060102-150405-") + rand.String(5)}
	var err error
	if request.Body, err = readJSON("--body", o.body); err != nil {
		return request, err
	}
	if request.Object, err = readJSON("--object", o.object); err != nil {
		return request, err
	}
	for _, header := range o.headers {
		name, value, ok := strings.Cut(header, "=")
		if !ok || name == "" {
			return request, usagef("--header must be name=value, not %q", header)
		}
		if request.Headers == nil {
			request.Headers = map[string]string{}
		}
		request.Headers[strings.ToLower(name)] = value
	}
	if text, err := json.Marshal(request); err != nil || len(text) > maxFire {
		return request, usagef("the body and headers have %d bytes, at most %d are allowed", len(text), maxFire)
	}
	return request, nil
}

// readJSON returns the JSON of a flag, which is JSON or the name of a file with JSON or YAML.
func readJSON(flag, value string) (json.RawMessage, error) {
	if value == "" || json.Valid([]byte(value)) {
		return json.RawMessage(value), nil
	}
	content, err := os.ReadFile(value)
	if err != nil {
		return nil, usagef("%s is neither JSON nor a file that can be read: %s", flag, err)
	}
	data, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, usagef("%s %s is neither JSON nor YAML: %s", flag, value, err)
	}
	return data, nil
}

// recordTimeout is how long fire waits for the operator without --timeout.
const recordTimeout = 30 * time.Second

// fire requests a firing, waits until the operator has recorded it, and returns the task or message that it created.
func (o *triggerFireOptions) fire(ctx context.Context, s *session, t *v1beta1.AgentTrigger, request fireRequest) (client.Object, error) {
	if o.timeout == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, recordTimeout, errTimeout)
		defer cancel()
	}
	value, err := s.requestFire(ctx, t, request)
	if err != nil {
		return nil, explainTimeout(err, "waiting for an earlier request to fire the trigger; `kubectl nestor doctor` checks whether the operator is running")
	}
	id := "m" + request.ID
	now, err := kubewatch.Until(ctx, s.api, t, &v1beta1.AgentTriggerList{}, func(now *v1beta1.AgentTrigger) bool {
		return now.UID != t.UID || now.Annotations[v1beta1.AnnotationFire] != value && (!isCreating(now, id) || creationRefused(now) != "")
	})
	switch {
	case errors.Is(err, kubewatch.ErrDeleted) || err == nil && now.UID != t.UID:
		return nil, fmt.Errorf("the trigger %s was deleted", t.Name)
	case errors.Is(err, errTimeout):
		s.noticef("the request stays on the trigger, which fires as soon as the operator handles it")
	}
	if err != nil {
		return nil, explainTimeout(err, operatorWait)
	}
	if reason := whyNotFired(now, request.ID, id); reason != "" {
		return nil, fmt.Errorf("trigger %s did not fire: %s", t.Name, terminal.Line(reason))
	}
	return s.createdBy(ctx, now, id)
}

// requestFire writes the annotation that fires a trigger, and returns its value. It waits for an earlier request.
func (s *session) requestFire(ctx context.Context, t *v1beta1.AgentTrigger, request fireRequest) (string, error) {
	user, err := s.user(ctx)
	if err != nil {
		return "", err
	}
	value, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("encode the request: %w", err)
	}
	current := t
	for {
		current, err = kubewatch.Until(ctx, s.api, current, &v1beta1.AgentTriggerList{}, func(t *v1beta1.AgentTrigger) bool { return t.Annotations[v1beta1.AnnotationFire] == "" })
		if err != nil {
			return "", err
		}
		if current.UID != t.UID {
			return "", fmt.Errorf("the trigger %s was deleted", t.Name)
		}
		changed := current.DeepCopy()
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1beta1.AnnotationFire, string(value))
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1beta1.AnnotationFireUser, user)
		// The resource version makes sure that the request of another person is not replaced.
		err = s.api.Patch(ctx, changed, client.MergeFromWithOptions(current, client.MergeFromWithOptimisticLock{}))
		if !apierrors.IsConflict(err) {
			return string(value), err
		}
	}
}

// isCreating reports whether a firing is recorded and its object is not known yet.
func isCreating(t *v1beta1.AgentTrigger, id string) bool {
	return slices.ContainsFunc(t.Status.Pending, func(p v1beta1.PendingFiring) bool { return p.ID == id && p.UID == "" })
}

// creationRefused returns why the operator may not create the object of a recorded firing, or "".
func creationRefused(t *v1beta1.AgentTrigger) string {
	if c := meta.FindStatusCondition(t.Status.Conditions, v1beta1.ConditionReady); c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1beta1.ReasonCreationRefused {
		return c.Message
	}
	return ""
}

// whyNotFired returns why a request started no work, or "".
func whyNotFired(t *v1beta1.AgentTrigger, request, id string) string {
	if drop := t.Status.LastDrop; drop != nil && drop.ID == id {
		return string(drop.Reason) + ": " + drop.Message
	}
	if isCreating(t, id) {
		return "it is recorded, and starts when the operator may create its work: " + creationRefused(t)
	}
	if t.Status.LastFireID == id {
		return ""
	}
	var result struct {
		ID      string `json:"id"`
		Outcome string `json:"outcome"`
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(t.Annotations[v1beta1.AnnotationFireResult]), &result) == nil && result.ID == request {
		return result.Outcome + ": " + result.Message
	}
	return "another request replaced this one; `kubectl get events` may have details"
}

// createdBy returns the task or message that a firing created.
func (s *session) createdBy(ctx context.Context, t *v1beta1.AgentTrigger, id string) (client.Object, error) {
	runs, err := s.triggerRuns(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if run.Firing != id {
			continue
		}
		var object client.Object = &v1beta1.AgentTask{}
		if run.Kind == "AgentMessage" {
			object = &v1beta1.AgentMessage{}
		}
		return object, s.get(ctx, run.Name, object)
	}
	return nil, fmt.Errorf("trigger %s fired, but the created object is already deleted", t.Name)
}
