// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// contentLabels returns the content labels of an agent. The core bounds their number and names.
func contentLabels(s agent.State) []v1beta1.ReceivedLabel { return receivedLabels(s.Labels) }

func receivedLabels(received agent.Labels) []v1beta1.ReceivedLabel {
	var labels []v1beta1.ReceivedLabel
	for _, l := range received {
		labels = append(labels, v1beta1.ReceivedLabel{
			Name: l.Name, Source: shorten.Head(l.Source, maxLabelSource), ToolCall: shorten.Head(l.Call, maxLabelCall),
		})
	}
	return labels
}

// setRules adds the rules that require an approval, and the labels of the agent that policies judged.
func setRules(w *v1beta1.Waiting, v *agent.CallVerdict) {
	if v == nil {
		return
	}
	for _, rule := range v.Rules[:min(len(v.Rules), maxWaitingRules)] {
		w.PolicyRules = append(w.PolicyRules, v1beta1.WaitingRule{Policy: rule.Policy, Rule: rule.Rule, Message: shorten.Head(rule.Message, maxRuleMessage)})
	}
	w.ContentLabels = receivedLabels(v.Sources[:min(len(v.Sources), maxWaitingLabels)])
}
