// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// The roles of the workload; see furnish for their permissions.
const (
	roleWorker  = "worker"  // runs every tool without approval
	roleCareful = "careful" // needs approval for write tools
	roleLead    = "lead"    // delegates
	roleFrugal  = "frugal"  // has few tokens
	roleBrief   = "brief"   // has few iterations
)

// outcome is a possible outcome of a task, or the state in which it waits.
type outcome struct {
	phase v1beta1.TaskPhase
	kind  v1beta1.ErrorKind
}

var (
	succeeds       = outcome{phase: v1beta1.TaskSuccess}
	submittedError = outcome{v1beta1.TaskFailed, v1beta1.ErrorSubAgent}
	cancelled      = outcome{v1beta1.TaskCancelled, v1beta1.ErrorCancelled}
	timedOut       = outcome{v1beta1.TaskFailed, v1beta1.ErrorIterationLimit}
	overBudget     = outcome{v1beta1.TaskFailed, v1beta1.ErrorBudgetExhausted}
	toolFailed     = outcome{v1beta1.TaskFailed, v1beta1.ErrorTool}
	waits          = outcome{phase: v1beta1.TaskWaiting}
	damaged        = outcome{v1beta1.TaskFailed, v1beta1.ErrorHistoryLost}
)

// job is the work of one agent, and its possible outcomes.
type job struct {
	id       string
	role     string
	steps    []string
	children []*job
	// enough is how many children the agent waits for: "any", or empty for all.
	enough string
	ends   []outcome
}

func (j *job) agents() int {
	n := 1
	for _, child := range j.children {
		n += child.agents()
	}
	return n
}

// each calls visit for a job and everything below it.
func (j *job) each(visit func(*job)) {
	visit(j)
	for _, child := range j.children {
		child.each(visit)
	}
}

// instruction returns the instruction for the model, from which the script works.
func (j *job) instruction() string {
	steps := make([]string, len(j.steps))
	for i, step := range j.steps {
		steps[i] = fmt.Sprintf("%d %s", i+1, step)
	}
	text := fmt.Sprintf("Chaos job %s: %s", j.id, strings.Join(steps, ", "))
	if len(j.children) > 0 {
		text += "\n" + spawnArguments(j.children, j.enough)
	}
	return text
}

func spawnArguments(children []*job, enough string) string {
	type task struct {
		Role string `json:"role"`
		Task string `json:"task"`
	}
	var in struct {
		Wait  string `json:"wait,omitempty"`
		Tasks []task `json:"tasks"`
	}
	in.Wait = enough
	for _, child := range children {
		in.Tasks = append(in.Tasks, task{Role: child.role, Task: child.instruction()})
	}
	words, err := json.Marshal(in)
	if err != nil {
		panic(err) // cannot fail
	}
	return string(words)
}

func jobID(instruction string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(instruction, "Chaos job "), ":")
	return id
}

// order is something that the user creates: a standalone task, a task of type Tool, or a chat with jobs.
type order struct {
	name string
	// chat reports that it is a chat, whose orchestrator starts the jobs; otherwise it is a task with one job.
	chat bool
	// tool reports that the task is of type Tool.
	tool bool
	jobs []*job
	// fired reports that a trigger creates the task.
	fired bool
	// cancel reports that the user cancels it once it is active, doomed that it is deleted.
	cancel, deleted bool
	// damaged reports that its events are damaged once.
	damaged bool
	// maxTokens is the budget of a chat's tree; asks reports that the orchestrator forwards all questions to the user.
	maxTokens int64
	asks      bool
}

func (o *order) agents() int {
	n := 0
	if o.chat {
		n = 1
	}
	for _, j := range o.jobs {
		n += j.agents()
	}
	return n
}

type planner struct {
	random *rand.Rand
	prefix string
	count  int
}

// plan generates orders for at least this number of agents. Every shape is used once before any is repeated.
func (p *planner) plan(agents int) []*order {
	shapes := []func(*order){
		p.plain, p.question, p.careful, p.unanswered, p.undecided, p.spinner, p.fanOut, p.cancelledTree, p.frugal, p.brief, p.toolCall, p.quorum,
		p.chatOf, p.cancelledChat, p.boundedChat, p.doomedTask, p.doomedChat, p.fragile,
	}
	var orders []*order
	for total := 0; total < agents; {
		if p.count%len(shapes) == 0 {
			p.random.Shuffle(len(shapes), func(i, j int) { shapes[i], shapes[j] = shapes[j], shapes[i] })
		}
		o := &order{name: fmt.Sprintf("%s%03d", p.prefix, p.count)}
		shapes[p.count%len(shapes)](o)
		p.count++
		total += o.agents()
		orders = append(orders, o)
	}
	return orders
}

func (p *planner) add(o *order, role string, ends outcome, steps ...string) *job {
	j := &job{id: fmt.Sprintf("%s.%d", o.name, len(o.jobs)+1), role: role, steps: steps, ends: []outcome{ends}}
	o.jobs = append(o.jobs, j)
	return j
}

func (p *planner) addChild(parent *job, role string, ends outcome, steps ...string) {
	parent.children = append(parent.children, &job{
		id: fmt.Sprintf("%s.%d", parent.id, len(parent.children)+1), role: role, steps: steps, ends: []outcome{ends},
	})
}

func (p *planner) randomSteps() ([]string, outcome) {
	kinds := []string{stepRead, stepPut, stepWrite, stepBoth, stepNonsense}
	var steps []string
	for range 2 + p.random.IntN(3) {
		steps = append(steps, kinds[p.random.IntN(len(kinds))])
	}
	switch p.random.IntN(6) {
	case 0:
		return append(steps, stepFail), submittedError
	case 1:
		return append(steps, stepAnswer), succeeds
	}
	return append(steps, stepDone), succeeds
}

func (p *planner) plain(o *order) {
	steps, ends := p.randomSteps()
	p.add(o, roleWorker, ends, steps...)
}

func (p *planner) question(o *order) {
	p.add(o, roleWorker, succeeds, stepRead, stepAsk, stepWrite, stepAsk, stepDone)
}

func (p *planner) careful(o *order) {
	p.add(o, roleCareful, succeeds, stepWrite, stepBoth, stepPut, stepDone)
}

func (p *planner) unanswered(o *order) { p.add(o, roleWorker, waits, stepWrite, stepUnanswered) }

func (p *planner) undecided(o *order) { p.add(o, roleCareful, waits, stepRead, stepUndecided) }

func (p *planner) spinner(o *order) {
	o.cancel = true
	p.add(o, roleWorker, cancelled, stepSpin)
}

func (p *planner) frugal(o *order) { p.add(o, roleFrugal, overBudget, stepSpin) }

func (p *planner) brief(o *order) { p.add(o, roleBrief, timedOut, stepSpin) }

func (p *planner) toolCall(o *order) {
	o.tool = true
	p.add(o, "", succeeds).ends = []outcome{succeeds, toolFailed}
}

func (p *planner) fanOut(o *order) {
	lead := p.add(o, roleLead, succeeds, stepRead, stepSpawn, stepWrite, stepDone)
	p.addChildren(lead)
}

// addChildren adds two or three children with an outcome to a lead.
func (p *planner) addChildren(lead *job) {
	for range 2 + p.random.IntN(2) {
		steps, ends := p.randomSteps()
		p.addChild(lead, roleWorker, ends, steps...)
	}
	p.addChild(lead, roleCareful, succeeds, stepWrite, stepDone)
}

func (p *planner) cancelledTree(o *order) {
	o.cancel = true
	lead := p.add(o, roleLead, cancelled, stepSpawn, stepDone)
	p.addChild(lead, roleWorker, cancelled, stepSpin)
	p.addChild(lead, roleWorker, cancelled, stepWrite, stepUnanswered)
}

func (p *planner) quorum(o *order) {
	lead := p.add(o, roleLead, succeeds, stepSpawn, stepDone)
	lead.enough = "any"
	p.addChild(lead, roleWorker, cancelled, stepSpin)
	p.addChild(lead, roleWorker, succeeds, stepWrite, stepDone)
}

func (p *planner) chatOf(o *order) {
	o.chat, o.asks = true, p.random.IntN(2) == 0
	steps, ends := p.randomSteps()
	p.add(o, roleWorker, ends, steps...)
	p.add(o, roleWorker, succeeds, stepWrite, stepAsk, stepDone)
	p.add(o, roleCareful, succeeds, stepRead, stepWrite, stepDone)
	if p.random.IntN(2) == 0 {
		p.add(o, roleWorker, waits, stepUnanswered)
	}
	p.addChildren(p.add(o, roleLead, succeeds, stepSpawn, stepAnswer))
}

func (p *planner) cancelledChat(o *order) {
	o.chat, o.cancel = true, true
	p.add(o, roleWorker, cancelled, stepSpin)
	p.add(o, roleWorker, cancelled, stepUnanswered)
}

func (p *planner) boundedChat(o *order) {
	o.chat, o.maxTokens = true, 12_000
	for range 3 {
		p.add(o, roleWorker, overBudget, stepSpin)
	}
}

func (p *planner) fragile(o *order) {
	o.damaged = true
	p.add(o, roleWorker, waits, stepWrite, stepUnanswered)
}

func (p *planner) doomedTask(o *order) {
	o.deleted = true
	lead := p.add(o, roleLead, outcome{}, stepSpawn, stepDone)
	p.addChild(lead, roleWorker, outcome{}, stepSpin)
	p.addChild(lead, roleWorker, outcome{}, stepWrite, stepUnanswered)
}

func (p *planner) doomedChat(o *order) {
	o.chat, o.deleted = true, true
	p.add(o, roleWorker, outcome{}, stepSpin)
	p.add(o, roleWorker, outcome{}, stepAsk, stepUnanswered)
}
