// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"crypto/tls"
	"encoding/base64"
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const historyAPI = "/apis/history.nestor.dev/v1beta1"

// chatWithSecret creates a room with a chat that contains a secret, and returns the chat's UID.
func (d *frontends) chatWithSecret(t *testing.T, secret string) (r *testNamespace, uid string) {
	t.Helper()
	r = d.newNamespace(t)
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}}
	r.Create(chat)
	r.sendAndWait("ask", "Say: "+secret, secret)
	return r, string(chat.UID)
}

// inChatWithSecret runs an attack or a control in a namespace with a chat that contains "crown jewels".
func inChatWithSecret(test func(r *testNamespace, uid string)) func(*testing.T, *target) {
	return func(t *testing.T, w *target) { test(w.frontends(t).chatWithSecret(t, "crown jewels")) }
}

// getAs gets a path of the API server as a person; an empty name is an administrator.
func (r *testNamespace) getAs(person, path string, query ...string) (string, error) {
	r.t.Helper()
	config := rest.CopyConfig(r.Cluster.Config)
	config.Impersonate.UserName = person
	api, err := kubernetes.NewForConfig(config)
	r.Expect(err).NotTo(HaveOccurred())
	request := api.CoreV1().RESTClient().Get().AbsPath(historyAPI + path)
	for i := 0; i+1 < len(query); i += 2 {
		request = request.Param(query[i], query[i+1])
	}
	var body []byte
	r.Eventually(func() bool { // the API server stops forwarding for a while if the operator once answers late
		body, err = request.DoRaw(r.t.Context())
		return apierrors.IsServiceUnavailable(err)
	}).Should(BeFalse())
	return string(body), err
}

func inside(r *testNamespace, path string) string { return "/namespaces/" + r.Namespace + path }

// expectViewerReads checks that a viewer of the namespace can read text at a path.
func (r *testNamespace) expectViewerReads(text, path string, query ...string) {
	r.t.Helper()
	r.As("mallory", viewer)
	body, err := r.getAs("mallory", inside(r, path), query...)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(body).To(ContainSubstring(text))
}

var _ = class(
	"history",
	attack{
		name:    "a viewer reads the history of another namespace",
		attempt: "mallory, a viewer of one namespace, gets and lists transcripts, model calls and usages of another",
		defence: "every request is authorised with the API server",
		run: func(t *testing.T, w *target) {
			d := w.frontends(t)
			theirs, _ := d.chatWithSecret(t, "crown jewels")
			own := d.newNamespace(t)
			own.As("mallory", viewer)
			for _, path := range []string{"/transcripts", "/transcripts/chat.chat", "/transcripts/chat.chat/log", "/modelcalls", "/usages",
				"/workspacechanges/chat.chat", "/workspacechanges/chat.chat/archive", "/workspacechanges/chat.chat/file"} {
				body, err := own.getAs("mallory", inside(theirs, path))
				own.Expect(err).To(Satisfy(apierrors.IsForbidden), path)
				own.Expect(body).NotTo(ContainSubstring("crown jewels"), path)
			}
		},
		control: inChatWithSecret(func(r *testNamespace, _ string) {
			r.expectViewerReads("crown jewels", "/transcripts/chat.chat")
		}),
	},
	attack{
		name:    "a viewer lists all namespaces",
		attempt: "mallory lists transcripts without a namespace",
		defence: "a list of all namespaces needs permission in all of them",
		run: inChatWithSecret(func(r *testNamespace, _ string) {
			r.As("mallory", viewer)
			_, err := r.getAs("mallory", "/transcripts")
			r.Expect(err).To(Satisfy(apierrors.IsForbidden))
		}),
		control: inChatWithSecret(func(r *testNamespace, _ string) {
			body, err := r.getAs("", "/transcripts")
			r.Expect(err).NotTo(HaveOccurred())
			r.Expect(body).To(ContainSubstring(r.Namespace))
		}),
	},
	attack{
		name:    "a selector leads into another namespace",
		attempt: "mallory lists their own namespace with a field selector that names another",
		defence: "a selector can only narrow the path",
		run: func(t *testing.T, w *target) {
			d := w.frontends(t)
			theirs, _ := d.chatWithSecret(t, "crown jewels")
			own := d.newNamespace(t)
			own.As("mallory", viewer)
			body, err := own.getAs("mallory", inside(own, "/transcripts"), "fieldSelector", "metadata.namespace="+theirs.Namespace)
			own.Expect(err).NotTo(HaveOccurred())
			own.Expect(body).NotTo(ContainSubstring("chat.chat"))
		},
		control: inChatWithSecret(func(r *testNamespace, _ string) {
			r.expectViewerReads("chat.chat", "/transcripts", "fieldSelector", "metadata.namespace="+r.Namespace)
		}),
	},
	attack{
		name:    "a UID leads into another namespace",
		attempt: "mallory asks in their own namespace for the transcript of a chat of another by its UID",
		defence: "a transcript is only found within the namespace of the path",
		run: func(t *testing.T, w *target) {
			d := w.frontends(t)
			_, uid := d.chatWithSecret(t, "crown jewels")
			own := d.newNamespace(t)
			own.As("mallory", viewer)
			body, err := own.getAs("mallory", inside(own, "/transcripts/chat.chat."+uid))
			own.Expect(err).To(Satisfy(apierrors.IsNotFound))
			own.Expect(body).NotTo(ContainSubstring("crown jewels"))
		},
		control: inChatWithSecret(func(r *testNamespace, uid string) {
			r.expectViewerReads("crown jewels", "/transcripts/chat.chat."+uid)
		}),
	},
	attack{
		name:    "a list cursor is forged",
		attempt: "mallory continues a list with forged cursors: SQL, nonsense, and one of another namespace",
		defence: "a cursor is only a position, is validated, and is a parameter of the statement",
		run: func(t *testing.T, w *target) {
			d := w.frontends(t)
			_, uid := d.chatWithSecret(t, "crown jewels")
			own := d.newNamespace(t)
			own.As("mallory", viewer)
			for _, place := range []string{"' OR '1'='1", "0' UNION SELECT data FROM events --", "\x00", uid, "9999999999999999999", "{}"} {
				body, _ := own.getAs("mallory", inside(own, "/transcripts"), "continue", base64.RawURLEncoding.EncodeToString([]byte(place)))
				own.Expect(body).NotTo(And(ContainSubstring("chat.chat"), ContainSubstring(uid)), place)
			}
		},
		control: inChatWithSecret(func(r *testNamespace, uid string) {
			r.expectViewerReads(uid, "/transcripts", "limit", "1")
		}),
	},
	attack{
		name:    "a name contains a statement or a path",
		attempt: "mallory requests transcripts with names that contain SQL, dots and slashes",
		defence: "names are validated, and are parameters of the statement",
		run: func(t *testing.T, w *target) {
			r, _ := w.frontends(t).chatWithSecret(t, "crown jewels")
			own := w.frontends(t).newNamespace(t)
			own.As("mallory", viewer)
			for _, name := range []string{"chat.chat'%20OR%20'1'='1", "chat.%25", "chat.x%2F..%2F..%2F" + r.Namespace + "%2Ftranscripts%2Fchat.chat", "..%2Fchat.chat", "chat.chat%0d%0aX-Evil:%201"} {
				body, err := own.getAs("mallory", inside(own, "/transcripts/"+name))
				own.Expect(err).To(HaveOccurred(), name)
				own.Expect(body).NotTo(ContainSubstring("crown jewels"), name)
			}
		},
		control: inChatWithSecret(func(r *testNamespace, _ string) {
			r.expectViewerReads("crown jewels", "/transcripts/chat.chat")
		}),
	},
	attack{
		name:    "the API server is bypassed",
		attempt: "mallory connects to the history API directly, without credentials and with the headers of the aggregator",
		defence: "headers are trusted only with the aggregator's certificate, and tokens are reviewed",
		run: func(t *testing.T, w *target) {
			d := w.frontends(t)
			r, _ := d.chatWithSecret(t, "crown jewels")
			for _, header := range []http.Header{{}, {"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}}, {"Authorization": {"Bearer forged"}}} {
				code, body := d.direct(r, inside(r, "/transcripts/chat.chat"), header)
				r.Expect(code).To(Equal(http.StatusUnauthorized))
				r.Expect(body).NotTo(ContainSubstring("crown jewels"))
			}
			_, stranger := d.newNamespace(t).token("stranger", viewer)
			code, _ := d.direct(r, inside(r, "/transcripts/chat.chat"), http.Header{"Authorization": {"Bearer " + stranger}})
			r.Expect(code).To(Equal(http.StatusForbidden))
		},
		control: func(t *testing.T, w *target) {
			d := w.frontends(t)
			r, _ := d.chatWithSecret(t, "crown jewels")
			_, token := r.token("mallory", viewer)
			code, body := d.direct(r, inside(r, "/transcripts/chat.chat"), http.Header{"Authorization": {"Bearer " + token}})
			r.Expect(code).To(Equal(http.StatusOK))
			r.Expect(body).To(ContainSubstring("crown jewels"))
		},
	},
	attack{
		name:    "the history is changed",
		attempt: "an administrator of the cluster deletes and creates transcripts",
		defence: "the API is read-only",
		run: inChatWithSecret(func(r *testNamespace, _ string) {
			api, err := kubernetes.NewForConfig(r.Cluster.Config)
			r.Expect(err).NotTo(HaveOccurred())
			path := historyAPI + inside(r, "/transcripts/chat.chat")
			r.Expect(api.CoreV1().RESTClient().Delete().AbsPath(path).Do(r.t.Context()).Error()).To(Satisfy(apierrors.IsMethodNotSupported))
			r.Expect(api.CoreV1().RESTClient().Put().AbsPath(path).Body([]byte(`{}`)).Do(r.t.Context()).Error()).To(Satisfy(apierrors.IsMethodNotSupported))
		}),
		control: inChatWithSecret(func(r *testNamespace, _ string) {
			_, err := r.getAs("", inside(r, "/transcripts/chat.chat"))
			r.Expect(err).NotTo(HaveOccurred())
		}),
	},
)

// direct sends a request to the operator's own port, as a pod in the cluster could.
func (d *frontends) direct(r *testNamespace, path string, header http.Header) (code int, body string) {
	r.t.Helper()
	//nolint:gosec // an attacker does not check certificates
	browser := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer browser.CloseIdleConnections()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "https://"+d.history+historyAPI+path, nil)
	r.Expect(err).NotTo(HaveOccurred())
	request.Header = header
	response, err := browser.Do(request)
	r.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }() // the body was read
	text, err := io.ReadAll(response.Body)
	r.Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(text)
}
