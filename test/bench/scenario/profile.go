// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// profileSeconds is the length of one CPU profile in seconds. Profiles follow each other until the scenario ends; `go tool
// pprof` merges several files.
const profileSeconds = 5

// profiles takes profiles of a program while a scenario runs.
type profiles struct {
	dir  string
	open func(ctx context.Context, path string) (io.ReadCloser, error)
	// ended reports whether the scenario has ended the program.
	ended  func() bool
	cancel context.CancelFunc
	done   chan error
}

// startProfiles starts profiling the operator and the API server, if enabled.
func startProfiles(ctx context.Context, env Environment, r *harness, name string) []*profiles {
	if !r.profiled {
		return nil
	}
	dir := filepath.Join(env.Profiles, name)
	all := []*profiles{start(ctx, filepath.Join(dir, "apiserver"), func() bool { return false }, r.api.Open)}
	for i, o := range r.operators {
		into := "operator"
		if i > 0 {
			into = fmt.Sprintf("operator-%d", i+1)
		}
		all = append(all, start(ctx, filepath.Join(dir, into), func() bool { return !slices.Contains(r.operators, o) }, func(ctx context.Context, path string) (io.ReadCloser, error) {
			return get(ctx, "http://"+o.profileAddress()+path)
		}))
	}
	return all
}

func start(ctx context.Context, dir string, ended func() bool, open func(context.Context, string) (io.ReadCloser, error)) *profiles {
	p := &profiles{dir: dir, open: open, ended: ended, done: make(chan error, 1)}
	ctx, p.cancel = context.WithCancel(ctx)
	go func() { p.done <- p.take(ctx) }()
	return p
}

func (p *profiles) take(ctx context.Context) error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return fmt.Errorf("save profiles: %w", err)
	}
	for i := 1; ctx.Err() == nil; i++ {
		// Finish the current profile when the scenario ends: it may be the only one.
		err := p.save(context.WithoutCancel(ctx), fmt.Sprintf("profile?seconds=%d", profileSeconds), fmt.Sprintf("cpu-%02d.pprof", i))
		if err == nil {
			continue
		}
		// A killed operator loses its profile. If there is never one, the heap profile reports the error.
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return nil
}

// stopProfiles stops profiling, and saves a heap profile of each program.
func stopProfiles(ctx context.Context, all []*profiles) error {
	var errs []error
	for _, p := range all {
		p.cancel()
		errs = append(errs, <-p.done)
		if p.ended() {
			continue
		}
		errs = append(errs, p.save(ctx, "heap", "heap.pprof"), p.save(ctx, "allocs", "allocs.pprof"))
	}
	return errors.Join(errs...)
}

func (p *profiles) save(ctx context.Context, what, file string) (err error) {
	body, err := p.open(ctx, "/debug/pprof/"+what)
	if err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	defer body.Close()
	out, err := os.Create(filepath.Join(p.dir, file))
	if err != nil {
		return fmt.Errorf("save a profile: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, body)
	return err
}

func get(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, errors.New(response.Status)
	}
	return response.Body, nil
}
