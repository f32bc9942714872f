// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// newChats creates a namespace with chats, and returns the environment of the program.
func newChats(t *testing.T, names ...string) (dir string, environ []string) {
	t.Helper()
	dir = t.TempDir()
	namespace, kubeconfig, err := newNamespace(dir, world.modelURL)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if err := world.api.Create(context.Background(), chat); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"KUBECONFIG=" + kubeconfig, "HOME=" + dir}
}

func TestOneOfSeveralChatsIsChosen(t *testing.T) {
	dir, environ := newChats(t, "alpha", "beta")
	s := startScreen(t, command(dir, environ, "chat"), 80, 24)
	s.await("3 of 3 · type to search")
	s.typeKeys("bet")
	s.await("1 of 3")
	s.typeKeys(enter)
	s.await("Nothing has been said yet.")
	s.await("beta")
	s.typeKeys(ctrlC)
	s.await("To return to the chat: kubectl nestor chat beta")
	if code := s.waitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	s = startScreen(t, command(dir, environ, "chat"), 80, 24)
	s.await("3 of 3 · type to search")
	s.typeKeys(ctrlC)
	s.await("error: no chat was chosen")
	if code := s.waitExit(); code != 4 {
		t.Errorf("exit code %d", code)
	}
}

func TestTopOnAScreen(t *testing.T) {
	dir, environ := newChats(t, "first", "second")
	if out := runProgram(dir, environ, "", "send", "first", "Summarise what was released this year.", "--wait"); out.code != 5 {
		t.Fatalf("exit code %d: %s", out.code, out.stderr)
	}
	s := startScreen(t, command(dir, environ, "top"), 120, 24)
	s.await("1 waiting")
	s.await("asks: Which year is it?")
	s.await("▸   first")
	s.typeKeys(enter)
	s.await("└─ first-1")
	s.typeKeys(enter)
	s.await("transcript of first-1")
	s.await("Summarise the releases of this year.")
	s.typeKeys(escape)
	s.await("enter what it does")
	s.typeKeys("y")
	s.await("kind: AgentTask")
	s.typeKeys(escape)
	s.await("enter what it does")
	s.typeKeys(escape)
	s.await("enter its agents")
	s.typeKeys("/sec" + enter)
	s.await("▸   second")
	s.typeKeys("?")
	s.await("switch to another namespace")
	s.typeKeys("q")
	if code := s.waitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	// A chat opens from the list, and leaving it returns to the list.
	s = startScreen(t, command(dir, environ, "top"), 80, 24)
	s.await("▸   first")
	s.typeKeys("c")
	s.await("enter answers it")
	s.typeKeys("It is 2024" + enter)
	s.await("Three releases came out")
	s.typeKeys(ctrlC)
	s.await("enter its agents")
	s.await("0 waiting")
	s.typeKeys(ctrlC)
	if code := s.waitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
