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
	"time"
)

// slice is how many seconds one processor profile covers. They follow each other until the scenario ends;
// `go tool pprof` takes several files at once.
const slice = 5

// profiles are being taken of the operator while a scenario runs.
type profiles struct {
	dir, address string
	cancel       context.CancelFunc
	done         chan error
}

// startProfiles begins to take profiles, if they are wanted.
func startProfiles(ctx context.Context, env Environment, address, name string) *profiles {
	if address == "" {
		return nil
	}
	p := &profiles{dir: filepath.Join(env.Profiles, name), address: address, done: make(chan error, 1)}
	ctx, p.cancel = context.WithCancel(ctx)
	go func() { p.done <- p.take(ctx) }()
	return p
}

func (p *profiles) take(ctx context.Context) error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return fmt.Errorf("save profiles: %w", err)
	}
	for i := 1; ctx.Err() == nil; i++ {
		// The profile under way when the scenario ends is finished: it may be the only one.
		err := p.save(context.WithoutCancel(ctx), fmt.Sprintf("profile?seconds=%d", slice), fmt.Sprintf("cpu-%02d.pprof", i))
		if err == nil {
			continue
		}
		// An operator that is killed takes its profile with it. If there is none for good, the heap's profile tells.
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return nil
}

// stop ends the profiles, and saves one of the memory.
func (p *profiles) stop(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.cancel()
	return errors.Join(<-p.done, p.save(ctx, "heap", "heap.pprof"), p.save(ctx, "allocs", "allocs.pprof"))
}

func (p *profiles) save(ctx context.Context, what, file string) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/debug/pprof/"+what, nil)
	if err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("take a profile: %s", response.Status)
	}
	out, err := os.Create(filepath.Join(p.dir, file))
	if err != nil {
		return fmt.Errorf("save a profile: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, response.Body)
	return err
}
