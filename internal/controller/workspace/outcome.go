// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// outcomeTimeout is how long an interrupted call waits for the reason: a node reports some time after the connection
// broke.
const outcomeTimeout = 3 * time.Second

// podRef identifies a pod and its restarts, to determine later what happened to it.
type podRef struct {
	uid      types.UID
	restarts int32
}

func podRefOf(p *corev1.Pod) podRef {
	return podRef{uid: p.UID, restarts: serverStatus(p).RestartCount}
}

func serverStatus(p *corev1.Pod) corev1.ContainerStatus {
	for _, status := range p.Status.ContainerStatuses {
		if status.Name == pod.Container {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

type podOutcome struct {
	// message describes it; empty if nothing happened.
	message string
	// final means that no call in the pod can be answered any more.
	final bool
	// filesKept means that it is the same pod, so that its files still exist.
	filesKept bool
}

// outcome determines what has happened to a pod since the reference was made.
func (g podRef) outcome(p *corev1.Pod, now time.Time) podOutcome {
	switch {
	case hasEnded(p):
		return podOutcome{message: "the workspace's pod is lost: " + endText(p), final: true}
	case isStuck(p, now):
		return podOutcome{message: "the workspace's pod is lost: its node does not answer", final: true}
	case p.DeletionTimestamp != nil:
		return podOutcome{message: "the workspace's pod is being removed" + disruptionText(p)}
	}
	status := serverStatus(p)
	if t := lastFailure(status); t != nil {
		return podOutcome{message: "the workspace's server was ended " + terminationText(t), final: true, filesKept: true}
	}
	if status.RestartCount > g.restarts {
		text := "the workspace's server was started again"
		if t := status.LastTerminationState.Terminated; t != nil {
			text = "the workspace's server was ended " + terminationText(t) + " and has started again"
		}
		return podOutcome{message: text, final: true, filesKept: true}
	}
	return podOutcome{}
}

// terminationText describes how a container ended.
func terminationText(t *corev1.ContainerStateTerminated) string {
	if t.Reason == "OOMKilled" {
		return "because it used more memory than it may (OOMKilled)"
	}
	return fmt.Sprintf("with code %d %s", t.ExitCode, t.Reason)
}

// disruptions describes the reasons for which Kubernetes removes a pod.
var disruptions = map[string]string{
	corev1.PodReasonPreemptionByScheduler: "a more important pod took its place",
	"DeletionByTaintManager":              "its node is lost or can no longer be used",
	"EvictionByEvictionAPI":               "its node is being emptied",
	"DeletionByPodGC":                     "its node is gone",
	corev1.PodReasonTerminationByKubelet:  "its node ran short of something or is shutting down",
}

// disruptionText describes why a pod is being removed, if Kubernetes reports it.
func disruptionText(p *corev1.Pod) string {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return ""
	}
	c := p.Status.Conditions[i]
	text := c.Reason
	if known, ok := disruptions[c.Reason]; ok {
		text = known + " (" + c.Reason + ")"
	}
	return ": " + text + ", " + oneLine(c.Message)
}

// isStuck reports whether a pod was deleted but its node has not confirmed it for so long that the node counts as lost.
func isStuck(p *corev1.Pod, now time.Time) bool {
	return p.DeletionTimestamp != nil && !now.Before(p.DeletionTimestamp.Add(deletionTimeout))
}

// outcome determines what has happened to the pod with a name since the reference was made.
func (p *pods) outcome(ctx context.Context, name types.NamespacedName, g podRef) podOutcome {
	var current corev1.Pod
	err := p.options.Client.Get(ctx, name, &current)
	if err == nil && current.UID == g.uid {
		return g.outcome(&current, p.options.Now())
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return podOutcome{}
	}
	var last string
	p.uses.update(name, func(one *podUse) { last = one.outcomes[g.uid] })
	if last == "" {
		last = "the workspace's pod was removed"
	}
	return podOutcome{message: last, final: true}
}

// recordOutcome records how a pod ended, for its calls that notice later.
func (p *pods) recordOutcome(current *corev1.Pod) {
	var text string
	switch {
	case hasEnded(current):
		text = "the workspace's pod is lost: " + endText(current)
	case current.DeletionTimestamp != nil:
		text = "the workspace's pod was removed" + disruptionText(current)
	default:
		return
	}
	p.uses.update(client.ObjectKeyFromObject(current), func(one *podUse) { one.outcomes[current.UID] = text })
}

// lossMessage describes what happened to a workspace in which a call was interrupted, and to its files.
func (p *pods) lossMessage(ctx context.Context, spec pod.Spec, name types.NamespacedName, g podRef) string {
	ctx, cancel := context.WithTimeout(ctx, outcomeTimeout)
	defer cancel()
	for {
		turn := p.uses.watch(name)
		if f := p.outcome(ctx, name, g); f.message != "" {
			return f.message + ". " + filesMessage(spec, f.filesKept)
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return ""
		}
	}
}

// filesMessage describes what happens to the files of a workspace, whether its pod is the same or another one.
func filesMessage(spec pod.Spec, same bool) string {
	switch {
	case same:
		return "Its files are still there, but what ran in it has ended"
	case spec.Source.PersistentVolumeClaim != nil:
		return "Its files are kept on a volume; the next call starts it again"
	case spec.Source.Git != nil:
		return "Changes since they were last saved are lost; the next call starts it again with a fresh clone and the saved changes"
	}
	return "Changes since its files were last saved are lost; the next call starts it again with the saved files"
}

// errLost is the cause of a call that was cancelled because its workspace ended.
var errLost = errors.New("the workspace is lost")

// cancelOnPodLoss returns a context for a call that is cancelled when the pod is lost, because a lost node does not
// close connections.
func (p *pods) cancelOnPodLoss(ctx context.Context, name types.NamespacedName, g podRef) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			turn := p.uses.watch(name)
			if p.outcome(ctx, name, g).final {
				cancel(errLost)
			}
			select {
			case <-turn:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}
