// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/nestor-dev/nestor/internal/localmode"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/test/patience"
)

// asDemo makes this test binary act as the demo.
const asDemo = "NESTOR_TEST_DEMO"

func TestMain(m *testing.M) {
	if os.Getenv(asDemo) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// demoEnvironment is the environment of a demo: a directory for the state, and one instead of the system's temporary
// directory.
type demoEnvironment struct {
	t              *testing.T
	dir, temporary string
}

func newDemoEnvironment(t *testing.T) demoEnvironment {
	base := t.TempDir()
	s := demoEnvironment{t, filepath.Join(base, "demo"), filepath.Join(base, "tmp")}
	if err := os.Mkdir(s.temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

type runningDemo struct {
	demoEnvironment
	cmd   *exec.Cmd
	done  chan error
	typed *os.File // what is written to it is typed into the demo

	mu  sync.Mutex
	out bytes.Buffer
}

// Write implements io.Writer.
func (p *runningDemo) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(text)
}

func (p *runningDemo) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (s demoEnvironment) start(env ...string) *runningDemo {
	s.t.Helper()
	p := &runningDemo{demoEnvironment: s, cmd: exec.Command(os.Args[0]), done: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), append([]string{asDemo + "=1", "DEMO_DIR=" + s.dir, "TMPDIR=" + s.temporary}, env...)...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	keys, typed, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	p.cmd.Stdin, p.typed = keys, typed
	s.t.Cleanup(func() { _, _ = keys.Close(), typed.Close() })
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C signals a whole group
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	s.t.Cleanup(func() { // normally it has ended; otherwise its guard needs its files to kill the rest
		_ = p.cmd.Process.Kill()
		patience.Until(func() bool { return len(s.processes()) == 0 })
	})
	return p
}

// tourTime is that of the whole tour, with the start of the control plane.
const tourTime = 2 * time.Minute

// waitForOutput waits until the demo prints text.
func (p *runningDemo) waitForOutput(text string) {
	p.t.Helper()
	p.eventually("the demo prints "+text, func() bool { return strings.Contains(p.output(), text) })
}

func (p *runningDemo) eventually(what string, holds func() bool) {
	p.t.Helper()
	if !patience.Until(holds) {
		p.t.Fatalf("timed out: %s; output:\n%s", what, p.output())
	}
}

// waitExit waits for the demo to end and returns its exit code.
func (p *runningDemo) waitExit() int {
	p.t.Helper()
	select {
	case err := <-p.done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.t.Fatal(err)
		}
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(tourTime + patience.Limit()):
		p.t.Fatalf("the demo does not end; output:\n%s", p.output())
		return -1
	}
}

// signal sends a signal to the demo; Ctrl-C goes to its whole group.
func (p *runningDemo) signal(signal syscall.Signal) {
	p.t.Helper()
	target := p.cmd.Process.Pid
	if signal == syscall.SIGINT {
		target = -target
	}
	if err := syscall.Kill(target, signal); err != nil {
		p.t.Fatal(err)
	}
}

func (p *runningDemo) ports() []string {
	p.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(p.dir, "cluster", "kubeconfig"))
	if err != nil {
		p.t.Fatal(err)
	}
	model := regexp.MustCompile(`listens at (http\S+)`).FindStringSubmatch(p.output())
	if model == nil {
		p.t.Fatalf("no address of the model in:\n%s", p.output())
	}
	var hosts []string
	for _, address := range []string{config.Host, model[1]} {
		u, err := url.Parse(address)
		if err != nil {
			p.t.Fatal(err)
		}
		hosts = append(hosts, u.Host)
	}
	for _, host := range hosts {
		if !listening(host) {
			p.t.Errorf("nothing listens at %s while the demo runs", host)
		}
	}
	return hosts
}

func listening(host string) bool {
	conn, err := net.DialTimeout("tcp", host, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// processes returns those that have the demo's directory in their command line.
func (s demoEnvironment) processes() []string {
	s.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		s.t.Skip("this system has no /proc to look for processes in")
	}
	var found []string
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		pid := filepath.Base(filepath.Dir(file))
		if bytes.Contains(text, []byte(s.dir)) && pid != strconv.Itoa(os.Getpid()) {
			found = append(found, pid+" "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

// checkCleanedUp checks that a demo leaves no process, port or file except its state.
func (p *runningDemo) checkCleanedUp(ports []string) {
	p.t.Helper()
	p.eventually("its processes end", func() bool { return len(p.processes()) == 0 })
	for _, port := range ports {
		// A process that is being killed no longer has a command line, but briefly keeps its ports.
		p.eventually("nothing listens at "+port, func() bool { return !listening(port) })
	}
	for _, dir := range []string{p.temporary, filepath.Join(p.dir, "cluster", "run")} {
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			p.t.Errorf("left behind: %v", left)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(p.dir))
	if err != nil {
		p.t.Fatal(err)
	}
	if names := fmt.Sprint(entries); len(entries) != 2 {
		p.t.Errorf("beside the state there is %s", names)
	}
}

// startAgain starts the demo with the state of the earlier ones, and waits until it is ready.
func (s demoEnvironment) startAgain(t *testing.T, env ...string) *runningDemo {
	t.Helper()
	s.t = t
	demo := s.start(env...)
	demo.waitForOutput("Ctrl-C stops everything")
	return demo
}

// end ends the demo with a signal, and checks that it leaves nothing.
func (p *runningDemo) end(signal syscall.Signal, ports []string) {
	p.t.Helper()
	p.signal(signal)
	if code := p.waitExit(); code != 0 && signal != syscall.SIGKILL {
		p.t.Errorf("the demo ended with %d:\n%s", code, p.output())
	}
	p.checkCleanedUp(ports)
}

func TestTourAndRestart(t *testing.T) {
	s, cli := newDemoEnvironment(t), buildCLI(t)
	began := time.Now()
	tour := s.start("DEMO_SCRIPT=tour")
	if code := tour.waitExit(); code != 0 {
		t.Fatalf("the tour ended with %d:\n%s", code, tour.output())
	}
	t.Logf("the tour took %s", time.Since(began).Round(time.Second))
	checkTourLog(t, tour.output())
	tour.checkCleanedUp(nil)

	withCLI := "PATH=" + cli + string(os.PathListSeparator) + os.Getenv("PATH")
	// Each run ends in another way.
	t.Run("the commands that it prints, and Ctrl-C", func(t *testing.T) {
		demo := s.startAgain(t, withCLI)
		ports := demo.ports()
		if chats := demo.shell("kubectl get agentchats -o name"); !strings.Contains(chats, "/tour-") || !strings.Contains(chats, "/first") {
			t.Errorf("the chats after a restart are %q, want the tour's and the first", chats)
		}
		playFirstChange(t, demo)
		checkNewChats(t, demo)
		playExamples(t, demo)
		demo.end(syscall.SIGINT, ports)
	})

	t.Run("a model of another API, and SIGTERM", func(t *testing.T) {
		scripts, err := scripted.Demo()
		if err != nil {
			t.Fatal(err)
		}
		served := scripted.NewServer(scripted.Options{Scripts: scripts, APIKey: "secret"})
		server := httptest.NewServer(served)
		defer server.Close()
		demo := s.startAgain(t, withCLI, "MODEL_API=Anthropic", "MODEL_BASE_URL="+server.URL, "MODEL=scripted", "ANTHROPIC_API_KEY=secret")
		if answer := demo.shell("kubectl nestor send first-scripted 'What is 17 * 23?' --wait"); !strings.Contains(answer, "17 * 23 is 391.") {
			t.Errorf("the model answers %q", answer)
		}
		for _, request := range served.Requests() {
			if request.API != model.Anthropic || request.Status != http.StatusOK || !request.Authorized {
				t.Errorf("request %d used %s and got %d: %s", request.Number, request.API, request.Status, request.Error)
			}
		}
		demo.end(syscall.SIGTERM, nil)
	})

	t.Run("without its operator for a while", func(t *testing.T) {
		demo := s.startAgain(t, withCLI)
		ports := demo.ports()
		toggle := func(says string) {
			if _, err := demo.typed.WriteString("o\n"); err != nil {
				t.Fatal(err)
			}
			demo.waitForOutput(says)
		}
		toggle("the operator is stopped")
		demo.shell("kubectl nestor send first 'What is 17 * 23?'")
		toggle("the operator runs again")
		if answer := demo.shell("kubectl nestor send first 'What is 17 * 23?' --wait"); !strings.Contains(answer, "17 * 23 is 391.") {
			t.Errorf("the model answers %q", answer)
		}
		checkNotificationLink(t, demo)
		demo.end(syscall.SIGINT, ports)
	})

	t.Run("SIGKILL", func(t *testing.T) {
		demo := s.startAgain(t)
		demo.end(syscall.SIGKILL, demo.ports())
	})

	t.Run("a dead process is reported", func(t *testing.T) {
		demo := s.startAgain(t)
		ports := demo.ports()
		demo.kill("kube-apiserver")
		if code := demo.waitExit(); code != 1 || !strings.Contains(demo.output(), "kube-apiserver has ended unexpectedly") {
			t.Errorf("the demo ended with %d; output:\n%s", code, demo.output())
		}
		demo.checkCleanedUp(ports)
	})
}

// checkNotificationLink checks that a notification links to the page of the demo.
func checkNotificationLink(t *testing.T, demo *runningDemo) {
	t.Helper()
	want := "AgentChat " + localmode.Namespace + "/first: finished."
	if page := regexp.MustCompile(`(http\S+)/login`).FindStringSubmatch(demo.output()); page != nil {
		want += "\n" + page[1] + "/" + localmode.Namespace + "/chats/first"
	}
	received := make(chan string, 8)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Text string }
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Error(err)
		}
		received <- message.Text
	}))
	defer receiver.Close()
	demo.shell("kubectl create secret generic alerts --from-literal=url=" + receiver.URL)
	demo.shell(`kubectl patch agentchat first --type merge -p '{"spec":{"notify":[{"on":["Finished"],"slack":{"urlKeyRef":{"name":"alerts","key":"url"}}}]}}'`)
	demo.shell("kubectl nestor send first 'What is 17 * 23?' --wait")
	select {
	case got := <-received:
		if got != want {
			t.Errorf("the notification is %q, want %q", got, want)
		}
	case <-time.After(patience.Limit()):
		t.Errorf("no notification; output:\n%s", demo.output())
	}
}

// checkTourLog checks that the log of the tour has its turns, in order.
func checkTourLog(t *testing.T, log string) {
	t.Helper()
	for _, text := range []string{
		"(security-reviewer): Review the sample project for security", "(docs-reviewer): Success", "    ✓ ", "(tester): Success",
		"answer: kubectl nestor send", "decide: kubectl nestor approve", " approved a call of", "you: Only the shop's own network.",
		"needs input: Who can reach the port of the till?",
	} {
		if !strings.Contains(log, text) {
			t.Errorf("the log lacks %q", text)
		}
	}
	rest := log
	for _, text := range []string{"starting the control plane", "starting the operator", "you: Review the sample project", "The review of the sample project:", "the tour has finished"} {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("the log lacks %q at the expected place:\n%s", text, log)
		}
		rest = after
	}
}

// command returns a shell that runs commands in the environment of the demo's file.
func (p *runningDemo) command(commands string) *exec.Cmd {
	return exec.Command("sh", "-c", ". "+filepath.Join(p.dir, "use.sh")+" && "+commands)
}

func (p *runningDemo) shell(commands string) string {
	p.t.Helper()
	out, err := p.command(commands).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return string(out)
}

// kill kills a process of the demo's control plane.
func (p *runningDemo) kill(program string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "cluster", "run", program+".pid"))
	if err != nil {
		p.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
}

func TestWrongSettingsAreExplained(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		env  []string
		want string
	}{
		"an unknown script":       {[]string{"DEMO_SCRIPT=opera"}, "use tour"},
		"a model without a place": {[]string{"MODEL=large"}, "neither OPENAI_API_KEY nor MODEL_BASE_URL"},
		"a directory in use":      {[]string{"DEMO_DIR=" + full}, "was not made by the demo"},
	} {
		t.Run(name, func(t *testing.T) {
			env := func(variable string) string {
				i := slices.IndexFunc(tc.env, func(entry string) bool { return strings.HasPrefix(entry, variable+"=") })
				if i < 0 {
					return ""
				}
				return strings.TrimPrefix(tc.env[i], variable+"=")
			}
			err := run(t.Context(), env, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v: %v, want an error with %q", tc.env, err, tc.want)
			}
		})
	}
}
