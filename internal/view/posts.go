// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// RequestState is the state of a request for approval.
type RequestState string

// Values of RequestState.
const (
	RequestOpen     RequestState = "open"
	RequestDeciding RequestState = "deciding"
	RequestApproved RequestState = "approved"
	RequestDenied   RequestState = "denied"
	// RequestOver: the call no longer waits, without a decision.
	RequestOver RequestState = "over"
)

// Request is a request for approval of a tool call, as the operator posted it in a chat.
type Request struct {
	Task string `json:"task"`
	// Agent is the sub-agent that waits.
	Agent string `json:"agent,omitempty"`
	// Call is empty for a task of type Tool, which has only one call.
	Call string `json:"call,omitempty"`
	Who  string `json:"who"`
	Tool string `json:"tool"`
	// Reasons are lines on why policies require the approval.
	Reasons []string `json:"reasons,omitempty"`
	// Arguments are complete if Whole is true: then they match the digest of the call.
	Arguments string       `json:"arguments"`
	Whole     bool         `json:"whole,omitempty"`
	Digest    string       `json:"digest,omitempty"`
	State     RequestState `json:"state"`
	// User, Comment, Allowed and Edited are of the decision. Allowed means that it also allows later calls; Edited are the
	// arguments with which the call was approved instead of its own.
	User    string `json:"user,omitempty"`
	Comment string `json:"comment,omitempty"`
	Allowed bool   `json:"allowed,omitempty"`
	Edited  string `json:"edited,omitempty"`
}

// PostedQuestion is a question of an agent, as the operator posted it in a chat.
type PostedQuestion struct {
	Task string `json:"task"`
	Who  string `json:"who"`
	Text string `json:"text"`
	Open bool   `json:"open,omitempty"`
	// Answer is the answer that was given, and User the person who gave it; the orchestrator has no user.
	Answer string `json:"answer,omitempty"`
	User   string `json:"user,omitempty"`
}

var (
	requestText  = regexp.MustCompile("(?s)^Agent (.+?) asks for approval of `([^`]+)` \\(task \\S+, call \\S+\\)(?:\\.\n(.+?)\nArguments)?:\n(.*)$")
	questionText = regexp.MustCompile(`(?s)^Agent (.+?) needs input: (.*)$`)
)

// PostedRequest parses the text of a posted request, and reports whether it is one.
func PostedRequest(text string) (Request, bool) {
	match := requestText.FindStringSubmatch(text)
	if match == nil {
		return Request{}, false
	}
	r := Request{Who: match[1], Tool: match[2], Arguments: match[4]}
	if match[3] != "" {
		r.Reasons = strings.Split(match[3], "\n")
	}
	return r, true
}

// call identifies a call of a task. The ID is empty for a task of type Tool, which has only one call.
type call struct{ task, id string }

// posts has the requests of a conversation. Only the operator can annotate a message with a call, so text of a model is
// never mistaken for a request.
type posts struct {
	messages []v1beta1.AgentMessage
	nodes    map[string]*Node
	parts    map[int][]int // the later parts of a request, by the message that begins it
	part     map[int]bool
	begun    map[call]bool
	decided  map[call]*v1beta1.AgentMessage   // the last decision
	answers  map[string]*v1beta1.AgentMessage // of people, by the message that they reply to
}

func newPosts(messages []v1beta1.AgentMessage, nodes map[string]*Node) posts {
	p := posts{messages: messages, nodes: nodes, parts: map[int][]int{}, part: map[int]bool{}, begun: map[call]bool{}, decided: map[call]*v1beta1.AgentMessage{}, answers: map[string]*v1beta1.AgentMessage{}}
	type key struct {
		call
		digest string
	}
	first := map[key]int{}
	for i := range messages {
		m := &messages[i]
		if a := m.Spec.Approval; a != nil && m.Status.Phase != v1beta1.MessageRejected {
			p.decided[p.call(a.Task, a.ToolCall)] = m
		}
		if m.Spec.InReplyTo != "" && byPerson(m) && m.Status.Phase != v1beta1.MessageRejected {
			p.answers[m.Spec.InReplyTo] = m
		}
		c, posted := p.posted(m)
		if !posted {
			continue
		}
		k := key{c, m.Annotations[v1beta1.AnnotationArgumentsDigest]}
		if requestText.MatchString(m.Spec.Content) {
			first[k], p.parts[i], p.begun[c] = i, nil, true
		} else if start, begun := first[k]; begun && k.digest != "" {
			p.parts[start], p.part[i] = append(p.parts[start], i), true
		}
	}
	return p
}

func (p posts) call(task, id string) call {
	if n := p.nodes[task]; n != nil && n.Task.Spec.Type == v1beta1.TaskTool {
		id = ""
	}
	return call{task, id}
}

// posted returns the call that a message of the operator is about.
func (p posts) posted(m *v1beta1.AgentMessage) (call, bool) {
	id := m.Annotations[v1beta1.AnnotationCall]
	return p.call(m.Spec.Task, id), id != "" && m.Spec.Task != "" && m.Spec.Role == v1beta1.RoleAssistant
}

func (p posts) display(i int) MessageDisplay {
	m := &p.messages[i]
	shown := MessageDisplay{Place: i, Hidden: p.part[i]}
	if a := m.Spec.Approval; a != nil {
		shown.Hidden = m.Status.Phase != v1beta1.MessageRejected && p.begun[p.call(a.Task, a.ToolCall)]
		return shown
	}
	c, posted := p.posted(m)
	if _, begins := p.parts[i]; begins {
		shown.Request = p.request(i, c)
	} else if posted {
		shown.Question = p.question(c, m)
	}
	return shown
}

// hideAnswers hides the answers that are shown with their questions. Attachments are shown with the answer only.
func (p posts) hideAnswers(shown map[types.UID]MessageDisplay) {
	for i := range p.messages {
		answer := p.answers[p.messages[i].Name]
		if answer == nil || shown[p.messages[i].UID].Question == nil || len(answer.Spec.Attachments) > 0 {
			continue
		}
		display := shown[answer.UID]
		display.Hidden = true
		shown[answer.UID] = display
	}
}

func (p posts) request(i int, c call) *Request {
	m := &p.messages[i]
	text := m.Spec.Content
	for _, part := range p.parts[i] { // a long request is posted in parts
		text += p.messages[part].Spec.Content
	}
	posted, _ := PostedRequest(text)
	r := &posted
	r.Task, r.Call, r.Digest = c.task, c.id, m.Annotations[v1beta1.AnnotationArgumentsDigest]
	r.Whole = r.Digest == "" || agent.CallDigest(r.Tool, r.Arguments) == r.Digest
	decision := p.decided[c]
	if decision != nil {
		r.User, r.Comment = decision.Spec.User, decision.Spec.Approval.Comment
		r.Allowed, r.Edited = decision.Spec.Approval.Allow != nil, decision.Spec.Approval.Arguments
	}
	node := p.nodes[c.task]
	if node != nil {
		r.Agent = node.Task.Status.SubAgent
	}
	r.State = requestState(node, c, decision)
	return r
}

func requestState(n *Node, c call, decision *v1beta1.AgentMessage) RequestState {
	phase := v1beta1.ToolCallPhase("")
	if n != nil && n.Agent != nil {
		for _, known := range n.Agent.Status.ToolCalls {
			if known.ID == c.id {
				phase = known.Phase
			}
		}
	}
	open := phase == v1beta1.ToolCallWaitingForApproval || n != nil && c.id == "" && n.Task.Status.Phase == v1beta1.TaskWaiting
	switch {
	case open && decision != nil:
		return RequestDeciding
	case open:
		return RequestOpen
	case decision != nil && decision.Spec.Approval.Decision == v1beta1.DecisionApprove:
		return RequestApproved
	case decision != nil:
		return RequestDenied
	case n != nil && !n.Ended() && phase == "":
		return RequestOpen // the object may lag behind the message
	}
	return RequestOver
}

func (p posts) question(c call, m *v1beta1.AgentMessage) *PostedQuestion {
	n, match := p.nodes[c.task], questionText.FindStringSubmatch(m.Spec.Content)
	if n == nil || match == nil {
		return nil
	}
	waiting := n.Task.Status.Waiting
	open := n.Task.Status.Phase == v1beta1.TaskWaiting && waiting != nil && waiting.Kind == v1beta1.WaitingQuestion && (waiting.ToolCall == "" || waiting.ToolCall == m.Annotations[v1beta1.AnnotationCall])
	q := &PostedQuestion{Task: c.task, Who: match[1], Text: match[2], Open: open && p.answers[m.Name] == nil}
	if answer := p.answers[m.Name]; answer != nil {
		q.Answer, q.User = answer.Spec.Content, answer.Spec.User
	} else if n.Agent != nil {
		for _, known := range n.Agent.Status.ToolCalls {
			if known.ID == c.id && known.Phase == v1beta1.ToolCallSuccess {
				q.Answer = known.Result
			}
		}
	}
	return q
}
