// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/replicas"
)

// testPeer is a client with a key of its own.
type testPeer struct {
	identity *Identity
	links    *links
}

// newPeer returns a client that is a member of the installation, or of none if it is nil.
func newPeer(t *testing.T, i *installation) *testPeer {
	t.Helper()
	identity, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	p := &testPeer{identity, newLinks(identity, 5*time.Second)}
	if i != nil {
		i.change(func() { i.members = append(i.members, p.member()) })
	}
	return p
}

func (p *testPeer) member() replicas.Member {
	return replicas.Member{Name: "peer", Address: "127.0.0.1:1", Fingerprint: p.identity.Fingerprint()}
}

// try opens the stream of an agent.
func (p *testPeer) try(t *testing.T, at replicas.Member, uid string) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	conn, release, err := p.links.open(ctx, at)
	if err != nil {
		return nil, err
	}
	t.Cleanup(release)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+at.Address+agentPath+uid, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := conn.RoundTrip(request)
	if err == nil {
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

func (p *testPeer) get(t *testing.T, at replicas.Member, uid string) io.Reader {
	t.Helper()
	response, err := p.try(t, at, uid) //nolint:bodyclose // try closes it
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	return response.Body
}

func decoder(t *testing.T, stream io.Reader) func() live.Update {
	d := json.NewDecoder(stream)
	return func() (update live.Update) {
		t.Helper()
		if err := d.Decode(&update); err != nil {
			t.Fatal(err)
		}
		return update
	}
}

func TestOnlyLiveReplicasAreServed(t *testing.T) {
	i := newInstallation(t)
	a := i.start(t, "a")
	a.delta("uid", "m1", "secret")
	member := newPeer(t, i)
	if got := decoder(t, member.get(t, a.Member, "uid"))(); got.Deltas[0].Text != "secret" {
		t.Errorf("a live replica got %+v", got)
	}
	refuse := func(name string, config *tls.Config) {
		t.Run(name, func(t *testing.T) {
			config.NextProtos = []string{"h2"}
			conn, err := tls.Dial("tcp", a.Address, config)
			if err == nil { // a client of TLS 1.3 gets the server's answer when it reads
				defer func() { _ = conn.Close() }()
				_, err = conn.Read(make([]byte, 1))
			}
			var alert *net.OpError
			if !errors.As(err, &alert) || alert.Op != "remote error" {
				t.Errorf("it is not refused by TLS: %v", err)
			}
		})
	}
	refuse("without a certificate", &tls.Config{InsecureSkipVerify: true})
	refuse("with a foreign certificate", newPeer(t, nil).identity.clientConfig(a.Fingerprint))
	old := member.identity.clientConfig(a.Fingerprint)
	old.MinVersion, old.MaxVersion = 0, tls.VersionTLS12
	refuse("with an old version of TLS", old)
	foreign := newPeer(t, nil).identity.clientConfig(a.Fingerprint)
	foreign.Certificates[0].Certificate = member.identity.certificate.Certificate // the certificate of a replica, without its key
	refuse("with the certificate of a replica and another key", foreign)
	left := newPeer(t, i)
	i.remove(left.member())
	refuse("with the certificate of a replica that has left", left.identity.clientConfig(a.Fingerprint))
	i.change(func() { i.members = append(i.members, replicas.Member{Name: "without a fingerprint"}) })
	refuse("without a certificate, with a member that has no fingerprint", &tls.Config{InsecureSkipVerify: true})
	if a.engine.Readers() != 1 {
		t.Errorf("%d readers, want the live replica only", a.engine.Readers())
	}
}

func TestPlainHTTPIsRefused(t *testing.T) {
	i := newInstallation(t)
	a := i.start(t, "a")
	conn, err := net.Dial("tcp", a.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET "+agentPath+"uid HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || strings.Contains(string(answer), " 200 ") || a.engine.Readers() != 0 {
		t.Errorf("answer %q, %v", answer, err)
	}
}

// TestReplicaThatHasLeft has a connection from before it left.
func TestReplicaThatHasLeft(t *testing.T) {
	i := newInstallation(t)
	a := i.start(t, "a")
	p := newPeer(t, i)
	stream := p.get(t, a.Member, "uid")
	decoder(t, stream)()
	i.remove(p.member())
	if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 {
		t.Errorf("its stream does not end: %q, %v", rest, err)
	}
	response, err := p.try(t, a.Member, "uid") //nolint:bodyclose // try closes it
	if err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("a new stream: %v, %v", response, err)
	}
}

// TestWrongServer has another server at the address of a replica. It gets no request.
func TestWrongServer(t *testing.T) {
	i := newInstallation(t)
	b := i.start(t, "b")
	var requests, handshakes atomic.Int32
	wrong := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	wrong.EnableHTTP2 = true
	wrong.TLS = newPeer(t, nil).identity.serverConfig(i)
	wrong.TLS.ClientAuth, wrong.TLS.VerifyConnection = tls.RequestClientCert, nil
	wrong.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { handshakes.Add(1); return nil, nil }
	wrong.Config.ErrorLog = log.New(io.Discard, "", 0)
	wrong.StartTLS()
	defer wrong.Close()
	a := newPeer(t, i).member()
	a.Address = wrong.Listener.Addr().String()
	for name, fingerprint := range map[string]string{"another": a.Fingerprint, "none": ""} {
		before := handshakes.Load()
		a.Fingerprint = fingerprint
		i.assign("uid-"+name, a)
		v := follow(t, b, "uid-"+name)
		eventually(t, "it was tried twice", func() bool { return handshakes.Load() > before+1 })
		if v.read(); v.changes != 0 || requests.Load() != 0 {
			t.Errorf("fingerprint %s: %d changes, %d requests", name, v.changes, requests.Load())
		}
	}
}

func TestIdentitiesDiffer(t *testing.T) {
	a, b := newPeer(t, nil).identity.Fingerprint(), newPeer(t, nil).identity.Fingerprint()
	if a == b || len(a) != 64 || slices.Contains([]string{a, b}, "") {
		t.Error(a, b)
	}
}
