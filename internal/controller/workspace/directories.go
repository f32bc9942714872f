// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
	"github.com/nestor-dev/nestor/internal/version"
)

// directories serves directories of this machine, each by a separate server behind one loopback port. The program
// must pass shell.SupervisorArgument on to shell.Supervise, as the operator does.
type directories struct {
	options Options
	pool    *mcp.Pool
	server  *loopbackServer

	mu   sync.Mutex
	open map[types.UID]*directory
	// trees read the changes of directories, whether they are served or not.
	trees map[types.UID]*changes.Tree
}

type directory struct {
	served  *workspace.Workspace
	home    string
	session *mcp.Session
	calls   int
	idle    *time.Timer
}

func newDirectories(o Options) *directories {
	return &directories{options: o, pool: newPool(nil, nil), server: &loopbackServer{}, open: map[types.UID]*directory{}, trees: map[types.UID]*changes.Tree{}}
}

func (d *directories) attach(ctx context.Context, p Location, _ string) (*connection, error) {
	uid := p.Owner.GetUID()
	one, err := d.acquire(uid, p)
	if err != nil {
		return nil, fmt.Errorf("the workspace cannot be opened, and nothing was run: %w", err)
	}
	if status := one.session.WaitForStatus(ctx); !status.Ready {
		d.release(uid, one, p.idle())
		return nil, fmt.Errorf("the workspace does not respond, and nothing was run: %s", status.Message)
	}
	return &connection{session: one.session, release: func() { d.release(uid, one, p.idle()) }, lossMessage: func(context.Context) string { return "" }}, nil
}

// acquire returns the directory of an owner, which stays open until it is released.
func (d *directories) acquire(uid types.UID, p Location) (*directory, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one, ok := d.open[uid]
	if !ok {
		var err error
		if one, err = d.serve(uid, p); err != nil {
			return nil, err
		}
		d.open[uid] = one
	}
	one.calls++
	if one.idle != nil {
		one.idle.Stop()
	}
	return one, nil
}

// release allows a directory to be closed after an idle time.
func (d *directories) release(uid types.UID, one *directory, idle time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one.calls--; one.calls > 0 {
		return
	}
	one.idle = time.AfterFunc(idle, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.open[uid] == one && one.calls == 0 {
			d.closeLocked(uid, one)
		}
	})
}

// serve opens a directory and connects to it.
func (d *directories) serve(uid types.UID, p Location) (*directory, error) {
	actual, err := d.resolve(p)
	if err != nil {
		return nil, err // it was valid when the agent started, and has been changed since
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the executable: %w", err)
	}
	home, err := os.MkdirTemp(d.options.Scratch, "nestor-home-")
	if err != nil {
		return nil, fmt.Errorf("create a home directory for commands: %w", err)
	}
	token := rand.Text() + rand.Text()
	limits := workspace.DefaultLimits()
	half := limits.OutputBytes / 2
	served, err := workspace.New(workspace.Options{
		Root: actual, Token: token, Version: version.String(),
		Shell: &shell.Runner{Program: program, Env: shell.Environment(home, nil), Writable: []string{actual, home}, MaxProcesses: limits.ShellProcesses, HeadBytes: half, TailBytes: half},
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	url, err := d.server.add(string(uid), served.Handler())
	if err != nil {
		served.Close()
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	session := d.pool.Ensure(mcp.Server{
		Key: mcp.Key{Server: string(uid)}, Revision: token, Transport: mcp.StreamableHTTP, URL: url,
		Headers: func(context.Context) (http.Header, error) {
			return http.Header{"Authorization": {"Bearer " + token}}, nil
		},
	})
	return &directory{served: served, home: home, session: session}, nil
}

func (d *directories) closeOwner(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one, ok := d.open[uid]; ok {
		d.closeLocked(uid, one)
	}
	d.forgetTree(uid)
}

func (d *directories) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for uid, one := range d.open {
		d.closeLocked(uid, one)
	}
	for uid := range d.trees {
		d.forgetTree(uid)
	}
	d.server.close()
}

func (d *directories) closeLocked(uid types.UID, one *directory) {
	delete(d.open, uid)
	if one.idle != nil {
		one.idle.Stop()
	}
	d.pool.Retain(func(key mcp.Key) bool { return key.Server != string(uid) })
	d.server.remove(string(uid))
	one.served.Close()
	_ = os.RemoveAll(one.home) // leftovers of commands
}
