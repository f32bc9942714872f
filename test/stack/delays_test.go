// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/localcluster"
)

type lines struct{ sent int }

func (l *lines) Read(p []byte) (int, error) {
	if l.sent == 1000 {
		return 0, io.EOF
	}
	l.sent++
	return copy(p, fmt.Sprintf("%d\n", l.sent)), nil
}

func (*lines) Close() error { return nil }

func TestDelayedEventsKeepOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &delayedBody{upstream: &lines{}, parts: make(chan part, 1024), done: make(chan struct{})}
		go body.read(rand.New(rand.NewPCG(1, 2))) //nolint:gosec // not for secrets
		begin, longest := time.Now(), time.Duration(0)
		scanner := bufio.NewScanner(body)
		for n := 1; scanner.Scan(); n++ {
			if scanner.Text() != fmt.Sprint(n) {
				t.Fatalf("line %d is %s", n, scanner.Text())
			}
			longest = max(longest, time.Since(begin))
		}
		if scanner.Err() != nil || longest < shortDelay || longest > longDelay {
			t.Errorf("the longest delay is %s, error %v", longest, scanner.Err())
		}
		_ = body.Close()
	})
}

func TestDelays_MostShort_FewLong(t *testing.T) {
	const draws = 100_000
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
	var long, tiny int
	for range draws {
		switch delay := drawDelay(random); {
		case delay > longDelay:
			t.Fatalf("a delay of %s", delay)
		case delay >= shortDelay:
			long++
		case delay < shortDelay/20:
			tiny++
		}
	}
	if long < draws/200 || long > draws/67 || tiny < draws/2 {
		t.Errorf("of %d delays %d are long and %d are below a twentieth of a short one", draws, long, tiny)
	}
}

func TestOnlyWatchesAreDelayed(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("Authorization"))
	}))
	defer upstream.Close()
	s := &Stack{Cluster: &localcluster.Cluster{Config: &rest.Config{Host: upstream.URL}}, options: Options{DelayWatches: true, WatchSeed: 7}}
	if err := s.startDelays(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.delays.Close() }()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.delays.certificate)
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}}
	for path, want := range map[string]bool{"/api/v1/pods": false, "/api/v1/pods?watch=true": true, "/api/v1/pods?watch=0": false} {
		request := httptest.NewRequest(http.MethodGet, s.delays.address()+path, nil)
		request.RequestURI = ""
		request.Header.Set("Authorization", "Bearer caller")
		response, err := trusting.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if string(text) != "Bearer caller" || err != nil {
			t.Errorf("%s: %q, %v", path, text, err)
		}
		response.Body = http.NoBody
		if err := s.delays.delay(response); err != nil {
			t.Fatal(err)
		}
		if _, delayed := response.Body.(*delayedBody); delayed != want {
			t.Errorf("%s is delayed: %t", path, delayed)
		}
	}
}
