// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// overdue is how long after its grace period a pod may still exist before its node counts as lost.
const overdue = 30 * time.Second

// verdict is what to do with a pod.
type verdict struct {
	// remove means to delete the pod, and force to do so without confirmation by its node; why is for the log.
	remove, force bool
	why           string
	// again is when to check it again; zero means at its next change.
	again time.Duration
}

// judge decides what to do with a pod, given the time of its last use and the number of calls in it.
func judge(p *corev1.Pod, idle time.Duration, calls int, last, now time.Time) verdict {
	if at := p.DeletionTimestamp; at != nil {
		left := at.Add(overdue).Sub(now)
		switch {
		case left > 0:
			return verdict{again: left}
		case onClaim(p):
			// Two pods on one volume could corrupt it: only a person, or the node, can confirm that the old one is
			// gone.
			return verdict{}
		}
		return verdict{remove: true, force: true, why: "its node does not answer"}
	}
	if over(p) {
		return verdict{remove: true, why: ended(p)}
	}
	if calls > 0 {
		return verdict{again: idle}
	}
	if left := last.Add(idle).Sub(now); left > 0 {
		return verdict{again: left}
	}
	return verdict{remove: true, why: fmt.Sprintf("it was not used for %s", idle)}
}

func onClaim(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

// over reports whether a pod has ended and will not restart by itself.
func over(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// ended describes how a pod ended.
func ended(p *corev1.Pod) string {
	words := "it ended"
	if p.Status.Reason != "" {
		words = "it ended with the reason " + p.Status.Reason
	}
	if p.Status.Message != "" {
		words += ": " + oneLine(p.Status.Message)
	}
	return words
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// hopeless are the reasons for which a container does not start until a person acts.
var hopeless = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"}

// waitsFor returns what keeps a pod from being ready, and whether it is worth waiting for.
func waitsFor(p *corev1.Pod) (words string, hope bool) {
	for _, status := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := failure(status); t != nil {
			if status.Name == "clone" {
				return "the repository cannot be cloned: " + oneLine(t.Message), status.RestartCount < 2
			}
			return fmt.Sprintf("its container %s ended with code %d %s", status.Name, t.ExitCode, t.Reason), true
		}
		if w := status.State.Waiting; w != nil && slices.Contains(hopeless, w.Reason) {
			return fmt.Sprintf("%s: %s", w.Reason, oneLine(w.Message)), false
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "no node has room for it: " + oneLine(c.Message), true
		}
	}
	return "its pod is starting", true
}

// failure returns the last failure of a container, if it has not started since.
func failure(status corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	for _, state := range []corev1.ContainerState{status.State, status.LastTerminationState} {
		if t := state.Terminated; t != nil && t.ExitCode != 0 && status.State.Running == nil {
			return t
		}
	}
	return nil
}

// oneLine formats a message of a node or of git for a sentence. It keeps the end of a long one, which is the most
// informative part.
func oneLine(message string) string {
	const limit = 500
	message = shorten.Tail(shorten.Line(message), limit)
	if message == "" {
		return "no reason is known"
	}
	return strings.TrimSuffix(message, ".")
}
