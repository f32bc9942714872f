// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

// Model is a real model; the zero value stands for the scripted one.
type Model struct {
	BaseURL, Name string
	// Key is a secret.
	Key string
}

// The address of OpenAI's models, and a default model for a first try.
const (
	openAI        = "https://api.openai.com/v1"
	openAIDefault = "gpt-4.1-mini"
)

// ModelFromEnvironment reads OPENAI_API_KEY, MODEL_BASE_URL and MODEL. Without the first two it returns the scripted model.
func ModelFromEnvironment(get func(string) string) (Model, error) {
	m := Model{BaseURL: get("MODEL_BASE_URL"), Name: get("MODEL"), Key: get("OPENAI_API_KEY")}
	if m.BaseURL == "" && m.Key == "" {
		if m.Name != "" {
			return Model{}, errors.New("MODEL is set, but neither OPENAI_API_KEY nor MODEL_BASE_URL: set one of them, or unset MODEL for the scripted model")
		}
		return Model{}, nil
	}
	if m.BaseURL == "" {
		m.BaseURL = openAI
		if m.Name == "" {
			m.Name = openAIDefault
		}
	}
	if u, err := url.Parse(m.BaseURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return Model{}, errors.New("MODEL_BASE_URL must be a URL such as http://127.0.0.1:11434/v1")
	}
	if m.Name == "" {
		return Model{}, errors.New("MODEL_BASE_URL is set: set MODEL to the name of a model there")
	}
	return m, nil
}

// Real reports whether the model is a real one, not the scripted one.
func (m Model) Real() bool { return m.BaseURL != "" }

// startModel serves the scripted model, unless there is a real one.
func (l *Local) startModel(ctx context.Context) error {
	if m := l.options.Model; m.Real() {
		l.modelURL = m.BaseURL
		l.Say("agents talk to the model %s at %s", m.Name, m.BaseURL)
		return nil
	}
	scripts, err := scripted.Demo()
	if err != nil {
		return fmt.Errorf("load the scripts: %w", err)
	}
	listener, err := Listen(ctx, "the scripted model", l.options.ModelAddress, "DEMO_MODEL_ADDRESS")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: scripted.NewServer(scripted.Options{Scripts: scripts}), ReadHeaderTimeout: 10 * time.Second}
	l.onStop(server.Close)
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			l.fail(fmt.Errorf("the scripted model has ended unexpectedly: %w", err))
		}
	}()
	l.modelURL = "http://" + listener.Addr().String() + "/v1"
	l.Say("the scripted model listens at %s", l.modelURL)
	return nil
}

// Listen listens on the loopback interface, on a free port if the address is empty. Its error names the variable to set if the port is in
// use.
func Listen(ctx context.Context, what, address, variable string) (net.Listener, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s cannot listen at %s, which is in use: stop the program there, or set %s to another address (127.0.0.1:0 takes a free port)",
			what, address, variable)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot listen at %s: %w", what, address, err)
	}
	return listener, nil
}
