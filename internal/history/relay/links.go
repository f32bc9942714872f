// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/replicas"
)

// links has one connection to each replica from which agents are followed.
type links struct {
	identity  *Identity
	heartbeat time.Duration

	mu     sync.Mutex
	byPeer map[replicas.Member]*link
}

// link is a connection to a replica while it has users.
type link struct {
	users  int
	ctx    context.Context // ends with the last user
	cancel context.CancelFunc
	dialed chan struct{} // closed when conn or err is set
	conn   *http.ClientConn
	err    error
}

func newLinks(identity *Identity, heartbeat time.Duration) *links {
	return &links{identity: identity, heartbeat: heartbeat, byPeer: map[replicas.Member]*link{}}
}

// open returns the connection to a replica, which stays open until release is called.
func (l *links) open(ctx context.Context, to replicas.Member) (conn *http.ClientConn, release func(), err error) {
	shared := l.join(to)
	select {
	case <-shared.dialed:
		err = shared.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		l.leave(to, shared)
		return nil, nil, err
	}
	return shared.conn, func() { l.leave(to, shared) }, nil
}

// join adds a user to the connection to a replica, which is dialed if there is none that works.
func (l *links) join(to replicas.Member) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	shared := l.byPeer[to]
	if shared == nil || shared.broken() {
		shared = &link{dialed: make(chan struct{})}
		shared.ctx, shared.cancel = context.WithCancel(context.Background())
		l.byPeer[to] = shared
		go l.dial(shared, to)
	}
	shared.users++
	return shared
}

// leave removes a user, and closes a connection without users.
func (l *links) leave(to replicas.Member, shared *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if shared.users--; shared.users > 0 {
		return
	}
	shared.cancel()
	if l.byPeer[to] == shared {
		delete(l.byPeer, to)
	}
}

func (l *links) dial(shared *link, to replicas.Member) {
	defer close(shared.dialed)
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	transport := &http.Transport{
		DialContext: (&net.Dialer{Timeout: l.heartbeat}).DialContext, TLSHandshakeTimeout: l.heartbeat,
		TLSClientConfig: l.identity.clientConfig(to.Fingerprint), Protocols: protocols,
		HTTP2: &http.HTTP2Config{SendPingTimeout: l.heartbeat, PingTimeout: l.heartbeat, WriteByteTimeout: 2 * l.heartbeat},
	}
	if shared.conn, shared.err = transport.NewClientConn(shared.ctx, "https", to.Address); shared.err == nil {
		context.AfterFunc(shared.ctx, func() { _ = shared.conn.Close() }) // it has no users, so nothing depends on the error
	}
}

// broken reports whether a connection failed.
func (l *link) broken() bool {
	select {
	case <-l.dialed:
		return l.err != nil || l.conn.Err() != nil
	default:
		return false
	}
}
