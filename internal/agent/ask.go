// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ask is a question or an approval of an agent below an orchestrator that waits for a person. Resolved asks are kept to recognise
// repeated events and to count automatic answers.
type Ask struct {
	Asked
	Open      bool `json:"open,omitempty"`
	StartTime Time `json:"startTime,omitempty"`
	// Posted reports that the ask was posted to the chat. PersonReplied reports that the current turn contains a message that the
	// person wrote after that.
	Posted        bool `json:"posted,omitempty"`
	PersonReplied bool `json:"personReplied,omitempty"`
	// AutoAnswers counts the automatic answers to this question.
	AutoAnswers int `json:"autoAnswers,omitempty"`
}

// maxResolvedAsks bounds the resolved asks that are kept.
const maxResolvedAsks = 256

func (a Ask) display() string {
	if a.Display != "" {
		return a.Display
	}
	return a.Agent
}

// asked adds an ask. A question goes to the orchestrator first if the orchestrator may answer it itself; an approval goes
// to the person, unless an allowance covers it.
func asked(s State, f Asked) State {
	same := func(a Ask) bool { return a.Agent == f.Agent && a.Call == f.Call }
	if i := slices.IndexFunc(s.Asks, same); i >= 0 && s.Asks[i].Open && s.Asks[i].ExpireTime < f.ExpireTime {
		return s.withAsk(i, func(a *Ask) { a.ExpireTime = f.ExpireTime })
	}
	if s.Config.Kind != Orchestrator || slices.ContainsFunc(s.Asks, same) || s.Children.hasEnded(f.Task) {
		return s
	}
	s = s.pruneResolvedAsks()
	ask := Ask{Asked: f, Open: true, StartTime: s.Clock.Now, AutoAnswers: s.autoAnswers(f)}
	s.Asks = append(slices.Clip(s.Asks), ask)
	if f.Kind == AskQuestion { // the text of a question becomes part of the conversation; that of an approval does not
		s = s.withLabels(f.Labels, SourceQuestion, f.Call)
	}
	if allowance, ok := s.allowanceFor(f); ok {
		return s.approveAsk(len(s.Asks)-1, allowance)
	}
	if f.Kind == AskQuestion && s.mayAutoAnswer(ask) && s.Paused == nil {
		in := Input{Kind: InputQuestion, Text: textQuestionForOrchestrator(ask), Agent: f.Agent, Call: f.Call, Thread: s.threadBelow(f.Agent)}
		s.Inbox = append(slices.Clip(s.Inbox), in)
		return s
	}
	return s.postAsk(len(s.Asks) - 1)
}

// autoAnswers counts the automatic answers to the same question of the same agent.
func (s State) autoAnswers(f Asked) int {
	count := 0
	for _, a := range s.Asks {
		if a.Agent == f.Agent && sameQuestion(a.Text, f.Text) {
			count = max(count, a.AutoAnswers)
		}
	}
	return count
}

func sameQuestion(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

func (s State) mayAutoAnswer(a Ask) bool {
	return s.Config.AutoAnswer.Enabled && !a.OfTool && a.AutoAnswers < s.Config.AutoAnswer.MaxPerQuestion
}

// askResolved closes an ask that was resolved, by this orchestrator or elsewhere.
func askResolved(s State, f AskResolved) State {
	if f.AgentEnded {
		return s.dropAsks(f.Agent)
	}
	for i, a := range s.Asks {
		if a.Agent == f.Agent && a.Call == f.Call && a.Open {
			s = s.withAsk(i, func(a *Ask) { a.Open = false })
			if f.Expired {
				s = s.post(Item{System: true, Task: a.Task, Text: textAskExpired(a)})
			}
			return s.dropQuestions(func(in Input) bool { return in.Agent == f.Agent && in.Call == f.Call })
		}
	}
	return s
}

// dropAsks removes all asks of an agent that has ended.
func (s State) dropAsks(agent string) State {
	asks := func(a Ask) bool { return a.Agent == agent || a.Task == agent }
	if !slices.ContainsFunc(s.Asks, asks) {
		return s
	}
	s.Asks = slices.DeleteFunc(slices.Clone(s.Asks), asks)
	return s.dropQuestions(func(in Input) bool { return in.Agent == agent })
}

func (s State) dropQuestions(match func(Input) bool) State {
	s.Inbox = slices.DeleteFunc(slices.Clone(s.Inbox), func(in Input) bool { return in.Kind == InputQuestion && match(in) })
	return s
}

func (s State) withAsk(i int, change func(*Ask)) State {
	s.Asks = slices.Clone(s.Asks)
	change(&s.Asks[i])
	return s
}

// pruneResolvedAsks drops the oldest resolved ask if there are more than maxResolvedAsks.
func (s State) pruneResolvedAsks() State {
	isResolved := func(a Ask) bool { return !a.Open }
	count := 0
	for _, a := range s.Asks {
		if isResolved(a) {
			count++
		}
	}
	if count > maxResolvedAsks {
		oldest := slices.IndexFunc(s.Asks, isResolved)
		s.Asks = slices.Delete(slices.Clone(s.Asks), oldest, oldest+1)
	}
	return s
}

// findOpenAsk returns the index of the agent's open ask of this kind, or -1.
func (s State) findOpenAsk(agent string, kind AskKind) int {
	return slices.IndexFunc(s.Asks, func(a Ask) bool { return a.Open && a.Kind == kind && a.Agent == agent })
}

// findAnsweredQuestion returns the index of the question that a message replies to, or -1. If the message does not name a
// question, it answers the agent's oldest one.
func (s State) findAnsweredQuestion(f MessageArrived) int {
	return slices.IndexFunc(s.Asks, func(a Ask) bool {
		return a.Open && a.Kind == AskQuestion && (a.Agent == f.Answers || a.Task == f.Answers) && (f.Call == "" || a.Call == f.Call)
	})
}

// findQuestion returns the index of the agent's question that a reply is meant for. With several open questions, a turn about
// questions prefers one that was not posted, any other turn one that was.
func (s State) findQuestion(agent string) int {
	index := slices.IndexFunc(s.Asks, func(a Ask) bool {
		return a.Open && a.Kind == AskQuestion && a.Agent == agent && a.Posted != s.Turn.QuestionsOnly
	})
	if index >= 0 {
		return index
	}
	return s.findOpenAsk(agent, AskQuestion)
}

// answerAsk queues the answer to an ask and closes the ask. user is the person whose message is the answer, or empty if
// the orchestrator answers.
func (s State) answerAsk(i int, text, user string, images []Image, labels []string) State {
	a := s.Asks[i]
	s = s.enqueue(Item{ID: "reply/" + a.Agent + "/" + a.Call, Kind: ItemReply, Agent: a.Agent, UID: a.UID, Call: a.Call, Text: text, User: user, Images: images, Task: a.Task, Labels: labels})
	s = s.dropQuestions(func(in Input) bool { return in.Agent == a.Agent && in.Call == a.Call })
	return s.withAsk(i, func(a *Ask) { a.Open = false })
}

func (s State) postAsk(i int) State {
	a := s.Asks[i]
	item := Item{Text: textAsk(a), Task: a.Task, Agent: a.Agent, Call: a.Call, Notice: NoticeWaiting}
	if a.Kind == AskApproval {
		item.Digest, item.Tool, item.DenyRequesters = a.Digest(), a.Tool, a.DenyRequesters
	}
	s = s.post(item)
	return s.withAsk(i, func(a *Ask) { a.Posted = true })
}

// postQuestions posts the questions that the orchestrator did not answer. Questions that are still in the inbox stay there: no
// turn has contained them yet.
func (s State) postQuestions() State {
	for i, a := range s.Asks {
		shown := !slices.ContainsFunc(s.Inbox, func(in Input) bool {
			return in.Kind == InputQuestion && in.Agent == a.Agent && in.Call == a.Call
		})
		if a.Open && !a.Posted && shown {
			s = s.postAsk(i)
		}
	}
	return s
}

// clearPersonReplied resets PersonReplied when a turn begins: a message of an earlier turn does not answer a question in this one.
func (s State) clearPersonReplied() State {
	for i, a := range s.Asks {
		if a.PersonReplied {
			s = s.withAsk(i, func(a *Ask) { a.PersonReplied = false })
		}
	}
	return s
}

// markPersonReplied marks the posted asks: an answer that the orchestrator passes on in this turn may come from the person's
// message.
func (s State) markPersonReplied() State {
	for i, a := range s.Asks {
		if a.Open && a.Posted && !a.PersonReplied {
			s = s.withAsk(i, func(a *Ask) { a.PersonReplied = true })
		}
	}
	return s
}

// openQuestionsNote returns a note for the orchestrator about the questions that wait for the person.
func (s State) openQuestionsNote() string {
	var lines []string
	for _, a := range s.Asks {
		if a.Open && a.Posted && a.Kind == AskQuestion {
			lines = append(lines, fmt.Sprintf("- %s (sub_agent %q) asks: %s", a.display(), a.Agent, a.Text))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "[Open questions. If the user's message answers one, pass the answer on with reply_to_agent and acknowledge it in a sentence.]\n" +
		strings.Join(lines, "\n")
}

// askInChat implements ask_user for an orchestrator. In a turn that contains only questions of agents, those questions are posted
// instead of the orchestrator's own.
func askInChat(s State, c BatchCall, question string) (State, BatchCall) {
	posts := s.Posts
	s = s.postQuestions()
	if s.Posts == posts || !s.Turn.QuestionsOnly {
		s = s.post(Item{Text: question, InReplyTo: s.Turn.InReplyTo, Notice: NoticeWaiting})
	}
	return s, c.done(ToolSucceeded, "The user has been asked; the answer will come as a message. End your turn now.")
}

// replyToAgent answers an agent's question, either with what the person wrote or from the conversation if the orchestrator is
// confident enough.
func replyToAgent(s State, c BatchCall) (State, BatchCall) {
	var in struct {
		SubAgent   string  `json:"sub_agent"`
		Answer     string  `json:"answer"`
		Confidence float64 `json:"confidence"`
	}
	if err := jsonInto(c.Arguments, &in); err != nil {
		return s, c.done(ToolFailed, textBadArguments(c.Tool, err))
	}
	i := s.findQuestion(in.SubAgent)
	switch {
	case i < 0:
		return s, c.done(ToolFailed, fmt.Sprintf("No agent %q waits for an answer. Waiting: %s.", in.SubAgent, s.waitingAgents()))
	case strings.TrimSpace(in.Answer) == "":
		return s, c.done(ToolFailed, `Nothing was sent: "answer" must not be empty.`)
	}
	ask := s.Asks[i]
	sure := in.Confidence >= float64(s.Config.AutoAnswer.MinConfidence)
	fromPerson := sure || mostlyQuotes(in.Answer, s.Turn.PersonText)
	if ask.OfTool { // a model could be made to send a tool server more than the person wrote
		in.Answer = strings.TrimSpace(in.Answer)
		fromPerson = quotes(in.Answer, s.Turn.PersonText)
	}
	if ask.PersonReplied && fromPerson {
		return s.answerAsk(i, in.Answer, "", nil, s.LabelNames()), c.done(ToolSucceeded, fmt.Sprintf("Sent to %s. Acknowledge it to the user in a sentence.", in.SubAgent))
	}
	if ask.PersonReplied && ask.OfTool {
		return s, c.done(ToolFailed, "Not sent: a tool gets only what the user wrote. If the user's message answers this question, pass on its text or "+
			"a part of it exactly as it is, without a word of your own; if not, leave the question open: the user has been asked.")
	}
	if ask.PersonReplied {
		return s, c.done(ToolFailed, "Not sent: you are not sure that the user's message answers this question. If it does, pass on the user's own words; "+
			"if not, leave the question open: the user has been asked.")
	}
	if !s.mayAutoAnswer(ask) || !sure {
		if !ask.Posted {
			s = s.postAsk(i)
		}
		return s, c.done(ToolFailed, "Not sent: you are not sure enough, or have answered this question before. The user has been asked instead.")
	}
	s = s.withAsk(i, func(a *Ask) { a.AutoAnswers++ })
	s = s.answerAsk(i, in.Answer, "", nil, s.LabelNames())
	s = s.post(Item{System: true, Task: ask.Task, Text: textAutoAnswered(ask, in.Answer)})
	return s, c.done(ToolSucceeded, fmt.Sprintf("Sent to %s.", in.SubAgent))
}

// quotes reports whether answer is text or a part of it that begins and ends between words.
func quotes(answer, text string) bool {
	if answer == "" {
		return false
	}
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	splitsWord := func(before, after string) bool {
		left, _ := utf8.DecodeLastRuneInString(before)
		right, _ := utf8.DecodeRuneInString(after)
		return isWord(left) && isWord(right)
	}
	for start := 0; ; {
		i := strings.Index(text[start:], answer)
		if i < 0 {
			return false
		}
		i += start
		end := i + len(answer)
		if !splitsWord(text[:i], answer) && !splitsWord(answer, text[end:]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(answer)
		start = i + size
	}
}

// mostlyQuotes reports whether at least half of the words of answer occur in text.
func mostlyQuotes(answer, text string) bool {
	words := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	}
	inText := map[string]bool{}
	for _, word := range words(text) {
		inText[word] = true
	}
	all, matched := words(answer), 0
	for _, word := range all {
		if inText[word] {
			matched++
		}
	}
	return matched > 0 && 2*matched >= len(all)
}

func (s State) waitingAgents() string {
	var names []string
	for _, a := range s.Asks {
		if a.Open && a.Kind == AskQuestion {
			names = append(names, a.Agent)
		}
	}
	return orNone(names)
}
