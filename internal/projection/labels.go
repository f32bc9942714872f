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

// reasons returns why policies require an approval.
func reasons(v *agent.CallVerdict) v1beta1.PolicyReasons {
	shown := v.Reasons()
	reasons := v1beta1.PolicyReasons{
		PolicyRulesOmitted: int32(shown.MoreRules), ContentLabels: receivedLabels(shown.Labels), ContentLabelsOmitted: int32(shown.MoreLabels),
	}
	for _, rule := range shown.Rules {
		reasons.PolicyRules = append(reasons.PolicyRules, v1beta1.WaitingRule{Policy: rule.Policy, Rule: rule.Rule, Message: shorten.Head(rule.Message, maxRuleMessage)})
	}
	return reasons
}
