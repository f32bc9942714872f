// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/nestor-dev/nestor/internal/localcluster/lifeline"
)

// User and Password are the superuser's. The password contains characters that must be escaped in URLs.
const (
	User     = "nestor"
	Password = "s3cr3t:/?#[]@ %zz"
)

// Server is a PostgreSQL server.
type Server struct {
	programs string
	dir      string
	port     int
	account  *syscall.Credential
	running  *lifeline.Process
	// durable turns fsync on.
	durable bool

	databases atomic.Int64
}

// New creates an empty server and starts it. It returns ErrNotInstalled if PostgreSQL is not installed.
func New(ctx context.Context) (*Server, error) { return start(ctx, false) }

// NewDurable is New with fsync on, for measurements: a commit waits for the disk, as in production.
func NewDurable(ctx context.Context) (*Server, error) { return start(ctx, true) }

func start(ctx context.Context, durable bool) (*Server, error) {
	bin, err := programs(ctx)
	if err != nil {
		return nil, err
	}
	credential, err := account()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "nestor-pg-")
	if err != nil {
		return nil, fmt.Errorf("create directory for PostgreSQL: %w", err)
	}
	s := &Server{programs: bin, dir: dir, account: credential, durable: durable}
	for _, step := range []func(context.Context) error{s.initialize, s.choosePort, s.Start} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Server) initialize(ctx context.Context) error {
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte(Password), 0o600); err != nil {
		return fmt.Errorf("write password: %w", err)
	}
	if s.account != nil {
		for _, path := range []string{s.dir, password} {
			if err := os.Chown(path, int(s.account.Uid), int(s.account.Gid)); err != nil {
				return fmt.Errorf("change owner of the PostgreSQL directory: %w", err)
			}
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.programs, "initdb"), "--pgdata", s.data(), "--username", User,
		"--pwfile", password, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	s.prepare(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// prepare makes a command run as the server's account in the server's directory.
func (s *Server) prepare(cmd *exec.Cmd) {
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account}
}

func (s *Server) choosePort(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	s.port = listener.Addr().(*net.TCPAddr).Port
	return listener.Close()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// URL returns the connection string of the server's database.
func (s *Server) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(User, Password), Path: "/" + database,
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), RawQuery: "sslmode=disable",
	}
	return u.String()
}

// NewDatabase creates an empty database and returns its connection string. It is kept until the server is closed,
// because dropping it would force a checkpoint.
func (s *Server) NewDatabase(ctx context.Context) (string, error) {
	name := fmt.Sprintf("test_%d", s.databases.Add(1))
	if err := s.exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", fmt.Errorf("create database %s: %w", name, err)
	}
	return s.URL(name), nil
}

// exec runs a statement in the database postgres.
func (s *Server) exec(ctx context.Context, query string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	_, err = conn.Exec(ctx, query)
	return errors.Join(err, conn.Close(ctx))
}

// Close stops the server and deletes its data.
func (s *Server) Close() error {
	s.Stop()
	return os.RemoveAll(s.dir)
}
