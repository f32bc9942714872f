// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// Placements are the runtimes and nodes that workspaces may ask for. Anyone who may create a chat can ask: without this
// list they could run commands of a model on nodes that are kept for something else.
type Placements struct {
	RuntimeClassNames []string `json:"runtimeClassNames,omitempty"`
	// NodeSelector has the allowed values of each label.
	NodeSelector map[string][]string  `json:"nodeSelector,omitempty"`
	Tolerations  []v1beta1.Toleration `json:"tolerations,omitempty"`
}

func placementOf(w v1beta1.Workspace) pod.Placement {
	placement := pod.Placement{RuntimeClassName: w.RuntimeClassName, NodeSelector: w.NodeSelector}
	for _, t := range w.Tolerations {
		placement.Tolerations = append(placement.Tolerations, corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value, Effect: corev1.TaintEffect(t.Effect),
		})
	}
	return placement
}

// check returns an error with everything that is allowed if a pod asks for something else.
func (p Placements) check(asked pod.Placement) error {
	if name := asked.RuntimeClassName; name != "" && !slices.Contains(p.RuntimeClassNames, name) {
		return p.refuse("runtimeClassName " + name)
	}
	for _, label := range slices.Sorted(maps.Keys(asked.NodeSelector)) {
		if value := asked.NodeSelector[label]; !slices.Contains(p.NodeSelector[label], value) {
			return p.refuse("nodeSelector " + label + "=" + value)
		}
	}
	for _, t := range asked.Tolerations {
		if !slices.ContainsFunc(p.Tolerations, func(allowed v1beta1.Toleration) bool { return covers(allowed, t) }) {
			return p.refuse("toleration " + tolerationText(t.Key, string(t.Operator), t.Value, string(t.Effect)))
		}
	}
	return nil
}

// covers reports whether every taint that a pod asks to tolerate is one that is allowed.
func covers(allowed v1beta1.Toleration, asked corev1.Toleration) bool {
	sameTaints := allowed.Operator == v1beta1.TolerationExists || asked.Operator != corev1.TolerationOpExists && allowed.Value == asked.Value
	return allowed.Key == asked.Key && sameTaints && (allowed.Effect == "" || allowed.Effect == string(asked.Effect))
}

func (p Placements) refuse(what string) error {
	return notAllowed("The workspace asks for %s, and this operator allows %s: create it again without it, or add it to --workspace-allow (chart: workspace.allow).", what, p)
}

// String lists what is allowed.
func (p Placements) String() string {
	var parts []string
	for _, name := range p.RuntimeClassNames {
		parts = append(parts, "runtimeClassName "+name)
	}
	for _, label := range slices.Sorted(maps.Keys(p.NodeSelector)) {
		for _, value := range p.NodeSelector[label] {
			parts = append(parts, "nodeSelector "+label+"="+value)
		}
	}
	for _, t := range p.Tolerations {
		parts = append(parts, "toleration "+tolerationText(t.Key, string(t.Operator), t.Value, t.Effect))
	}
	if len(parts) == 0 {
		return "no runtime class, node selector or toleration"
	}
	return "only " + strings.Join(parts, ", ")
}

// tolerationText writes a toleration as kubectl taint writes the taint: key=value:effect.
func tolerationText(key, operator, value, effect string) string {
	if operator != string(v1beta1.TolerationExists) {
		key += "=" + value
	}
	if effect != "" {
		key += ":" + effect
	}
	return key
}
