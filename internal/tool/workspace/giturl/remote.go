// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package giturl

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Remote is the server in the URL of a repository.
type Remote struct {
	// Scheme is https, http or ssh.
	Scheme string
	// Host is a name or an address in lower case; an IPv6 address has no brackets.
	Host string
	Port int32
}

// defaultPorts maps the supported schemes to their default ports.
var defaultPorts = map[string]int32{"https": 443, "http": 80, "ssh": 22}

// plain matches a URL that every program parses alike: scheme, user, host, port, path.
var plain = regexp.MustCompile(`^(https?|ssh)://(?:([A-Za-z0-9][A-Za-z0-9._-]*)@)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::([0-9]{1,5}))?/[^\s\\[:cntrl:]]+$`)

// Parse parses the URL of a repository. Its errors do not repeat the URL, which may contain a password.
func Parse(raw string) (Remote, error) {
	if u, err := url.Parse(raw); err == nil && u.User != nil && u.Host != "" {
		if _, has := u.User.Password(); has || u.Scheme != "ssh" {
			return Remote{}, errors.New("git url contains credentials: put them into a Secret and name it in secretName")
		}
	}
	parts := plain.FindStringSubmatch(raw)
	if parts == nil {
		return Remote{}, errors.New("git url must be a plain https://, http:// or ssh:// URL: " +
			"a host, an optional port and a path")
	}
	remote := Remote{Scheme: parts[1], Host: strings.ToLower(strings.Trim(parts[3], "[]"))}
	if strings.HasPrefix(parts[3], "[") && net.ParseIP(remote.Host) == nil {
		return Remote{}, errors.New("git url has an invalid IPv6 address between the brackets")
	}
	var err error
	remote.Port, err = parsePort(remote.Scheme, parts[4])
	return remote, err
}

func parsePort(scheme, text string) (int32, error) {
	if text == "" {
		return defaultPorts[scheme], nil
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return 0, errors.New("git url has the port " + text + ": it must be 1 to 65535")
	}
	return int32(number), nil
}

// Origin returns the remote without the path, as git writes it: https://git.example.com, http://git.example.com:8080.
func (r Remote) Origin() string { return r.Scheme + "://" + r.HostPort() }

// HostPort returns the host, with the port unless it is the scheme's default.
func (r Remote) HostPort() string {
	host := r.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if r.Port != defaultPorts[r.Scheme] {
		host += ":" + strconv.Itoa(int(r.Port))
	}
	return host
}
