// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestJudge(t *testing.T) {
	const idle = 15 * time.Minute
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }
	claim := corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}
	for name, tc := range map[string]struct {
		pod   corev1.Pod
		calls int
		last  time.Duration
		want  podAction
	}{
		"in use, for long":        {calls: 1, last: time.Hour, want: podAction{checkAfter: idle}},
		"used a while ago":        {last: 5 * time.Minute, want: podAction{checkAfter: 10 * time.Minute}},
		"idle":                    {last: idle, want: podAction{remove: true, reason: "it was not used for 15m0s"}},
		"evicted, though in use":  {pod: failed("Evicted", "The node was low on memory."), calls: 1, want: podAction{remove: true, reason: "it ended with the reason Evicted: The node was low on memory"}},
		"being deleted":           {pod: corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: ago(10 * time.Second)}}, want: podAction{checkAfter: 20 * time.Second}},
		"stuck on a lost node":    {pod: corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: ago(time.Minute)}}, want: podAction{remove: true, force: true, reason: "its node does not answer"}},
		"stuck, but on a volume":  {pod: corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: ago(time.Minute)}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{claim}}}, want: podAction{}},
		"ended without a reason":  {pod: corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, want: podAction{remove: true, reason: "it ended"}},
		"being deleted and ended": {pod: corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: ago(0)}, Status: corev1.PodStatus{Phase: corev1.PodFailed}}, want: podAction{checkAfter: deletionTimeout}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decideAction(&tc.pod, idle, tc.calls, now.Add(-tc.last), now); got != tc.want {
				t.Errorf("judge: %+v, want %+v", got, tc.want)
			}
		})
	}
}

func failed(reason, message string) corev1.Pod {
	return corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason, Message: message}}
}

func TestWaitsFor(t *testing.T) {
	terminated := func(message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "Error", Message: message}}
	}
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   string
		hope   bool
	}{
		"nothing yet":            {corev1.PodStatus{}, "its pod is starting", true},
		"no room":                {corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available."}}}, "no node has room for it: 0/3 nodes are available", true},
		"a first failed clone":   {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "clone", State: terminated("fatal: could not read\nfrom remote")}}}, "the repository cannot be cloned: fatal: could not read from remote", true},
		"clones keep failing":    {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "clone", RestartCount: 2, State: waiting("CrashLoopBackOff", ""), LastTerminationState: terminated("not found")}}}, "the repository cannot be cloned: not found", false},
		"the clone runs again":   {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "clone", RestartCount: 2, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: terminated("not found")}}}, "its pod is starting", true},
		"the image is not there": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "workspace", State: waiting("ImagePullBackOff", "not found")}}}, "ImagePullBackOff: not found", false},
		"the server crashed":     {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "workspace", State: waiting("CrashLoopBackOff", ""), LastTerminationState: terminated("")}}}, "its container workspace ended with code 128 Error", true},
	} {
		t.Run(name, func(t *testing.T) {
			text, transient := pendingReason(&corev1.Pod{Status: tc.status})
			if text != tc.want || transient != tc.hope {
				t.Errorf("waits for %q (hope: %t), want %q (%t)", text, transient, tc.want, tc.hope)
			}
		})
	}
	if got := oneLine(strings.Repeat("noise ", 200) + "the reason"); !strings.HasSuffix(got, "the reason") || len(got) > 510 {
		t.Errorf("a long message became %q: its end is what matters", got)
	}
}
