// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/test/gitserver"
	"github.com/nestor-dev/nestor/test/programs"
)

// The clone of a workspace runs in a pod. Here it runs as a process, with servers on loopback.

const gitPassword = "hunter2-hunter2"

// clone runs the command of the init container of a workspace's pod with credentials, and returns its output.
func (w *target) clone(t *testing.T, root, url string, more ...string) (string, error) {
	t.Helper()
	credentials := t.TempDir()
	for name, value := range map[string]string{"username": "robot", "password": gitPassword} {
		NewWithT(t).Expect(os.WriteFile(filepath.Join(credentials, name), []byte(value), 0o600)).To(Succeed())
	}
	args := append([]string{"clone", "--root", root, "--url", url, "--credentials", credentials}, more...)
	cmd := exec.CommandContext(t.Context(), filepath.Join(w.Dir, "nestor-workspace"), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}
	output, err := cmd.CombinedOutput()
	return string(output), err
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = programs.GitEnviron()
	output, err := cmd.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "git %v: %s", args, output)
	return strings.TrimSpace(string(output))
}

// repository creates a repository with one file and the branch trunk.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=trunk")
	NewWithT(t).Expect(os.WriteFile(filepath.Join(dir, "f.txt"), []byte("content"), 0o600)).To(Succeed())
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "-m", "first")
	return dir
}

// gitServer requests a password, records all passwords that it receives, and then calls the next handler.
type gitServer struct {
	*httptest.Server
	mu        sync.Mutex
	requests  int
	passwords []string
}

// serveGit starts a server; asks reports whether it requires a password.
func serveGit(t *testing.T, asks bool, next http.Handler) *gitServer {
	t.Helper()
	s := &gitServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, ok := r.BasicAuth()
		s.mu.Lock()
		s.requests++
		if ok {
			s.passwords = append(s.passwords, password)
		}
		s.mu.Unlock()
		if asks && !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *gitServer) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passwords
}

// contents serves the repositories next to one.
func contents(t *testing.T, dir string) http.Handler {
	t.Helper()
	handler, err := gitserver.Backend(t.Context(), filepath.Dir(dir), "")
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func repositoryPath(dir string) string { return "/" + filepath.Base(dir) + "/.git" }

// honestServerControl is the control of these attacks: the server of the URL gets the password, and the files arrive.
func honestServerControl(t *testing.T, w *target) {
	g, dir, root := NewWithT(t), repository(t), t.TempDir()
	server := serveGit(t, true, contents(t, dir))
	output, err := w.clone(t, root, server.URL+repositoryPath(dir))
	g.Expect(err).NotTo(HaveOccurred(), output)
	g.Expect(server.got()).To(ContainElement(gitPassword))
	g.Expect(os.ReadFile(filepath.Join(root, "f.txt"))).To(BeEquivalentTo("content"))
}

// redirectAttack is an attack by a server that redirects git to the attacker's.
func redirectAttack(name string, asks bool, to string) attack {
	return attack{
		name:    name,
		attempt: "the git server redirects to " + to + ", which asks for a password",
		defence: "with credentials the clone follows no redirects, and its helper answers only for the URL's server",
		run: func(t *testing.T, w *target) {
			g := NewWithT(t)
			evil := serveGit(t, true, http.NotFoundHandler())
			front := serveGit(t, asks, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				http.Redirect(rw, r, strings.Replace(evil.URL, "127.0.0.1", to, 1)+r.URL.RequestURI(), http.StatusFound)
			}))
			output, err := w.clone(t, t.TempDir(), front.URL+"/app.git")
			g.Expect(err).To(HaveOccurred())
			g.Expect(output).To(ContainSubstring("the server redirects"))
			g.Expect(evil.got()).To(BeEmpty())
		},
		control: honestServerControl,
	}
}

// poisonedRepositoryAttack is an attack by commands that change the repository before its clone runs again.
func poisonedRepositoryAttack(name, attempts string, poison func(g *WithT, t *testing.T, root, run string)) attack {
	try := func(t *testing.T, w *target, again func(root, url string) error) bool {
		g, dir, root := NewWithT(t), repository(t), t.TempDir()
		server := serveGit(t, true, contents(t, dir))
		output, err := w.clone(t, root, server.URL+repositoryPath(dir))
		g.Expect(err).NotTo(HaveOccurred(), output)
		stolen := filepath.Join(t.TempDir(), "stolen")
		poison(g, t, root, "env > "+stolen)
		_ = again(root, server.URL+repositoryPath(dir)) // only whether the command ran matters
		_, err = os.Stat(stolen)
		return err == nil
	}
	return attack{
		name: name, attempt: attempts, defence: "the clone never runs git in an existing repository",
		run: func(t *testing.T, w *target) {
			ran := try(t, w, func(root, url string) error {
				_, err := w.clone(t, root, url)
				return err
			})
			NewWithT(t).Expect(ran).To(BeFalse(), "the command ran with the credentials")
		},
		control: func(t *testing.T, w *target) {
			ran := try(t, w, func(root, _ string) error {
				for _, args := range [][]string{{"rev-parse", "--verify", "HEAD"}, {"fetch", "origin"}, {"checkout", "--force", "."}, {"status"}} {
					cmd := exec.CommandContext(t.Context(), "git", args...)
					cmd.Dir, cmd.Env = root, []string{"PATH=" + os.Getenv("PATH"), "GIT_TERMINAL_PROMPT=0", "HOME=" + root}
					_ = cmd.Run()
				}
				return nil
			})
			NewWithT(t).Expect(ran).To(BeTrue(), "git runs the command if it is used there")
		},
	}
}

// refusedSourceAttack is a command line that the clone refuses.
func refusedSourceAttack(name, url string, more ...string) attack {
	return attack{
		name:    name,
		attempt: fmt.Sprintf("a pod created by another program clones %s %v", url, more),
		defence: "the clone validates the URL and the ref as strictly as the API",
		run: func(t *testing.T, w *target) {
			g, root := NewWithT(t), t.TempDir()
			output, err := w.clone(t, root, url, more...)
			g.Expect(err).To(HaveOccurred())
			g.Expect(output).To(Or(ContainSubstring("git url must be a plain"), ContainSubstring("is not the name of a branch"), ContainSubstring("git url contains credentials")))
			g.Expect(os.ReadDir(root)).To(BeEmpty())
		},
		control: honestServerControl,
	}
}

var _ = class(
	"git",
	redirectAttack("a redirect gets the password", false, "127.0.0.1"),
	redirectAttack("a redirect to another name gets the password", false, "localhost"),
	redirectAttack("a redirect after the login gets the password", true, "127.0.0.1"),
	redirectAttack("a redirect after the login to another name gets the password", true, "localhost"),
	attack{
		name:    "a submodule's server gets the password",
		attempt: "the repository has a submodule on the attacker's server",
		defence: "submodules are not fetched",
		run: func(t *testing.T, w *target) {
			g, dir := NewWithT(t), repository(t)
			evil := serveGit(t, true, http.NotFoundHandler())
			g.Expect(os.WriteFile(filepath.Join(dir, ".gitmodules"), []byte("[submodule \"m\"]\n\tpath = m\n\turl = "+evil.URL+"/m.git\n"), 0o600)).To(Succeed())
			git(t, dir, "add", ".gitmodules")
			git(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+git(t, dir, "rev-parse", "HEAD")+",m")
			git(t, dir, "commit", "--quiet", "-m", "a submodule")
			server := serveGit(t, true, contents(t, dir))
			output, err := w.clone(t, t.TempDir(), server.URL+repositoryPath(dir))
			g.Expect(err).NotTo(HaveOccurred(), output)
			g.Expect(evil.requests).To(BeZero())
		},
		control: honestServerControl,
	},
	attack{
		name:    "a server's alternates get the password",
		attempt: "the git server uses the old protocol and claims that its objects are on the attacker's server",
		defence: "git follows alternates like redirects, which are disabled",
		run: func(t *testing.T, w *target) {
			g, dir := NewWithT(t), repository(t)
			evil := serveGit(t, true, http.NotFoundHandler())
			commit := git(t, dir, "rev-parse", "HEAD")
			front := serveGit(t, true, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/info/refs"):
					fmt.Fprintf(rw, "%s\trefs/heads/trunk\n", commit)
				case strings.HasSuffix(r.URL.Path, "/HEAD"):
					fmt.Fprint(rw, "ref: refs/heads/trunk\n")
				case strings.HasSuffix(r.URL.Path, "/objects/info/http-alternates"):
					fmt.Fprintf(rw, "%s/objects/\n", evil.URL)
				default:
					http.NotFound(rw, r)
				}
			}))
			_, err := w.clone(t, t.TempDir(), front.URL+"/app.git", "--ref=trunk")
			g.Expect(err).To(HaveOccurred())
			g.Expect(evil.got()).To(BeEmpty())
			g.Expect(front.got()).To(ContainElement(gitPassword))
		},
		control: honestServerControl,
	},
	attack{
		name:    "a server names a branch that is an option",
		attempt: "the git server claims that its default branch is --upload-pack=touch",
		defence: "the clone validates the name from the server like a configured one",
		run: func(t *testing.T, w *target) {
			g := NewWithT(t)
			line := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
			zero := strings.Repeat("a", 40)
			server := serveGit(t, true, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
				fmt.Fprint(rw, line("# service=git-upload-pack\n")+"0000"+line(zero+" HEAD\x00symref=HEAD:refs/heads/--upload-pack=touch\n")+line(zero+" refs/heads/--upload-pack=touch\n")+"0000")
			}))
			output, err := w.clone(t, t.TempDir(), server.URL+"/app.git")
			g.Expect(err).To(HaveOccurred())
			g.Expect(output).To(ContainSubstring(`ref "--upload-pack=touch" is not the name of a branch`))
		},
		control: honestServerControl,
	},
	attack{
		name:    "the password stays behind in the workspace",
		attempt: "a command searches for the password in the files that the clone left",
		defence: "git gets it from a helper, never through a URL, argument or configuration",
		run: func(t *testing.T, w *target) {
			g, dir, root := NewWithT(t), repository(t), t.TempDir()
			server := serveGit(t, true, contents(t, dir))
			output, err := w.clone(t, root, server.URL+repositoryPath(dir))
			g.Expect(err).NotTo(HaveOccurred(), output)
			g.Expect(output).NotTo(ContainSubstring(gitPassword))
			files, err := exec.CommandContext(t.Context(), "grep", "--recursive", "--files-with-matches", gitPassword, root).Output()
			g.Expect(err).To(HaveOccurred(), "it is in %s", files)
		},
		control: honestServerControl,
	},
	attack{
		name:    "a server shows the password to the chat",
		attempt: "the git server repeats the password in its error, which becomes the tool's answer and the pod's message",
		defence: "with credentials the clone omits the server's messages",
		run: func(t *testing.T, w *target) {
			g := NewWithT(t)
			server := serveGit(t, true, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				_, password, _ := r.BasicAuth()
				rw.Header().Set("Content-Type", "text/plain")
				rw.WriteHeader(http.StatusForbidden)
				fmt.Fprintln(rw, password)
			}))
			output, err := w.clone(t, t.TempDir(), server.URL+"/app.git")
			g.Expect(err).To(HaveOccurred())
			g.Expect(server.got()).To(ContainElement(gitPassword))
			g.Expect(output).To(And(ContainSubstring("returned error: 403"), Not(ContainSubstring(gitPassword))))
		},
		control: honestServerControl,
	},
	poisonedRepositoryAttack("a command makes git run a credential helper", "a command writes credential.helper into the configuration and breaks HEAD, so that the restarted pod clones again",
		func(g *WithT, t *testing.T, root, run string) {
			t.Helper()
			git(t, root, "config", "credential.helper", "!"+run+" #")
			g.Expect(os.WriteFile(filepath.Join(root, ".git/HEAD"), []byte("ref: refs/heads/none\n"), 0o600)).To(Succeed())
		}),
	poisonedRepositoryAttack("a command makes git run a filter", "a command writes a filter into the configuration and marks the clone as unfinished",
		func(g *WithT, t *testing.T, root, run string) {
			t.Helper()
			git(t, root, "config", "filter.f.smudge", run+" #")
			g.Expect(os.WriteFile(filepath.Join(root, ".git/info/attributes"), []byte("* filter=f\n"), 0o600)).To(Succeed())
			g.Expect(os.Remove(filepath.Join(root, "f.txt"))).To(Succeed())
			g.Expect(os.WriteFile(filepath.Join(root, ".nestor-cloning"), nil, 0o600)).To(Succeed())
		}),
	poisonedRepositoryAttack("a command makes git run a monitor", "a command writes core.fsmonitor into the configuration, which any use of the repository runs",
		func(g *WithT, t *testing.T, root, run string) {
			t.Helper()
			git(t, root, "config", "core.fsmonitor", run+" #")
			g.Expect(os.WriteFile(filepath.Join(root, "f.txt"), []byte("changed"), 0o600)).To(Succeed())
		}),
	refusedSourceAttack("a pod clones from its own files", "file:///etc"),
	refusedSourceAttack("a pod runs a command as a repository", "ext::sh -c id"),
	refusedSourceAttack("a pod passes ssh an option", "ssh://-oProxyCommand=id/x.git"),
	refusedSourceAttack("a pod passes git an option", "https://git.example.com/x.git", "--ref=--upload-pack=id"),
	refusedSourceAttack("a pod sends its own password", "https://robot:hunter2@git.example.com/x.git"),
)
