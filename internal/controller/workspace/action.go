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

// deletionTimeout is how long after its grace period a pod may still exist before its node counts as lost.
const deletionTimeout = 30 * time.Second

type podAction struct {
	// remove means to delete the pod, and force to do so without confirmation by its node; reason is for the log.
	remove, force bool
	reason        string
	// checkAfter is when to check it again; zero means at its next change.
	checkAfter time.Duration
}

// decideAction decides what to do with a pod, given the time of its last use and the number of calls in it.
func decideAction(p *corev1.Pod, idle time.Duration, calls int, last, now time.Time) podAction {
	if at := p.DeletionTimestamp; at != nil {
		left := at.Add(deletionTimeout).Sub(now)
		switch {
		case left > 0:
			return podAction{checkAfter: left}
		case onClaim(p):
			// Two pods on one volume could corrupt it: only a person, or the node, can confirm that the old one is
			// gone.
			return podAction{}
		}
		return podAction{remove: true, force: true, reason: "its node does not answer"}
	}
	if hasEnded(p) {
		return podAction{remove: true, reason: endText(p)}
	}
	if calls > 0 {
		return podAction{checkAfter: idle}
	}
	if left := last.Add(idle).Sub(now); left > 0 {
		return podAction{checkAfter: left}
	}
	return podAction{remove: true, reason: fmt.Sprintf("it was not used for %s", idle)}
}

func onClaim(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

// hasEnded reports whether a pod has ended and will not restart automatically.
func hasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func endText(p *corev1.Pod) string {
	text := "it ended"
	if p.Status.Reason != "" {
		text = "it ended with the reason " + p.Status.Reason
	}
	if p.Status.Message != "" {
		text += ": " + oneLine(p.Status.Message)
	}
	return text
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// permanentReasons are the reasons for which a container does not start until a person acts.
var permanentReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"}

// pendingReason returns what keeps a pod from being ready, and whether it is worth waiting for.
func pendingReason(p *corev1.Pod) (text string, transient bool) {
	for _, status := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := lastFailure(status); t != nil {
			if status.Name == "clone" {
				return "the repository cannot be cloned: " + oneLine(t.Message), status.RestartCount < 2
			}
			return fmt.Sprintf("its container %s ended with code %d %s", status.Name, t.ExitCode, t.Reason), true
		}
		if w := status.State.Waiting; w != nil && slices.Contains(permanentReasons, w.Reason) {
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

// lastFailure returns the last failure of a container, if it has not started since.
func lastFailure(status corev1.ContainerStatus) *corev1.ContainerStateTerminated {
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
