// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/nestor-dev/nestor/internal/model"
)

// Dialect is a variant of an API that some models support. Its zero value should suit almost all models.
type Dialect[D any] interface {
	comparable
	// After returns the dialect to try after a refusal, which is the same one if the refusal does not suggest another.
	After(refusal *model.Error) D
	// Lasting returns the dialect without what holds for one call only.
	Lasting() D
	// Suffix distinguishes the idempotency keys of one call in different dialects: they are different requests, and the
	// response to a rejected one must not be replayed for the next.
	Suffix() string
}

// Completer calls the models of a provider. It learns the dialect of each model from rejected requests.
type Completer[D Dialect[D]] struct {
	*Connection
	// ByEffort reports that the dialect of a model depends on the reasoning effort.
	ByEffort bool
	Encode   func(req model.Request, used D) ([]byte, error)
	// Address returns where a request is sent, and its query.
	Address func(req model.Request, used D) (string, url.Values)
	// Authenticate adds the credentials of a call, if it has any, to a header.
	Authenticate func(call *Call, header http.Header)
	// List lists the provider's models.
	List func(call *Call, header http.Header) ([]string, error)
	Read func(body io.ReadCloser, req model.Request, listen func(model.Delta)) (model.Reply, error)

	mu      sync.Mutex
	learned map[string]D // by name of the model
}

// Complete makes a call in the dialect learned for the model, and repeats it as long as the error suggests another one.
func (c *Completer[D]) Complete(ctx context.Context, req model.Request, listen func(model.Delta)) (model.Reply, error) {
	call, err := c.Start(ctx)
	if err != nil {
		return model.Reply{}, err
	}
	if listen == nil {
		listen = func(model.Delta) {}
	}
	name := req.Model
	if c.ByEffort {
		name += " " + string(req.ReasoningEffort)
	}
	used := c.find(name)
	for {
		reply, err := c.attempt(call, req, used, listen)
		if err == nil {
			return reply, nil
		}
		var refusal *model.Error
		next := used
		if errors.As(err, &refusal) {
			next = used.After(refusal)
		}
		if next == used {
			return model.Reply{}, err
		}
		c.remember(name, next.Lasting())
		used = next
	}
}

func (c *Completer[D]) attempt(call *Call, req model.Request, used D, listen func(model.Delta)) (model.Reply, error) {
	body, err := c.Encode(req, used)
	if err != nil {
		return model.Reply{}, &model.Error{Kind: model.BadRequest, Message: Line(err.Error())}
	}
	limited, cancel := call.Context()
	defer cancel()
	header := http.Header{}
	if req.IdempotencyKey != "" {
		header.Set("Idempotency-Key", req.IdempotencyKey+used.Suffix())
	}
	c.Authenticate(call, header)
	address, query := c.Address(req, used)
	response, err := call.Post(limited, address, query, header, body)
	if err != nil {
		return model.Reply{}, err
	}
	defer response.Body.Close()
	reply, err := c.Read(response.Body, req, listen)
	if err != nil {
		return model.Reply{}, call.Fail(nil, err)
	}
	return reply, nil
}

// Models lists the provider's models, which is a cheap check of the address and the credentials.
func (c *Completer[D]) Models(ctx context.Context) ([]string, error) {
	call, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	c.Authenticate(call, header)
	return c.List(call, header)
}

func (c *Completer[D]) find(name string) D {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.learned[name]
}

func (c *Completer[D]) remember(name string, dialect D) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.learned == nil {
		c.learned = map[string]D{}
	}
	c.learned[name] = dialect
}

// Mark returns a part of a Suffix, or "" if it is not set.
func Mark(set bool, text string) string {
	if set {
		return text
	}
	return ""
}
