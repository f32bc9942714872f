// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/stack"
	"github.com/nestor-dev/nestor/test/world"
)

type installationTest struct {
	*testing.T
	*stack.Stack
	programs, copy string
}

// TestBackupAndRestore follows the page about backups: with a backup the work continues, and without one started work
// is lost and reported as lost.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	for _, ledger := range []string{stack.SQLite, stack.PostgreSQL} {
		t.Run(ledger, func(t *testing.T) {
			d := newInstallationTest(t, ledger)
			d.prepare()
			d.backUp()
			d.calculate("later")
			d.loseLedger()
			d.restore()
			d.start()
			d.expect("done", v1beta1.TaskSuccess, "")
			d.expect("later", v1beta1.TaskSuccess, "") // its history is lost, but not its result
			d.expect("asks", v1beta1.TaskWaiting, "")
			d.write(v1beta1.AgentMessageSpec{Task: "asks", Content: "It is 2024"})
			d.expect("asks", v1beta1.TaskSuccess, "")
			d.sendAndAwaitAnswer(3)
		})
	}
}

func TestLostLedgerIsReported(t *testing.T) {
	t.Parallel()
	d := newInstallationTest(t, stack.SQLite)
	d.prepare()
	d.loseLedger()
	d.start()
	d.expect("done", v1beta1.TaskSuccess, "")
	d.expect("asks", v1beta1.TaskFailed, v1beta1.ErrorHistoryLost)
}

func newInstallationTest(t *testing.T, ledger string) *installationTest {
	t.Helper()
	s := openSuite(t)
	running := world.Start(t, stack.Options{Ledger: ledger, Programs: s.bin, ModelFlags: []string{"--no-delay"}, OperatorFlags: stack.ShortLeases()})
	if err := running.Provider(t.Context(), metav1.NamespaceDefault, "default"); err != nil {
		t.Fatal(err)
	}
	return &installationTest{T: t, Stack: running.Stack, programs: s.bin, copy: filepath.Join(t.TempDir(), "copy")}
}

// prepare creates finished work, waiting work and a conversation.
func (d *installationTest) prepare() {
	d.calculate("done")
	asks := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "asks"}}
	asks.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "researcher", Instruction: "Summarise the releases of this year."}
	d.create(asks)
	d.expect("asks", v1beta1.TaskWaiting, "")
	d.create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "talk"}})
	d.sendAndAwaitAnswer(1)
}

func (d *installationTest) calculate(name string) {
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskTool, Tool: "calculator", Arguments: &runtime.RawExtension{Raw: []byte(`{"expression":"6*7"}`)}}
	d.create(task)
	d.expect(name, v1beta1.TaskSuccess, "")
}

// sendAndAwaitAnswer sends a message to the chat and waits for the answer: the chat then has two more messages.
func (d *installationTest) sendAndAwaitAnswer(before int32) {
	d.Helper()
	d.write(v1beta1.AgentMessageSpec{Chat: "talk", Content: "What is 17 * 23?"})
	var chat v1beta1.AgentChat
	d.await("an answer in the chat", func(ctx context.Context) bool {
		return d.API.Get(ctx, key("talk"), &chat) == nil && chat.Status.Messages >= before+1 && chat.Status.Phase == v1beta1.ChatIdle
	})
}

func (d *installationTest) write(spec v1beta1.AgentMessageSpec) {
	d.create(&v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, GenerateName: "said-"}, Spec: spec})
}

func (d *installationTest) create(object client.Object) {
	d.Helper()
	if err := d.API.Create(d.Context(), object); err != nil {
		d.Fatal(err)
	}
}

func (d *installationTest) backUp() {
	if d.Postgres != nil {
		d.run("pg_dump", "--no-owner", "--file", d.copy, d.LedgerURL)
		return
	}
	to, err := os.Create(d.copy)
	if err != nil {
		d.Fatal(err)
	}
	cmd := exec.CommandContext(d.Context(), filepath.Join(d.programs, "nestor-operator"), "backup", "--ledger", d.LedgerURL)
	cmd.Stdout, cmd.Stderr = to, os.Stderr
	if err := errors.Join(cmd.Run(), to.Close()); err != nil {
		d.Fatal(err)
	}
}

// loseLedger kills the operator and deletes the ledger.
func (d *installationTest) loseLedger() {
	if err := d.Operator.Kill(); err != nil {
		d.Fatal(err)
	}
	if d.Postgres != nil {
		url, err := d.Postgres.NewDatabase(d.Context())
		if err != nil {
			d.Fatal(err)
		}
		d.LedgerURL = url
		return
	}
	files, err := filepath.Glob(strings.TrimPrefix(d.LedgerURL, "sqlite:") + "*")
	if err != nil {
		d.Fatal(err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			d.Fatal(err)
		}
	}
}

func (d *installationTest) restore() {
	if d.Postgres != nil {
		d.run("psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", d.copy, d.LedgerURL)
		return
	}
	from, err := os.Open(d.copy)
	if err != nil {
		d.Fatal(err)
	}
	cmd := exec.CommandContext(d.Context(), filepath.Join(d.programs, "nestor-operator"), "restore", "--ledger", d.LedgerURL)
	cmd.Stdin = from
	if combined, err := cmd.CombinedOutput(); err != nil {
		d.Fatalf("%v: %s", err, combined)
	}
	if err := from.Close(); err != nil {
		d.Fatal(err)
	}
}

func (d *installationTest) start() {
	if err := d.StartOperator(d.Context()); err != nil {
		d.Fatal(err)
	}
}

func (d *installationTest) run(program string, args ...string) {
	d.Helper()
	if combined, err := exec.CommandContext(d.Context(), program, args...).CombinedOutput(); err != nil {
		d.Fatalf("%s: %v: %s", program, err, combined)
	}
}

// expect waits until a task has a phase and an error kind.
func (d *installationTest) expect(name string, phase v1beta1.TaskPhase, kind v1beta1.ErrorKind) {
	d.Helper()
	type outcome struct {
		Phase v1beta1.TaskPhase
		Kind  v1beta1.ErrorKind
	}
	want, got := outcome{phase, kind}, outcome{}
	d.await(name+": "+string(phase), func(ctx context.Context) bool {
		var task v1beta1.AgentTask
		if err := d.API.Get(ctx, key(name), &task); err != nil {
			return false
		}
		got = outcome{Phase: task.Status.Phase}
		if task.Status.Error != nil {
			got.Kind = task.Status.Error.Kind
		}
		return got == want
	})
	if diff := cmp.Diff(want, got); diff != "" {
		d.Errorf("%s: %s", name, diff)
	}
}

func (d *installationTest) await(what string, done func(context.Context) bool) {
	d.Helper()
	if !patience.Until(func() bool { return done(d.Context()) }) {
		d.Errorf("timed out waiting for %s\n%s", what, d.describeObjects())
	}
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: name}
}

func (d *installationTest) describeObjects() string {
	combined, err := exec.CommandContext(d.Context(), d.Cluster.Kubectl, "--kubeconfig", d.Cluster.Kubeconfig, "get", "nestor", "-o", "wide").CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(combined)
}
