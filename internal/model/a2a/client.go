// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// MaxDuration is the timeout of a call. The limits of the agent end it earlier.
const MaxDuration = 24 * time.Hour

const (
	// requestTimeout bounds a request that the remote agent answers from memory.
	requestTimeout = 30 * time.Second
	// idleTimeout is how long a stream may be silent before the state of the task is read: a broken connection is
	// silent, too.
	idleTimeout = time.Minute
	// minPoll and maxPoll bound the time between reads of a task that cannot be subscribed to.
	minPoll = time.Second
	maxPoll = 15 * time.Second
)

// Client calls one remote agent. It is safe for concurrent use.
type Client struct {
	*wire.Connection

	idle, poll time.Duration

	mu sync.Mutex
	// open has the tasks in progress that this process has read, by conversation.
	open map[string]a2a.TaskID
}

// NewClient returns a client of the agent at the endpoint's base URL: the URL below which its card is, or that of the
// card itself, which ends with .json. The endpoint has no key: its headers authenticate requests.
func NewClient(endpoint wire.Endpoint) (*Client, error) {
	endpoint.Path = cardPath
	connection, err := wire.Connect(endpoint)
	if err != nil {
		return nil, err
	}
	return &Client{Connection: connection, idle: idleTimeout, poll: minPoll, open: map[string]a2a.TaskID{}}, nil
}

const cardPath = "/.well-known/agent-card.json"

// Complete implements model.Client: it sends the newest input of the conversation and waits until the remote task has
// ended or needs input.
func (c *Client) Complete(ctx context.Context, req model.Request, listen func(model.Delta)) (model.Reply, error) {
	call, err := c.Start(ctx)
	if err != nil {
		return model.Reply{}, err
	}
	limited, cancel := call.Context()
	defer cancel()
	s, err := c.connect(limited, call, req)
	if err != nil {
		return model.Reply{}, fail(call, err)
	}
	s.listen = listen
	reply, err := s.complete(limited)
	if err != nil {
		return model.Reply{}, fail(call, err)
	}
	c.forget(req.Conversation)
	return reply, nil
}

// Cancel implements model.Canceller: it cancels the unfinished tasks of a conversation.
func (c *Client) Cancel(ctx context.Context, req model.Request) error {
	call, err := c.Start(ctx)
	if err != nil {
		return err
	}
	limited, cancel := call.Context()
	defer cancel()
	s, err := c.connect(limited, call, req)
	if err == nil {
		err = s.cancel(limited)
	}
	if err != nil {
		return fail(call, err)
	}
	c.forget(req.Conversation)
	return nil
}

// Models returns the name of the remote agent, which is a cheap check of the address and the headers.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	call, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := call.Context()
	defer cancel()
	card, err := c.card(limited, c.httpClient(call))
	if err != nil {
		return nil, fail(call, err)
	}
	return []string{card.Name}, nil
}

var (
	_ model.Client    = (*Client)(nil)
	_ model.Canceller = (*Client)(nil)
)

// connect reads the card of the remote agent and returns a session with it. Requests go only to the endpoint's host,
// whatever URL the card has: an agent behind a proxy may report a wrong address, and the headers are for this host
// alone.
func (c *Client) connect(ctx context.Context, call *wire.Call, req model.Request) (*session, error) {
	client := c.httpClient(call)
	card, err := c.card(ctx, client)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(c.BaseURL())
	if err != nil {
		return nil, err
	}
	var interfaces []*a2a.AgentInterface
	for _, offered := range card.SupportedInterfaces {
		if offered == nil {
			continue
		}
		at, err := url.Parse(offered.URL)
		if err != nil {
			continue
		}
		at.Scheme, at.Host, at.User = base.Scheme, base.Host, nil
		here := *offered
		here.URL = at.String()
		interfaces = append(interfaces, &here)
	}
	card.SupportedInterfaces = interfaces
	connected, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(client), a2aclient.WithRESTTransport(client),
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON}}))
	if err != nil {
		return nil, &model.Error{Kind: model.BadRequest, Message: "the card of the remote agent offers neither JSONRPC nor HTTP+JSON of A2A 1.0"}
	}
	return newSession(c, connected, card.Capabilities.Streaming, req), nil
}

func (c *Client) card(ctx context.Context, client *http.Client) (*a2a.AgentCard, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	path := cardPath
	if strings.HasSuffix(c.BaseURL(), ".json") {
		path = ""
	}
	card, err := agentcard.NewResolver(client).Resolve(ctx, c.BaseURL(), agentcard.WithPath(path))
	var status *agentcard.ErrStatusNotOK
	if errors.As(err, &status) {
		return nil, &model.Error{Kind: model.BadRequest, StatusCode: status.StatusCode, Message: fmt.Sprintf("there is no agent card at %s", c.Host()+path)}
	}
	return card, err
}

// httpClient returns a client that sends the headers of a call and reports failures of the server as *model.Error.
func (c *Client) httpClient(call *wire.Call) *http.Client {
	client := c.HTTPClient()
	client.Transport = transport{client.Transport, call}
	return client
}

type transport struct {
	http.RoundTripper
	call *wire.Call
}

// RoundTrip classifies the statuses that decide about a retry, because the SDK reports a status as text.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range t.call.Header {
		req.Header[name] = slices.Clone(values)
	}
	res, err := t.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch status := res.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired,
		status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500 && status != http.StatusNotImplemented:
		body, _ := io.ReadAll(res.Body) // bounded; without it, the error has the status only
		_ = res.Body.Close()
		return nil, wire.Reported(status, res.Header, body)
	}
	return res, nil
}

// fail converts the error of a call to a *model.Error without the values of the headers.
func fail(call *wire.Call, err error) *model.Error {
	var typed *model.Error
	var reported *a2a.Error
	if !errors.As(err, &typed) && errors.As(err, &reported) {
		err = &model.Error{Kind: errorKind(err), Message: "the remote agent answered: " + wire.Line(reported.Error())}
	}
	return call.Fail(nil, err)
}

func errorKind(err error) model.Kind {
	switch {
	case errors.Is(err, a2a.ErrUnauthenticated), errors.Is(err, a2a.ErrUnauthorized):
		return model.Unauthorized
	case errors.Is(err, a2a.ErrInternalError), errors.Is(err, a2a.ErrServerError):
		return model.Transient
	case errors.Is(err, a2a.ErrParseError), errors.Is(err, a2a.ErrInvalidAgentResponse):
		return model.Malformed
	}
	return model.BadRequest
}

func (c *Client) remember(conversation string, id a2a.TaskID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[conversation] = id
}

func (c *Client) forget(conversation string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conversation)
}

func (c *Client) remembered(conversation string) a2a.TaskID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[conversation]
}
