// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bufio"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/patience"
)

func TestRunsOfTriggerAreFollowed(t *testing.T) {
	dir := t.TempDir()
	namespace, kubeconfig, err := newNamespace(dir, world.modelURL)
	if err != nil {
		t.Fatal(err)
	}
	yearly := &v1beta1.AgentTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "yearly"}}
	yearly.Spec.Schedule = &v1beta1.TriggerSchedule{Cron: "0 0 29 2 *"}
	yearly.Spec.Task = &v1beta1.TriggerTask{Role: "researcher", Instruction: "Research the history of the lighthouse of Alexandria."}
	if err := world.api.Create(t.Context(), yearly); err != nil {
		t.Fatal(err)
	}
	environ := []string{"KUBECONFIG=" + kubeconfig, "HOME=" + dir}
	follow := command(dir, environ, "trigger", "logs", "yearly", "--follow")
	out, err := follow.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool, 1)
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), "yearly-") && strings.Contains(lines.Text(), "Success") {
				ended <- true
				return
			}
		}
	}()
	if fired := runProgram(dir, environ, "", "trigger", "fire", "yearly"); fired.code != 0 {
		t.Error(fired.stderr)
	}
	select {
	case ok := <-ended:
		if !ok {
			t.Error("the command ended before the run")
		}
	case <-time.After(patience.Limit()):
		t.Error("the end of the run was not printed")
	}
	_ = follow.Process.Kill()
	_ = follow.Wait()
}
