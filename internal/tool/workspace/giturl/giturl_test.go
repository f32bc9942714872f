// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package giturl_test

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool/workspace/giturl"
)

func TestPlainURLsAreParsed(t *testing.T) {
	for raw, want := range map[string]giturl.Remote{
		"https://git.example.com/team/app.git":         {Scheme: "https", Host: "git.example.com", Port: 443},
		"https://Git.Example.com:8443/team/app@v2.git": {Scheme: "https", Host: "git.example.com", Port: 8443},
		"http://127.0.0.1:3000/a":                      {Scheme: "http", Host: "127.0.0.1", Port: 3000},
		"ssh://git@git.example.com/team/app.git":       {Scheme: "ssh", Host: "git.example.com", Port: 22},
		"ssh://git@[2001:db8::1]:2222/app":             {Scheme: "ssh", Host: "2001:db8::1", Port: 2222},
	} {
		if got, err := giturl.Parse(raw); err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", raw, got, err, want)
		}
	}
}

func TestAmbiguousURLsAreRefused(t *testing.T) {
	for name, raw := range map[string]string{
		"nothing":                 "",
		"no scheme":               "project",
		"short form of ssh":       "git@git.example.com:team/app.git",
		"file":                    "file:///var/run/nestor/git",
		"file with a host":        "file://host/etc",
		"command":                 "ext::sh -c id",
		"helper":                  "http::https://git.example.com/x",
		"git protocol":            "git://git.example.com/x",
		"upper case scheme":       "HTTPS://git.example.com/x",
		"option":                  "--upload-pack=id",
		"option as ssh host":      "ssh://-oProxyCommand=id/x",
		"option as ssh user":      "ssh://-oProxyCommand=id@git.example.com/x",
		"password":                "https://me:hunter2@git.example.com/x",
		"token as user":           "https://hunter2@git.example.com/x",
		"password for ssh":        "ssh://git:hunter2@git.example.com/x",
		"user that looks like it": "https://git.example.com@evil.example/x",
		"host in the query":       "https://git.example.com?@evil.example/x",
		"host in the fragment":    "https://git.example.com#@evil.example/x",
		"backslash":               `https://git.example.com\@evil.example/x`,
		"escaped slash":           "https://git.example.com%2f@evil.example/x",
		"two users":               "ssh://a@b@git.example.com/x",
		"white space":             "https://git.example.com /x",
		"new line":                "https://git.example.com/x\nhost=evil.example",
		"no host":                 "https:///x",
		"no path":                 "https://git.example.com",
		"port too large":          "https://git.example.com:99999/x",
		"port 0":                  "https://git.example.com:0/x",
		"port with a sign":        "https://git.example.com:+443/x",
		"invalid address":         "https://[::::]/x",
		"zone":                    "https://[fe80::1%25eth0]/x",
		"other alphabet":          "https://git.exаmple.com/x",
	} {
		t.Run(name, func(t *testing.T) {
			remote, err := giturl.Parse(raw)
			if err == nil {
				t.Fatalf("Parse(%q) = %+v", raw, remote)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the message repeats the password: %v", err)
			}
		})
	}
}

func TestHostLists(t *testing.T) {
	for name, tc := range map[string]struct {
		url, hosts string
		want       bool
	}{
		"host":                          {"https://git.example.com/x", "git.example.com", true},
		"case":                          {"https://GIT.example.com/x", "Git.Example.Com", true},
		"one of several":                {"https://git.example.com/x", "a.example.com, git.example.com", true},
		"separated by spaces":           {"https://git.example.com/x", "a.example.com\n git.example.com", true},
		"ssh":                           {"ssh://git@git.example.com/x", "git.example.com", true},
		"port":                          {"https://git.example.com:8443/x", "git.example.com:8443", true},
		"scheme":                        {"https://git.example.com/x", "https://git.example.com", true},
		"plain http, named":             {"http://git.example.com/x", "http://git.example.com", true},
		"plain http with a port, named": {"http://git.example.com:3000/x", "http://git.example.com:3000", true},
		"IPv6":                          {"https://[2001:db8::1]/x", "[2001:db8::1]", true},
		"IPv6 with a port":              {"https://[2001:db8::1]:8443/x", "[2001:db8::1]:8443", true},

		"no list":                    {"https://git.example.com/x", "", false},
		"only commas":                {"https://git.example.com/x", ", ,", false},
		"other host":                 {"https://evil.example/x", "git.example.com", false},
		"end of the name":            {"https://evilgit.example.com/x", "git.example.com", false},
		"beginning of the name":      {"https://git.example.com.evil.example/x", "git.example.com", false},
		"other port":                 {"https://git.example.com:8443/x", "git.example.com", false},
		"own port, other one named":  {"https://git.example.com/x", "git.example.com:8443", false},
		"plain http":                 {"http://git.example.com/x", "git.example.com", false},
		"plain http, port named":     {"http://git.example.com:3000/x", "git.example.com:3000", false},
		"plain http, https named":    {"http://git.example.com/x", "https://git.example.com", false},
		"ssh, https named":           {"ssh://git.example.com/x", "https://git.example.com", false},
		"pattern":                    {"https://git.example.com/x", "*", false},
		"pattern of a domain":        {"https://git.example.com/x", "*.example.com", false},
		"entry with a path":          {"https://git.example.com/x", "git.example.com/x", false},
		"entry with an unknown port": {"https://git.example.com/x", "git.example.com:https", false},
	} {
		t.Run(name, func(t *testing.T) {
			remote, err := giturl.Parse(tc.url)
			if err != nil {
				t.Fatal(err)
			}
			if got := remote.MatchesList(tc.hosts); got != tc.want {
				t.Errorf("%s in %q: %t", tc.url, tc.hosts, got)
			}
			if !remote.MatchesList(remote.Entry()) {
				t.Errorf("%s does not name %s", remote.Entry(), tc.url)
			}
		})
	}
}
