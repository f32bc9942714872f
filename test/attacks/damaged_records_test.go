// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"database/sql"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "modernc.org/sqlite" // damages a ledger in a file

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/world"
)

// damagedStack is a separate stack whose operator was killed and restarted after one record of each room was damaged
// in the ledger. The attacks of the class share it, because a start takes long.
type damagedStack struct {
	*target
	rooms map[string]*testNamespace
}

type damagedRecord struct {
	name string
	// damage are statements; $1 is the UID of the victim.
	damage []string
	// harmless reports that the victim continues.
	harmless bool
	// names is a part of the victim's message.
	names string
}

var damagedRecords = []damagedRecord{
	{name: "an event is empty", damage: []string{`UPDATE event_rows SET form = 0, data = '{}' WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND seq = 2`}, names: "Event 2 (ModelReplied)"},
	{name: "an event is of a type that does not exist", damage: []string{`UPDATE event_rows SET form = 0, data = '{"v":1,"type":"Nonsense","at":1}' WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND seq = 2`}, names: "Nonsense"},
	{name: "an event is of a later release", damage: []string{`UPDATE event_rows SET form = 0, data = '{"v":99,"type":"Woke","at":1}' WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND seq = 2`}, names: "version 99"},
	{name: "an event has another shape", damage: []string{`UPDATE event_rows SET form = 0, data = '{"v":1,"type":"ModelReplied","at":1,"fact":{"calls":{"a":1}}}' WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND seq = 2`}, names: "Event 2 (ModelReplied)"},
	{name: "an event is not JSON", damage: []string{`UPDATE event_rows SET form = 0, data = 'nonsense' WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND seq = 2`}, names: "Event 2 (ModelReplied)"},
	{name: "the first event is unreadable", damage: []string{`UPDATE event_rows SET form = 0, data = '[]' WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND seq = 1`}, names: "Event 1 (Started)"},
	{name: "an event is missing", damage: []string{`DELETE FROM event_rows WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND seq = 1`}, names: "Event 1 (missing)"},
	{name: "the newest event is missing", damage: []string{`DELETE FROM event_rows WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND seq = 2`}, names: "Event 2 (missing)"},
	{name: "a snapshot is unreadable", harmless: true, damage: []string{`INSERT INTO snapshots (agent_uid, seq, form, data) VALUES ($1, 2, 0, '{"v":99}')`}},
	{name: "a snapshot is empty", harmless: true, damage: []string{`INSERT INTO snapshots (agent_uid, seq, form, data) VALUES ($1, 2, 0, '{"v":1,"state":{}}')`}},
	{name: "a snapshot makes the operator panic", harmless: true, damage: []string{`INSERT INTO snapshots (agent_uid, seq, form, data) VALUES ($1, 2, 0,
		'{"v":1,"state":{"config":{"kind":"SubAgent","name":"victim"},"phase":"Cancelling","history":{}}}')`}},
	{name: "a snapshot and an event are unreadable", names: "Event 2 (ModelReplied)", damage: []string{
		`INSERT INTO snapshots (agent_uid, seq, form, data) VALUES ($1, 2, 0, '{"v":99}')`, `UPDATE event_rows SET form = 0, data = '{}' WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND seq = 2`}},
}

func (w *target) damagedStack(t *testing.T) *damagedStack {
	t.Helper()
	return w.damaged.Get(t, w.t, w.startDamaged)
}

func (w *target) startDamaged(t testing.TB) *damagedStack {
	d, g := &damagedStack{rooms: map[string]*testNamespace{}}, NewWithT(t)
	d.target = w.own(t)
	for _, name := range append([]string{"intact", "chat", "child", "finished"}, names()...) {
		r := d.newNamespace(t)
		d.rooms[name] = r
		r.Create(newAskingTask("victim"), newAskingTask("bystander"))
	}
	for _, name := range []string{"chat", "child"} {
		d.rooms[name].Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}}, newMessage("delegate", "Delegate to general: Ask: Which colour?"))
		d.rooms[name].Eventually(d.rooms[name].subAgentPhase("chat-1")).Should(Equal(v1beta1.SubAgentWaitingForUser))
	}
	for _, r := range d.rooms {
		for _, name := range []string{"victim", "bystander"} {
			r.Eventually(r.TaskPhase(name)).Should(Equal(v1beta1.TaskWaiting))
		}
	}
	finished := d.rooms["finished"]
	finished.Create(newAnswer("victim"))
	finished.Eventually(finished.TaskPhase("victim")).Should(Equal(v1beta1.TaskSuccess))
	g.Expect(d.Operator.Kill()).To(Succeed())
	db := openLedger(t, d.target)
	for _, p := range damagedRecords {
		for _, statement := range p.damage {
			damage(t, db, statement, d.rooms[p.name].subAgent("victim").UID)
		}
	}
	const unreadable = `UPDATE event_rows SET form = 0, data = '{}' WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND seq = 2`
	damage(t, db, unreadable, finished.subAgent("victim").UID)
	damage(t, db, unreadable, d.rooms["child"].subAgent("chat-1").UID)
	var chat v1beta1.AgentChat
	g.Expect(d.rooms["chat"].Get("chat", &chat)).To(Succeed())
	damage(t, db, unreadable, chat.UID)
	g.Expect(db.Close()).To(Succeed())
	g.Expect(d.StartOperator(t.Context())).To(Succeed())
	return d
}

func names() []string {
	var names []string
	for _, p := range damagedRecords {
		names = append(names, p.name)
	}
	return names
}

func openLedger(t testing.TB, w *target) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(w.LedgerURL, "sqlite:")+"?_pragma=busy_timeout(10000)")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return db
}

func damage[T ~string](t testing.TB, db *sql.DB, statement string, uid T) {
	t.Helper()
	result, err := db.ExecContext(t.Context(), statement, string(uid))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(result.RowsAffected()).To(BeEquivalentTo(1), statement)
}

// newAskingTask returns a task whose agent asks a question and submits the answer.
func newAskingTask(name string) *v1beta1.AgentTask {
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: name}}
	task.Spec.Type, task.Spec.Role, task.Spec.Instruction = v1beta1.TaskAgent, "general", "Ask: Which colour?"
	return task
}

func newAnswer(task string) *v1beta1.AgentMessage {
	return &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: task + "-answer"}, Spec: v1beta1.AgentMessageSpec{Task: task, Content: "Blue"}}
}

// newMessage returns a message of a person to the chat of a room.
func newMessage(name, text string) *v1beta1.AgentMessage {
	return &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.AgentMessageSpec{Chat: "chat", Content: text}}
}

func (r *testNamespace) subAgent(name string) *v1beta1.SubAgent {
	r.t.Helper()
	var sub v1beta1.SubAgent
	r.Expect(r.Get(name, &sub)).To(Succeed())
	return &sub
}

func (r *testNamespace) subAgentPhase(name string) func() (v1beta1.SubAgentPhase, error) {
	return func() (v1beta1.SubAgentPhase, error) {
		var sub v1beta1.SubAgent
		err := r.Get(name, &sub)
		return sub.Status.Phase, err
	}
}

func (r *testNamespace) posts() string {
	var texts []string
	for _, m := range r.Messages(posted) {
		texts = append(texts, m.Spec.Content)
	}
	return strings.Join(texts, "\n")
}

func (d *damagedStack) namespace(t *testing.T, name string) *testNamespace {
	room := *d.rooms[name].Room
	room.Test, room.WithT = t, world.Expecting(t)
	return &testNamespace{Room: &room, t: t}
}

// checkContinues checks that a task that waited before the kill continues.
func (r *testNamespace) checkContinues(task string) {
	r.t.Helper()
	r.Create(newAnswer(task))
	r.Eventually(r.TaskPhase(task)).Should(Equal(v1beta1.TaskSuccess))
}

// undamagedControl is the control of every damaged record: without damage the same agent continues after the same
// restart.
func undamagedControl(t *testing.T, w *target) {
	w.damagedStack(t).namespace(t, "intact").checkWaits("victim")
}

// checkWaits checks that a task is unchanged after the restart.
func (r *testNamespace) checkWaits(task string) {
	r.t.Helper()
	now, err := r.Task(task)()
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(now.Status.Phase).To(Equal(v1beta1.TaskWaiting))
	r.Expect(now.Status.Error).To(BeNil())
}

var _ = class("poisoned-records", damagedRecordAttacks()...)

func damagedRecordAttacks() []attack {
	var attacks []attack
	for _, p := range damagedRecords {
		attacks = append(attacks, attack{
			name:    p.name,
			attempt: "damage a record of one agent in the ledger, so that the operator cannot start and every tenant stops",
			defence: "the agent is quarantined with HistoryLost and a message that names the event; a damaged snapshot falls back to the events",
			run: func(t *testing.T, w *target) {
				r := w.damagedStack(t).namespace(t, p.name)
				r.checkContinues("bystander")
				if p.harmless {
					r.checkContinues("victim")
					return
				}
				r.Eventually(r.TaskPhase("victim")).Should(Equal(v1beta1.TaskFailed))
				task, err := r.Task("victim")()
				r.Expect(err).NotTo(HaveOccurred())
				r.Expect(task.Status.Error.Kind).To(Equal(v1beta1.ErrorHistoryLost))
				r.Expect(task.Status.Error.Message).To(And(ContainSubstring(p.names), ContainSubstring("Create the task again.")))
			},
			control: undamagedControl,
		})
	}
	return append(
		attacks,
		attack{
			name:    "the history of a chat is damaged",
			attempt: "damage a record of an orchestrator, so that its chat never works again or the operator crashes",
			defence: "the chat reports HistoryLost, its delegated work is cancelled, and the next message starts a new conversation",
			run: func(t *testing.T, w *target) {
				r := w.damagedStack(t).namespace(t, "chat")
				r.Eventually(func() (string, error) {
					var chat v1beta1.AgentChat
					err := r.Get("chat", &chat)
					if c := meta.FindStatusCondition(chat.Status.Conditions, v1beta1.ConditionReady); c != nil {
						return c.Reason + ": " + c.Message, err
					}
					return "", err
				}).Should(And(HavePrefix("HistoryLost: Event 2 (MessageArrived)"), ContainSubstring("The next message starts a new conversation.")))
				r.Eventually(r.TaskPhase("chat-1")).Should(Equal(v1beta1.TaskCancelled))
				r.Create(newMessage("after", "Greet Bob"))
				r.Eventually(r.posts).Should(ContainSubstring("Hello, Bob!"))
				r.checkContinues("bystander")
			},
			control: inNamespace(func(r *testNamespace) {
				r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}}, newMessage("before", "Greet Bob"))
				r.Eventually(r.posts).Should(ContainSubstring("Hello, Bob!"))
			}),
		},
		attack{
			name:    "a parent waits forever for a damaged child",
			attempt: "damage a record of a sub-agent, so that its end is never reported to its chat",
			defence: "a quarantined child is reported to its parent like any other failure",
			run: func(t *testing.T, w *target) {
				r := w.damagedStack(t).namespace(t, "child")
				r.Eventually(r.posts).Should(And(ContainSubstring("Report of chat-1"), ContainSubstring("cannot be read")))
				r.checkContinues("bystander")
			},
			control: inNamespace(func(r *testNamespace) {
				r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}}, newMessage("delegate", "Delegate to general: Submit it"))
				r.Eventually(r.posts).Should(And(ContainSubstring("Report of chat-1"), Not(ContainSubstring("cannot be read"))))
			}),
		},
		attack{
			name:    "damage takes the result of a finished task",
			attempt: "damage a record of a finished task, so that its result is replaced by a failure",
			defence: "an object with an outcome keeps it",
			run: func(t *testing.T, w *target) {
				r := w.damagedStack(t).namespace(t, "finished")
				r.checkContinues("bystander") // then the operator has recovered everything
				task, err := r.Task("victim")()
				r.Expect(err).NotTo(HaveOccurred())
				r.Expect(task.Status.Phase).To(Equal(v1beta1.TaskSuccess))
				r.Expect(task.Status.Result).NotTo(BeNil())
			},
			control: undamagedControl,
		},
	)
}
