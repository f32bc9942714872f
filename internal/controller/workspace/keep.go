// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// The files of git and emptyDir are lost with their pod. So their changes are stored in the ledger when the work of the
// chat or task pauses or ends, and before the pod is stopped, and a new pod serves no call before it has them:
//
//	calls end ─▶ keep ─▶ ledger ─▶ pod is removed ─▶ next call ─▶ new pod (of the same commit) ─▶ restore ─▶ the call
//
// A pod reports itself whether it has been restored, so that a crash of the operator at any point repeats a step and
// loses nothing.

const (
	// keepTimeout bounds one attempt to read the changes of a pod.
	keepTimeout = 3 * time.Minute
	// keepRetryTime is for how long a pod whose changes cannot be read is kept before it is removed without them.
	keepRetryTime = 10 * time.Minute
	// restoreTimeout bounds the attempts to restore changes.
	restoreTimeout = time.Minute
)

// ReasonNotKept is the reason of the Event for changes that were not kept.
const ReasonNotKept = v1beta1.ReasonWorkspaceNotKept

// kept is what the summary of kept changes contains besides the changes.
type kept struct {
	changes.Summary
	// NotKept means that there is no archive although there were changes; Message says why.
	NotKept bool `json:"notKept,omitempty"`
	// URL is the repository; empty for another source.
	URL string `json:"url,omitempty"`
	// Fork has the files with which a fork begins. It is absent after the fork has changed files itself.
	Fork *ForkFiles `json:"fork,omitempty"`
}

// keeps reports whether the files of a pod would be lost with it.
func keeps(spec pod.Spec) bool { return spec.Source.PersistentVolumeClaim == nil }

// keepBefore stores the changes of a pod that is about to be stopped. It reports whether the pod may be stopped now.
func (p *pods) keepBefore(ctx context.Context, location Location, current *corev1.Pod) (bool, error) {
	name := client.ObjectKeyFromObject(current)
	err := p.keep(ctx, location, current)
	var since time.Time
	p.uses.update(name, func(one *podUse) {
		if err == nil {
			one.keepFailing = time.Time{}
			return
		}
		if one.keepFailing.IsZero() {
			one.keepFailing = p.options.Now()
		}
		since = one.keepFailing
	})
	if err == nil {
		return true, nil
	}
	if p.options.Now().Sub(since) < keepRetryTime {
		return false, err
	}
	return true, p.store(ctx, location, kept{NotKept: true, Summary: changes.Summary{Message: fmt.Sprintf("The workspace did not answer for %s: %v.", keepRetryTime, err)}}, nil)
}

// keep stores the changes of a running pod, unless they are stored already.
func (p *pods) keep(ctx context.Context, location Location, current *corev1.Pod) error {
	spec, err := p.spec(location)
	if err != nil || p.options.Ledger == nil || !keeps(spec) || !isReady(current) || !waitsForRestore(current) {
		return err
	}
	name := client.ObjectKeyFromObject(current)
	var served, stored int
	p.uses.update(name, func(one *podUse) { served, stored = one.served, one.stored })
	if stored == served {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	if err := p.readAndStore(ctx, location); err != nil {
		return err
	}
	p.uses.update(name, func(one *podUse) { one.stored = served })
	return nil
}

func (p *pods) readAndStore(ctx context.Context, location Location) error {
	read := podChanges{p, location}
	summary, err := read.Changes(ctx)
	if errors.Is(err, changes.ErrNoBase) {
		return p.store(ctx, location, kept{NotKept: true, Summary: changes.Summary{Message: "The changes cannot be determined: " + err.Error() + "."}}, nil)
	}
	if err != nil || summary == nil {
		return err // a pod that was not restored has no changes
	}
	archive, running, err := read.Archive(ctx)
	if errors.Is(err, changes.ErrTooLarge) {
		summary.TooLarge, summary.Message = true, "The changes are not saved when the workspace stops: "+err.Error()+"."
		return p.store(ctx, location, kept{NotKept: true, Summary: *summary}, nil)
	}
	if err != nil {
		return err
	}
	if !running {
		return errors.New("the workspace ended before its changes were read")
	}
	return p.store(ctx, location, kept{Summary: *summary}, archive)
}

// store writes changes to the ledger, and reports with an Event those that were not kept. They never replace changes
// that were kept earlier.
func (p *pods) store(ctx context.Context, location Location, k kept, archive []byte) error {
	top, err := p.topAgent(ctx, location.Owner)
	if err != nil {
		return err
	}
	k.URL = urlOf(location)
	w := ledger.Workspace{Owner: string(location.Owner.GetUID()), Agent: top, Source: podChanges{p, location}.Source(), CapturedAt: p.options.Now(), Archive: archive}
	lost, tooLarge := k.NotKept, k.TooLarge
	if lost {
		earlier, stored, err := p.earlier(ctx, location)
		if err != nil {
			return err
		}
		if stored != nil {
			earlier.Message = fmt.Sprintf("Changes after %s were not saved. %s", stored.CapturedAt.UTC().Format(time.RFC3339), k.Message)
			k, w = earlier, *stored
		}
	}
	if w.Summary, err = json.Marshal(k); err != nil {
		return fmt.Errorf("encode the changes: %w", err)
	}
	if err := p.options.Ledger.KeepWorkspace(ctx, w); err != nil {
		return fmt.Errorf("keep the changes of the workspace: %w", err)
	}
	var shown *projection.NotKept
	if lost {
		shown = &projection.NotKept{TooLarge: tooLarge, Message: oneLine(k.Message)}
	}
	if err := p.showKept(ctx, location.Owner, shown); err != nil {
		return err
	}
	if lost && p.options.Events != nil {
		p.options.Events.Eventf(location.Owner, nil, corev1.EventTypeWarning, ReasonNotKept, "Keep", "%s", oneLine(k.Message))
	}
	return nil
}

// topAgent returns the UID of the sub-agent of a standalone task, or "" if the owner itself has the agent.
func (p *pods) topAgent(ctx context.Context, owner client.Object) (string, error) {
	task, ok := owner.(*v1beta1.AgentTask)
	if !ok || task.Status.SubAgent == "" {
		return "", nil
	}
	var sub v1beta1.SubAgent
	err := p.options.Client.Get(ctx, types.NamespacedName{Namespace: task.Namespace, Name: task.Status.SubAgent}, &sub)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(&sub, task) {
		return "", nil // the task is being deleted
	}
	if err != nil {
		return "", fmt.Errorf("get the agent of %s/%s: %w", task.Namespace, task.Name, err)
	}
	return string(sub.UID), nil
}

// earlier returns the changes that were kept before, or nil.
func (p *pods) earlier(ctx context.Context, location Location) (kept, *ledger.Workspace, error) {
	spec, err := p.spec(location)
	if err != nil {
		return kept{}, nil, err
	}
	k, w, found, err := p.keptOf(ctx, spec)
	if err != nil || !found || k.NotKept {
		return kept{}, nil, err
	}
	k.Message = ""
	return k, &w, nil
}

// keptOf returns what was kept of a workspace; found is false if nothing was.
func (p *pods) keptOf(ctx context.Context, spec pod.Spec) (k kept, w ledger.Workspace, found bool, err error) {
	if p.options.Ledger == nil || !keeps(spec) {
		return k, w, false, nil
	}
	w, err = p.options.Ledger.WorkspaceOf(ctx, spec.Owner.UID)
	if errors.Is(err, ledger.ErrNotFound) {
		return k, w, false, nil
	}
	if err == nil {
		err = json.Unmarshal(w.Summary, &k)
	}
	if err != nil {
		return k, w, false, fmt.Errorf("read the workspace's saved changes: %w", err)
	}
	return k, w, true, nil
}

// withKept completes the spec of a new pod with the commit that kept changes are relative to, and returns a note for
// the model.
func (p *pods) withKept(ctx context.Context, spec pod.Spec) (pod.Spec, string, error) {
	k, w, found, err := p.keptOf(ctx, spec)
	if err != nil || !found {
		return spec, startedAnew + " files are as at its start, and earlier changes are lost.", err
	}
	if k.NotKept {
		return spec, startedAnew + " files are as at its start, and earlier changes were not saved. " + k.Message, nil
	}
	if spec.Source.Git != nil && k.BaseCommit != "" {
		git := *spec.Source.Git
		git.Commit, spec.Source.Git = k.BaseCommit, &git
	}
	note := fmt.Sprintf("%s files are as they were saved at %s. %s", startedAnew, w.CapturedAt.UTC().Format(time.RFC3339), k.Message)
	return spec, strings.TrimSpace(note), nil
}

const startedAnew = "The workspace was restarted:"

// restore restores kept changes in a pod that has not got them yet.
func (p *pods) restore(ctx context.Context, spec pod.Spec, name types.NamespacedName, current *corev1.Pod) error {
	var restored types.UID
	p.uses.update(name, func(one *podUse) { restored = one.restored })
	if restored == current.UID || !waitsForRestore(current) {
		return nil
	}
	_, w, _, err := p.keptOf(ctx, spec)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, restoreTimeout)
	defer cancel()
	if _, err := p.requestAgain(ctx, spec, name, http.MethodPut, "changes/archive", w.Archive); err != nil {
		return fmt.Errorf("restore the workspace's saved changes: %w", err)
	}
	p.uses.update(name, func(one *podUse) { one.restored = current.UID })
	return nil
}

// waitsForRestore reports whether a pod serves nothing before it was restored.
func waitsForRestore(current *corev1.Pod) bool {
	return slices.ContainsFunc(current.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == pod.Container && slices.Contains(c.Args, pod.WaitForRestore)
	})
}
