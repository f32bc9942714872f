// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitpush_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitclone"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitpush"
	"github.com/nestor-dev/nestor/test/programs"
)

func newKey(t *testing.T) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

// sshServer gives git access to repositories to one key.
type sshServer struct {
	address string
	host    ssh.PublicKey
	key     []byte // the private key of the client
}

func newSSHServer(t *testing.T, root string) *sshServer {
	t.Helper()
	programs.Need(t, "ssh")
	host, _ := newKey(t)
	client, key := newKey(t)
	config := &ssh.ServerConfig{PublicKeyCallback: func(meta ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
		if meta.User() != "git" || !bytes.Equal(offered.Marshal(), client.PublicKey().Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveSSH(t, conn, config, root)
		}
	}()
	return &sshServer{address: listener.Addr().String(), host: host.PublicKey(), key: key}
}

func serveSSH(t *testing.T, conn net.Conn, config *ssh.ServerConfig, root string) {
	server, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return // the client does not trust the server, or the other way round
	}
	defer func() { _ = server.Close() }()
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go serveGitCommand(t, channel, requests, root)
	}
}

// serveGitCommand runs the two commands of git, for repositories below a directory.
func serveGitCommand(t *testing.T, channel ssh.Channel, requests <-chan *ssh.Request, root string) {
	defer func() { _ = channel.Close() }()
	for r := range requests {
		if r.Type != "exec" {
			_ = r.Reply(false, nil)
			continue
		}
		_ = r.Reply(true, nil)
		var exec struct{ Command string }
		status := uint32(1)
		if ssh.Unmarshal(r.Payload, &exec) == nil && runGit(t, channel, exec.Command, root) == nil {
			status = 0
		}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
		return
	}
}

func runGit(t *testing.T, channel ssh.Channel, command, root string) error {
	service, path, _ := strings.Cut(command, " ")
	if service != "git-upload-pack" && service != "git-receive-pack" {
		return fmt.Errorf("unknown command %q", command)
	}
	cmd := exec.CommandContext(t.Context(), "git", strings.TrimPrefix(service, "git-"), filepath.Join(root, filepath.Clean(strings.Trim(path, "'"))))
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(input, channel)
		_ = input.Close()
	}()
	return cmd.Run()
}

func (s *sshServer) source(t *testing.T, dir string, known ...ssh.PublicKey) gitclone.Source {
	t.Helper()
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, key := range known {
		fmt.Fprintf(&lines, "[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(key))
	}
	credentials := t.TempDir()
	for name, content := range map[string]string{"ssh-privatekey": string(s.key), "known_hosts": lines.String()} {
		// A mounted Secret can be readable for others, which ssh would refuse.
		if err := os.WriteFile(filepath.Join(credentials, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return gitclone.Source{Dir: t.TempDir(), URL: "ssh://git@" + s.address + "/" + dir, Credentials: credentials}
}

func TestChangesArePushedOverSSH(t *testing.T) {
	u := newUpstream(t)
	server := newSSHServer(t, filepath.Dir(u.dir))
	clone := server.source(t, "app.git", server.host)
	if err := gitclone.Clone(t.Context(), clone); err != nil {
		t.Fatal(err)
	}
	if got := programs.Script(t, clone.Dir, "git rev-parse HEAD && git status --porcelain"); got != u.base {
		t.Fatalf("cloned %s", got)
	}
	p := &gitpush.Publisher{Branch: branch, Owner: owner, Source: server.source(t, "app.git", server.host)}
	request := gitpush.Request{Call: "c1", Base: u.base, Message: "Three", Time: time.Unix(1, 0), Patch: []byte("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n one\n two\n+three\n")}
	for range 2 {
		result, err := p.Publish(t.Context(), request)
		if err != nil || result.Commit == "" || result.Commit != programs.Script(t, u.dir, "git rev-parse "+branch) {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	if got := programs.Script(t, u.dir, "git rev-list --count main.."+branch+" && git show "+branch+":f"); got != "1\none\ntwo\nthree" {
		t.Errorf("got %s", got)
	}
	if left, err := os.ReadDir(p.Source.Dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestUnknownSSHServersGetNothing(t *testing.T) {
	u := newUpstream(t)
	server := newSSHServer(t, filepath.Dir(u.dir))
	other, _ := newKey(t)
	before := programs.Script(t, u.dir, "git for-each-ref")
	for name, known := range map[string][]ssh.PublicKey{"no known host": nil, "another key": {other.PublicKey()}} {
		t.Run(name, func(t *testing.T) {
			source := server.source(t, "app.git", known...)
			err := gitclone.Clone(t.Context(), source)
			if err == nil || !strings.Contains(err.Error(), "Host key verification failed") {
				t.Errorf("the clone: %v", err)
			}
			p := &gitpush.Publisher{Branch: branch, Owner: owner, Source: server.source(t, "app.git", known...)}
			result, err := p.Publish(t.Context(), gitpush.Request{Call: "c1", Base: u.base, Message: "m", Time: time.Unix(1, 0), Patch: []byte("x")})
			if err == nil || !strings.Contains(err.Error(), "Host key verification failed") || result.Commit != "" {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
	if after := programs.Script(t, u.dir, "git for-each-ref"); after != before {
		t.Errorf("refs are now %s", after)
	}
}
