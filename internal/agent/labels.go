// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strings"
)

// The labels that the core itself gives.
const (
	// LabelUntrusted marks content from outside, for whose author no owner vouches.
	LabelUntrusted = "untrusted"
	// LabelOverflow stands for the labels that a context has no room for. A policy should treat it like the strictest label.
	LabelOverflow = "overflow"
)

// The bounds of a context's labels. Two of maxLabels are reserved for LabelUntrusted and LabelOverflow.
const (
	maxLabels    = 16
	maxLabelName = 63
	maxSource    = 128
)

// Label is a content label of an agent's context, with its first source.
type Label struct {
	Name string `json:"name"`
	// Source is the tool whose result first had the label, or another source such as SourceParent.
	Source string `json:"source,omitempty"`
	// Call is the id of the tool call, if a call brought it.
	Call string `json:"call,omitempty"`
}

// String names the label and where it came from.
func (l Label) String() string {
	switch {
	case l.Source == "":
		return l.Name
	case l.Call == "":
		return l.Name + " (" + l.Source + ")"
	}
	return fmt.Sprintf("%s (since call %s of %s)", l.Name, l.Call, l.Source)
}

// severity orders labels for the person who decides.
func (l Label) severity() int { return slices.Index([]string{LabelOverflow, LabelUntrusted}, l.Name) }

// The sources that are not tools.
const (
	SourceParent      = "parent"
	SourceContinued   = "continued agent"
	SourceMessage     = "message"
	SourceAnswer      = "answer"
	SourceQuestion    = "question"
	SourceRemoteAgent = "remote agent"
	SourceSkills      = "skills"
	SourceTools       = "tool descriptions"
)

// Labels are the content labels of a context in the order in which they arrived. Labels are only added.
type Labels []Label

// Has reports whether the context has a label.
func (l Labels) Has(name string) bool {
	return slices.ContainsFunc(l, func(label Label) bool { return label.Name == name })
}

// Names returns the names in alphabetical order, or nil.
func (l Labels) Names() []string {
	var names []string
	for _, label := range l {
		names = append(names, label.Name)
	}
	slices.Sort(names)
	return names
}

// with adds labels from one source. A name that does not fit becomes LabelOverflow, so that no label is lost without a trace.
func (l Labels) with(names []string, source, call string) Labels {
	for _, name := range names {
		if !l.fits(name) {
			name = LabelOverflow
		}
		if !l.Has(name) {
			l = append(slices.Clip(l), Label{Name: name, Source: source[:min(len(source), maxSource)], Call: call})
		}
	}
	return l
}

func (l Labels) fits(name string) bool {
	reserved := name == LabelUntrusted || name == LabelOverflow
	if reserved || l.Has(name) {
		return true
	}
	others := 0
	for _, label := range l {
		if label.Name != LabelUntrusted && label.Name != LabelOverflow {
			others++
		}
	}
	return strings.TrimSpace(name) != "" && len(name) <= maxLabelName && others < maxLabels-2
}

// LabelNames returns the content labels of the agent's context in alphabetical order. They cover every text that the agent has received.
func (s State) LabelNames() []string { return s.Labels.Names() }

// LabelsFor returns the content labels with which a child starts: those of the request, because the model wrote the task before the results of
// siblings arrived. The call of a tool run is judged with everything that has arrived, like a call in the agent's own batch, and a conversation
// may hold it.
func (s State) LabelsFor(child string) []string {
	i := s.Children.find(child)
	if i < 0 {
		return s.LabelNames()
	}
	g := s.Children.group(s.Children.Live[i].Group)
	if g < 0 || s.Children.Live[i].Tool != "" || s.Children.Live[i].Context == ContextFull {
		return s.LabelNames()
	}
	return s.Labels[:min(s.Children.Groups[g].Labels, len(s.Labels))].Names()
}

func (s State) withLabels(names []string, source, call string) State {
	s.Labels = s.Labels.with(names, source, call)
	return s
}

// Content describes the source of a fact's text. The zero value is content from outside, so that a driver that does not know a source, and
// the log of a release without labels, give the label.
type Content struct {
	// Trusted reports that the source is exempt from LabelUntrusted: it only computes, or its owner vouches for it.
	Trusted bool `json:"trusted,omitempty"`
	// Labels are further labels of the content.
	Labels []string `json:"labels,omitempty"`
}

func (c Content) names() []string {
	if c.Trusted {
		return c.Labels
	}
	return append([]string{LabelUntrusted}, c.Labels...)
}

// attachedLabels returns the labels of a person's message. The person's own words have none; images are from outside.
func attachedLabels(labels []string, images []Image) []string {
	if len(images) == 0 {
		return labels
	}
	return append([]string{LabelUntrusted}, labels...)
}

// labels returns the labels with which an agent starts.
func (f Started) labels() Labels {
	return Labels(nil).with(f.Labels, SourceParent, "").with(f.ContinuedLabels, SourceContinued, "")
}

// withConfigLabels adds the labels of the text in the configuration: skills and descriptions of tools are part of the prompt, and all that a
// remote agent writes is from outside. The owner of a ToolServer has accepted the descriptions of the tools that it had first.
func (s State) withConfigLabels() State {
	for _, skill := range s.Config.Skills {
		s = s.withLabels(skill.names(), SourceSkills, "")
	}
	for _, tool := range s.Config.Tools {
		if tool.Added && s.Config.Offers(tool.Name) {
			s = s.withLabels(tool.Content.names(), SourceTools, "")
		}
	}
	if s.Config.Remote {
		s = s.withLabels(s.Config.RemoteContent.names(), SourceRemoteAgent, "")
	}
	return s
}
