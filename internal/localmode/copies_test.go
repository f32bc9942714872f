// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestEveryChatHasItsOwnCopy(t *testing.T) {
	dir := t.TempDir()
	l := &Local{Dir: dir, Sample: filepath.Join(dir, "sample-project")}
	for _, path := range []string{l.Sample, l.projects()} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(path, "README.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	copyOf := func(name string, uid types.UID) string {
		t.Helper()
		own, err := l.ownCopy(l.Sample, &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}})
		if err != nil {
			t.Fatal(err)
		}
		return own
	}
	write(l.Sample, "A till.")
	first := copyOf("first", "11111111-a")
	write(first, "Changed.")
	if err := os.Mkdir(l.project("second", "22222222-b")+".part", 0o755); err != nil { // left by a crash
		t.Fatal(err)
	}
	for own, want := range map[string]string{
		copyOf("first", "11111111-a"):  "Changed.",
		copyOf("second", "22222222-b"): "A till.",
		copyOf("first", "33333333-c"):  "A till.", // a new chat with the name of a deleted one
		l.Sample:                       "A till.",
	} {
		if text, err := os.ReadFile(filepath.Join(own, "README.md")); err != nil || string(text) != want {
			t.Errorf("%s: %q %v", own, text, err)
		}
	}
	if path, err := l.ownCopy(dir, &v1beta1.AgentChat{}); err != nil || path != dir {
		t.Errorf("another directory: %s %v", path, err)
	}
}
