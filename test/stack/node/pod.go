// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/localcluster/lifeline"
)

const filesVolume = "files"

type pod struct {
	name types.NamespacedName
	spec corev1.PodSpec
	dir  string

	mu     sync.Mutex
	status corev1.PodStatus
	listen string
	server *lifeline.Process
	killed bool
}

func newPod(found *corev1.Pod, dir string) *pod {
	return &pod{name: client.ObjectKeyFromObject(found), spec: found.Spec, dir: dir}
}

func (p *pod) current() corev1.PodStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

func (p *pod) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listen
}

func (p *pod) volume(name string) string { return filepath.Join(p.dir, name) }

// run runs the containers: each init container to its end, then the server.
func (p *pod) run(ctx context.Context, n *Node) {
	err := p.start(ctx, n)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.status = corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{{
			Name: "clone", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: err.Error()}},
		}}}
		return
	}
	p.status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
}

func (p *pod) start(ctx context.Context, n *Node) error {
	if err := p.fillVolumes(ctx, n); err != nil {
		return err
	}
	for _, c := range p.spec.InitContainers {
		cmd, err := p.command(ctx, n, c)
		if err != nil {
			return err
		}
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
	}
	cmd, err := p.command(ctx, n, p.spec.Containers[0])
	if err != nil {
		return err
	}
	return p.serve(cmd)
}

// serve starts the server, whose first line has its address.
func (p *pod) serve(cmd *exec.Cmd) error {
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = io.Discard, in
	p.mu.Lock()
	if p.killed {
		p.mu.Unlock()
		return context.Canceled
	}
	var err error
	p.server, err = lifeline.Start(cmd, syscall.SIGKILL)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	go func() {
		<-p.server.Exited()
		_ = in.Close()
	}()
	lines := bufio.NewReader(out)
	first, err := lines.ReadBytes('\n')
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	var said struct{ Address string }
	if err == nil {
		err = json.Unmarshal(first, &said)
	}
	if err != nil {
		return fmt.Errorf("the server printed %q: %w", first, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listen = said.Address
	return nil
}

// fillVolumes creates the directories of the volumes, those of Secrets with their keys.
func (p *pod) fillVolumes(ctx context.Context, n *Node) error {
	for _, v := range p.spec.Volumes {
		if err := os.MkdirAll(p.volume(v.Name), 0o700); err != nil {
			return err
		}
		if v.Secret == nil {
			continue
		}
		data, err := p.secret(ctx, n, v.Secret.SecretName)
		if err != nil {
			return err
		}
		for key, value := range data {
			if err := os.WriteFile(filepath.Join(p.volume(v.Name), key), value, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pod) secret(ctx context.Context, n *Node, name string) (map[string][]byte, error) {
	var secret corev1.Secret
	err := n.api.Get(ctx, types.NamespacedName{Namespace: p.name.Namespace, Name: name}, &secret)
	return secret.Data, err
}

func (p *pod) command(ctx context.Context, n *Node, c corev1.Container) (*exec.Cmd, error) {
	cmd := exec.Command(n.program) //nolint:noctx // it runs until the pod ends
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.mounted(c, "/tmp")}
	for _, arg := range c.Args {
		cmd.Args = append(cmd.Args, p.argument(n, c, arg))
	}
	for _, env := range c.Env {
		if ref := env.ValueFrom; ref != nil && ref.SecretKeyRef != nil {
			data, err := p.secret(ctx, n, ref.SecretKeyRef.Name)
			if err != nil {
				return nil, err
			}
			env.Value = string(data[ref.SecretKeyRef.Key])
		}
		cmd.Env = append(cmd.Env, env.Name+"="+env.Value)
	}
	return cmd, nil
}

// argument returns an argument with the directories of this machine.
func (p *pod) argument(n *Node, c corev1.Container, arg string) string {
	name, value, ok := strings.Cut(arg, "=")
	switch {
	case !ok:
		return arg
	case name == "--listen":
		return name + "=127.0.0.1:0"
	case name == "--url":
		return name + "=" + n.route(value)
	case strings.HasPrefix(value, "/"):
		paths := strings.Split(value, ",")
		for i, path := range paths {
			paths[i] = p.mounted(c, path)
		}
		return name + "=" + strings.Join(paths, ",")
	}
	return arg
}

// mounted returns the directory of this machine for a path in a container. A path that is in no volume is left as it is.
func (p *pod) mounted(c corev1.Container, path string) string {
	mounts := slices.Clone(c.VolumeMounts)
	slices.SortFunc(mounts, func(a, b corev1.VolumeMount) int { return len(b.MountPath) - len(a.MountPath) })
	for _, m := range mounts {
		if rest, ok := strings.CutPrefix(path, m.MountPath); ok && (rest == "" || rest[0] == '/') {
			return p.volume(m.Name) + rest
		}
	}
	return path
}

// kill ends the server, and removes the volumes.
func (p *pod) kill() {
	p.mu.Lock()
	p.killed = true
	server := p.server
	p.mu.Unlock()
	if server != nil {
		_ = server.Kill()
	}
	_ = os.RemoveAll(p.dir)
}
