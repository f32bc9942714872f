// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/login/request"
	"github.com/nestor-dev/nestor/internal/server"
	"github.com/nestor-dev/nestor/web"
)

// openPage opens the port of the page before the operator starts, because notifications and doors link to the page.
func (l *Local) openPage(ctx context.Context) (err error) {
	if _, built := web.Page(); !built {
		l.Say("the web page is not in this build: use the terminal")
		return nil
	}
	l.pageListener, err = l.listenAgain(ctx, "page-address")
	return err
}

// pageURL returns the address of the page, or "" without one.
func (l *Local) pageURL() string {
	if l.pageListener == nil {
		return ""
	}
	return "http://" + l.pageListener.Addr().String()
}

// servePage serves the web page to the person who started the demo, with the permissions of its kubeconfig. Its address and the session of
// the browser stay valid over restarts.
func (l *Local) servePage(ctx context.Context) error {
	if l.pageListener == nil {
		return nil
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	link, done, err := server.Local(serving, server.LocalOptions{
		Config: l.Config, Namespace: Namespace, Listener: l.pageListener, SessionFile: filepath.Join(l.Dir, "page-session"),
		Workspace: l.NewChat("").Spec.Workspace, Ideas: l.ideas(), GatewayURL: l.GatewayURL(),
		Logins: func(ctx context.Context, wanted request.Request) (request.Result, error) {
			if running := l.intake.Load(); running != nil {
				return running.Login(ctx, wanted)
			}
			return request.Result{}, intake.Unavailable("the operator has not started")
		},
	})
	if err != nil {
		cancel()
		return err
	}
	l.page = link
	ended := make(chan error, 1)
	go func() {
		err := <-done
		if serving.Err() == nil {
			l.fail(fmt.Errorf("the web page has ended unexpectedly: %w", err))
		}
		ended <- err
	}()
	l.onStop(func() error {
		cancel()
		return <-ended
	})
	return nil
}
