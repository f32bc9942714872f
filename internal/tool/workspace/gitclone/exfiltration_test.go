// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitclone_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitclone"
	"github.com/nestor-dev/nestor/test/gitserver"
)

const (
	user     = "robot"
	password = "hunter2-hunter2"
)

func credentials(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func login(t *testing.T) string {
	t.Helper()
	return credentials(t, map[string]string{"username": user, "password": password})
}

// backend serves the repository in a directory like a git server, without a password.
func backend(t *testing.T, dir string) (handler http.Handler, path string) {
	t.Helper()
	handler, err := gitserver.Backend(t.Context(), filepath.Dir(dir), "")
	if err != nil {
		t.Fatal(err)
	}
	return handler, "/" + filepath.Base(dir) + "/.git"
}

func withPassword(next http.Handler) http.Handler {
	return gitserver.WithPassword(user, password, next)
}

// catcher is a server that asks for a password and records what it gets.
type catcher struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	caught   []string
}

func newCatcher(t *testing.T) *catcher {
	t.Helper()
	c := &catcher{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requests++
		for name, values := range r.Header {
			if strings.Contains(name, "Auth") {
				c.caught = append(c.caught, values...)
			}
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *catcher) seen() (requests int, caught []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests, c.caught
}

func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestRedirectsNeverCarryCredentials(t *testing.T) {
	redirect := func(to string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to+r.URL.RequestURI(), http.StatusFound)
		})
	}
	for name, front := range map[string]func(http.Handler) http.Handler{
		"before authentication": func(h http.Handler) http.Handler { return h },
		"after authentication":  withPassword,
	} {
		for target, host := range map[string]string{"another port": "127.0.0.1", "another name": "localhost"} {
			t.Run(name+", to "+target, func(t *testing.T) {
				evil := newCatcher(t)
				s := source(t, serve(t, front(redirect(strings.Replace(evil.URL, "127.0.0.1", host, 1))))+"/app.git", "trunk")
				s.Credentials = login(t)
				err := gitclone.Clone(t.Context(), s)
				if err == nil || !strings.Contains(err.Error(), "redirect") {
					t.Errorf("the error does not mention the redirect: %v", err)
				}
				if _, caught := evil.seen(); len(caught) > 0 {
					t.Errorf("it got %q", caught)
				}
			})
		}
	}
	t.Run("and are followed without credentials", func(t *testing.T) {
		handler, path := backend(t, upstream(t))
		s := source(t, serve(t, redirect(serve(t, handler)))+path, "trunk")
		if err := gitclone.Clone(t.Context(), s); err != nil {
			t.Error(err)
		}
	})
}

// TestTamperedRepositoryRunsNothing: when a pod's containers restart, the clone runs again with the
// credentials, in a directory that commands have written to.
func TestTamperedRepositoryRunsNothing(t *testing.T) {
	dir := upstream(t)
	handler, path := backend(t, dir)
	url := serve(t, withPassword(handler)) + path
	canary := filepath.Join(t.TempDir(), "ran")
	for name, change := range map[string]func(t *testing.T, root string){
		"configuration": func(*testing.T, string) {},
		"configuration, and no HEAD": func(t *testing.T, root string) {
			t.Helper()
			write(t, filepath.Join(root, ".git/HEAD"), "ref: refs/heads/none\n")
		},
		"an interrupted clone": func(t *testing.T, root string) {
			t.Helper()
			write(t, filepath.Join(root, ".nestor-cloning"), "")
		},
		"a link for a mark": func(t *testing.T, root string) {
			t.Helper()
			if err := os.Symlink(canary, filepath.Join(root, ".nestor-cloning")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := source(t, url, "trunk")
			s.Credentials = login(t)
			if err := gitclone.Clone(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			run := "touch " + canary
			for _, setting := range [][2]string{
				{"credential.helper", "!" + run}, {"core.sshCommand", run + " #"}, {"core.fsmonitor", run}, {"filter.f.smudge", run}, {"remote.origin.uploadpack", run},
				{"url." + "http://evil.example/" + ".insteadOf", url}, {"http.proxy", "http://127.0.0.1:1"}, {"core.pager", run}, {"core.editor", run},
			} {
				git(t, s.Dir, "config", setting[0], setting[1])
			}
			write(t, filepath.Join(s.Dir, ".gitattributes"), "* filter=f\n")
			write(t, filepath.Join(s.Dir, ".git/info/attributes"), "* filter=f\n")
			change(t, s.Dir)
			if err := gitclone.Clone(t.Context(), s); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(canary); err == nil {
				t.Error("a command of the repository ran beside the credentials, or a link was written through")
				_ = os.Remove(canary)
			}
		})
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOtherRemotesGetNoCredentials(t *testing.T) {
	evil := newCatcher(t)
	dir := upstream(t)
	write(t, filepath.Join(dir, ".gitmodules"), "[submodule \"m\"]\n\tpath = m\n\turl = "+evil.URL+"/m.git\n")
	git(t, dir, "add", ".gitmodules")
	git(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+git(t, dir, "rev-parse", "HEAD")+",m")
	git(t, dir, "commit", "--quiet", "-m", "a submodule")
	handler, path := backend(t, dir)
	s := source(t, serve(t, withPassword(handler))+path, "trunk")
	s.Credentials = login(t)
	if err := gitclone.Clone(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if requests, caught := evil.seen(); requests > 0 {
		t.Errorf("the submodule's server had %d requests with %q", requests, caught)
	}
}

// TestServerCannotRepeatCredentials: messages of the server reach the model and the readers of the chat.
func TestServerCannotRepeatCredentials(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, given, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintln(w, "you are", r.Header.Get("Authorization"), given)
	})
	s := source(t, serve(t, withPassword(echo))+"/app.git", "trunk")
	s.Credentials = login(t)
	err := gitclone.Clone(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "returned error: 403") {
		t.Fatalf("git's message is missing: %v", err)
	}
	if strings.Contains(err.Error(), "you are") {
		t.Errorf("the error repeats the server's message: %v", err)
	}
	s.Credentials = ""
	s.URL = serve(t, echo) + "/app.git"
	if err := gitclone.Clone(t.Context(), s); err == nil || !strings.Contains(err.Error(), "you are") {
		t.Errorf("without credentials the server's message is missing: %v", err)
	}
}

func TestHelperAnswersOnlyOwnServer(t *testing.T) {
	dir := login(t)
	for name, tc := range map[string]struct {
		operation, request string
		want               string
	}{
		"its server":           {"get", "protocol=https\nhost=git.example.com\n", "username=robot\npassword=" + password + "\n"},
		"its server, its port": {"get", "protocol=https\nhost=git.example.com:443\nwwwauth[]=Basic\n\n", "username=robot\npassword=" + password + "\n"},
		"another host":         {"get", "protocol=https\nhost=evil.example\n", ""},
		"another port":         {"get", "protocol=https\nhost=git.example.com:8443\n", ""},
		"another scheme":       {"get", "protocol=http\nhost=git.example.com\n", ""},
		"two hosts":            {"get", "protocol=https\nhost=git.example.com\nhost=evil.example\n", ""},
		"no host":              {"get", "protocol=https\n", ""},
		"keeping it":           {"store", "protocol=https\nhost=git.example.com\npassword=x\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := gitclone.AnswerGit([]string{"https://git.example.com", dir, tc.operation}, strings.NewReader(tc.request), &out)
			if err != nil || out.String() != tc.want {
				t.Errorf("got %q, %v; want %q", out.String(), err, tc.want)
			}
		})
	}
}

func TestKeyIsForSSHAlone(t *testing.T) {
	handler, path := backend(t, upstream(t))
	s := source(t, serve(t, handler)+path, "trunk")
	s.Credentials = credentials(t, map[string]string{"ssh-privatekey": "KEY", "known_hosts": ""})
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	if err := gitclone.Clone(t.Context(), s); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("the clone left %v, %v", left, err)
	}
}
