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

// news is how long an interrupted call waits for the reason: a node reports some time after the connection broke.
const news = 3 * time.Second

// glimpse identifies a pod and its restarts, to determine later what happened to it.
type glimpse struct {
	uid      types.UID
	restarts int32
}

func glimpseOf(p *corev1.Pod) glimpse {
	return glimpse{uid: p.UID, restarts: serverStatus(p).RestartCount}
}

// serverStatus returns the status of the server's container.
func serverStatus(p *corev1.Pod) corev1.ContainerStatus {
	for _, status := range p.Status.ContainerStatuses {
		if status.Name == pod.Container {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

// fate is what happened to a pod.
type fate struct {
	// words describe it; empty if nothing happened.
	words string
	// final means that no call in the pod can be answered any more.
	final bool
	// kept means that it is the same pod, so that its files still exist.
	kept bool
}

// fate determines what happened to a pod since the glimpse.
func (g glimpse) fate(p *corev1.Pod, now time.Time) fate {
	switch {
	case over(p):
		return fate{words: "the workspace's pod is lost: " + ended(p), final: true}
	case stuck(p, now):
		return fate{words: "the workspace's pod is lost: its node does not answer", final: true}
	case p.DeletionTimestamp != nil:
		return fate{words: "the workspace's pod is being removed" + because(p)}
	}
	status := serverStatus(p)
	if t := failure(status); t != nil {
		return fate{words: "the workspace's server was ended " + how(t), final: true, kept: true}
	}
	if status.RestartCount > g.restarts {
		words := "the workspace's server was started again"
		if t := status.LastTerminationState.Terminated; t != nil {
			words = "the workspace's server was ended " + how(t) + " and has started again"
		}
		return fate{words: words, final: true, kept: true}
	}
	return fate{}
}

// how describes how a container ended.
func how(t *corev1.ContainerStateTerminated) string {
	if t.Reason == "OOMKilled" {
		return "because it used more memory than it may (OOMKilled)"
	}
	return fmt.Sprintf("with code %d %s", t.ExitCode, t.Reason)
}

// disruptions describes the reasons for which Kubernetes removes a pod.
var disruptions = map[string]string{
	corev1.PodReasonPreemptionByScheduler: "a more important pod took its place",
	"DeletionByTaintManager":              "its node is lost or may not be used any more",
	"EvictionByEvictionAPI":               "its node is being emptied",
	"DeletionByPodGC":                     "its node is gone",
	corev1.PodReasonTerminationByKubelet:  "its node ran short of something or is shutting down",
}

// because describes why a pod is being removed, if Kubernetes reports it.
func because(p *corev1.Pod) string {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return ""
	}
	c := p.Status.Conditions[i]
	words := c.Reason
	if known, ok := disruptions[c.Reason]; ok {
		words = known + " (" + c.Reason + ")"
	}
	return ": " + words + ", " + oneLine(c.Message)
}

// stuck reports whether a pod was deleted but its node has not confirmed it for so long that the node counts as lost.
func stuck(p *corev1.Pod, now time.Time) bool {
	return p.DeletionTimestamp != nil && !now.Before(p.DeletionTimestamp.Add(overdue))
}

// fate determines what happened to the pod of a name since the glimpse.
func (p *pods) fate(ctx context.Context, name types.NamespacedName, g glimpse) fate {
	var found corev1.Pod
	err := p.options.Client.Get(ctx, name, &found)
	if err == nil && found.UID == g.uid {
		return g.fate(&found, p.options.Now())
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fate{}
	}
	var last string
	p.uses.with(name, func(one *use) { last = one.ends[g.uid] })
	if last == "" {
		last = "the workspace's pod was removed"
	}
	return fate{words: last, final: true}
}

// remember records how a pod ended, for its calls that notice later.
func (p *pods) remember(found *corev1.Pod) {
	var words string
	switch {
	case over(found):
		words = "the workspace's pod is lost: " + ended(found)
	case found.DeletionTimestamp != nil:
		words = "the workspace's pod was removed" + because(found)
	default:
		return
	}
	p.uses.with(client.ObjectKeyFromObject(found), func(one *use) { one.ends[found.UID] = words })
}

// lost describes what happened to a workspace in which a call was interrupted, and to its files.
func (p *pods) lost(ctx context.Context, spec pod.Spec, name types.NamespacedName, g glimpse) string {
	ctx, cancel := context.WithTimeout(ctx, news)
	defer cancel()
	for {
		turn := p.uses.turn(name)
		if f := p.fate(ctx, name, g); f.words != "" {
			return f.words + ". " + files(spec, f.kept)
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return ""
		}
	}
}

// files describes what happens to the files of a workspace, whether its pod is the same or another one.
func files(spec pod.Spec, same bool) string {
	switch {
	case same:
		return "Its files are still there, but what ran in it has ended"
	case spec.Source.PersistentVolumeClaim != nil:
		return "Its files are kept on a volume; the next call starts it again"
	case spec.Source.Git != nil:
		return "What was changed in it is gone; the next call starts it again with a fresh clone"
	}
	return "Its files are gone with it; the next call starts it again, empty"
}

// errLost is the cause of a call that was cancelled because its workspace ended.
var errLost = errors.New("the workspace is lost")

// accompany returns a context for a call that is cancelled when the pod is lost, because a lost node does not close
// connections.
func (p *pods) accompany(ctx context.Context, name types.NamespacedName, g glimpse) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			turn := p.uses.turn(name)
			if p.fate(ctx, name, g).final {
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
