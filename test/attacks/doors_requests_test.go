// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// visitor sends requests to the gateway.
type visitor struct {
	*testNamespace
	user, token string
}

// newVisitor returns a caller with a token that may start and read runs in a namespace of its own.
func (w *target) newVisitor(t *testing.T) *visitor {
	t.Helper()
	v := &visitor{testNamespace: w.newNamespace(t)}
	v.user = serviceaccount.MakeUsername(v.Namespace, "visitor")
	var err error
	v.token, err = w.Token(t.Context(), v.Namespace, "visitor", user, runner)
	v.Expect(err).NotTo(HaveOccurred())
	return v
}

// request sends a request with a token, and returns the status and the body.
func (v *visitor) request(token, method, path, body string, header ...string) (int, string) {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.GatewayURL+path, strings.NewReader(body))
	v.Expect(err).NotTo(HaveOccurred())
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "A2a-Version": {"1.0"},
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	request.Header.Set("Expect", "100-continue") // as in sendHook
	response, err := hookClient.Do(request)
	v.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	v.Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(text)
}

// secretPlan is the instruction of the runs that visitors of other namespaces try to read.
const secretPlan = "Think of the-secret-plan"

// addRun creates a run in the visitor's namespace, and returns its name.
func (v *visitor) addRun() string {
	v.t.Helper()
	v.Create(&v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "plan"}, Spec: v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: "general", Instruction: secretPlan,
	}})
	return "plan"
}

// started returns the number of tasks in the visitor's namespace.
func (v *visitor) started() int {
	v.t.Helper()
	var tasks v1beta1.AgentTaskList
	v.Expect(v.List(&tasks)).To(Succeed())
	return len(tasks.Items)
}

func forgedID(namespace, task string) string {
	return "resp_" + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"n":%q,"t":%q}`, namespace, task))
}

const slowBegin = `{"model":`

// slowly sends a request to the gateway; see postSlowly.
func (v *visitor) slowly(path, token, rest string) (code int, closed bool) {
	v.t.Helper()
	return v.postSlowly(strings.TrimPrefix(v.GatewayURL, "http://"), path, token, slowBegin, rest)
}

// postSlowly sends a request whose body stops after its beginning. It returns the status of the response, and whether
// the server has closed the connection after it; rest, if not empty, is sent before the response is read.
func (r *testNamespace) postSlowly(host, path, token, begin, rest string) (code int, closed bool) {
	r.t.Helper()
	conn, err := new(net.Dialer).DialContext(r.t.Context(), "tcp", host)
	r.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = conn.Close() }()
	r.Expect(conn.SetDeadline(time.Now().Add(45 * time.Second))).To(Succeed()) // less than the server waits for a body
	length := len(begin) + len(rest)
	if rest == "" {
		length += 100
	}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, host, token, length, begin)
	r.Expect(err).NotTo(HaveOccurred())
	_, err = io.WriteString(conn, rest)
	r.Expect(err).NotTo(HaveOccurred())
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	r.Expect(err).NotTo(HaveOccurred(), "the server waits for the body of %s", path)
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.Close {
		_, err = reader.ReadByte()
	}
	return response.StatusCode, err == io.EOF //nolint:errorlint // it is never wrapped
}

// listTasks is a request of A2A, and getTask another one.
const listTasks = `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`

func getTask(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":%q}}`, id)
}

// background is a request of OpenAI that starts a run.
func (v *visitor) background(role, more string) string {
	return `{"model":"` + v.Namespace + "/" + role + `","input":"Calculate 6 * 7","background":true` + more + `}`
}

// addBlockedRole creates a role whose runs cannot start, because its provider does not exist.
func (v *visitor) addBlockedRole() {
	v.t.Helper()
	v.Create(&v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "waits"}, Spec: v1beta1.AgentRoleSpec{
		SystemPrompt: "You wait.", ModelProvider: "later",
	}})
}

// doorRequests are requests that need a token, one for each door.
func doorRequests(namespace string) map[string][2]string {
	return map[string][2]string{
		"OpenAI": {http.MethodGet + " /v1/models?namespace=" + namespace, ""},
		"A2A":    {http.MethodPost + " /a2a/" + namespace + "/general", listTasks},
		"MCP":    {http.MethodPost + " /mcp/" + namespace, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`},
		"AG-UI": {
			http.MethodPost + " /ag-ui/" + namespace + "/general",
			`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"Calculate 6 * 7"}]}`,
		},
	}
}

func (v *visitor) callTool(path, name, arguments string) (int, string) {
	v.t.Helper()
	return v.request(v.token, http.MethodPost, path,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments))
}

var _ = class(
	"doors",
	attack{
		name:    "a slow body without a token holds a connection",
		attempt: "Send the beginning of a body with an invalid token, and never the rest.",
		defence: "The gateway responds before it reads the body, and closes the connection.",
		run: asVisitor(func(v *visitor) {
			code, closed := v.slowly("/v1/responses", "nonsense", "")
			v.Expect(code).To(Equal(http.StatusUnauthorized))
			v.Expect(closed).To(BeTrue())
		}),
		control: asVisitor(func(v *visitor) {
			rest := strings.TrimPrefix(v.background("general", ""), slowBegin)
			code, closed := v.slowly("/v1/responses", v.token, rest)
			v.Expect(code).To(Equal(http.StatusOK))
			v.Expect(closed).To(BeFalse())
		}),
	},
	attack{
		name:    "a slow body on an unknown path holds a connection",
		attempt: "Send the beginning of a body to a path that nothing serves.",
		defence: "The gateway responds before it reads the body, and closes the connection.",
		run: asVisitor(func(v *visitor) {
			code, closed := v.slowly("/nothing", v.token, "")
			v.Expect(code).To(Equal(http.StatusNotFound))
			v.Expect(closed).To(BeTrue())
		}),
		control: asVisitor(func(v *visitor) {
			code, _ := v.request("", http.MethodGet, "/", "")
			v.Expect(code).To(Equal(http.StatusOK))
		}),
	},
	attack{
		name:    "a large body is kept in memory",
		attempt: "Send 8 MiB to each door.",
		defence: "The gateway reads at most 2 MiB of a body.",
		run: asVisitor(func(v *visitor) {
			large := `{"input":"` + strings.Repeat("a", 8<<20) + `"}`
			for door, sent := range doorRequests(v.Namespace) {
				_, path, _ := strings.Cut(sent[0], " ")
				if door == "OpenAI" {
					path = "/v1/responses"
				}
				code, _ := v.request(v.token, http.MethodPost, path, large)
				v.Expect(code).To(Equal(http.StatusRequestEntityTooLarge), door)
			}
			v.Expect(v.started()).To(BeZero())
		}),
		control: asVisitor(func(v *visitor) {
			padded := v.background("general", strings.Repeat(" ", 1<<20))
			code, text := v.request(v.token, http.MethodPost, "/v1/responses", padded)
			v.Expect(code).To(Equal(http.StatusOK), text)
			v.Expect(v.started()).To(Equal(1))
		}),
	},
	attack{
		name:    "a forged token opens a door",
		attempt: "Send no token, a changed one, one without a signature, and a valid one where it does not belong.",
		defence: "The API server checks each token; the gateway reads it from one header only.",
		run: asVisitor(func(v *visitor) {
			parts := strings.Split(v.token, ".")
			unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
			for door, sent := range doorRequests(v.Namespace) {
				method, path, _ := strings.Cut(sent[0], " ")
				for _, token := range []string{"", "nonsense", v.token[:len(v.token)-6] + "AAAAAA", unsigned} {
					code, text := v.request(token, method, path, sent[1])
					v.Expect(code).To(Equal(http.StatusUnauthorized), "%s: %s", door, text)
				}
				separator := "?"
				if strings.Contains(path, "?") {
					separator = "&"
				}
				code, _ := v.request("", method, path+separator+"access_token="+v.token, sent[1], "Cookie", "token="+v.token)
				v.Expect(code).To(Equal(http.StatusUnauthorized), door)
			}
			v.Expect(v.started()).To(BeZero())
		}),
		control: asVisitor(func(v *visitor) {
			for door, sent := range doorRequests(v.Namespace) {
				method, path, _ := strings.Cut(sent[0], " ")
				code, text := v.request(v.token, method, path, sent[1])
				v.Expect(code).To(Equal(http.StatusOK), "%s: %s", door, text)
			}
		}),
	},
	attack{
		name:    "a forged response id reads a run of another namespace",
		attempt: "Encode the name of a foreign run into the id of a response, and retrieve it.",
		defence: "The gateway reads runs with the caller's token.",
		run: func(t *testing.T, w *target) {
			v, victim := w.newVisitor(t), w.newVisitor(t)
			code, text := v.request(v.token, http.MethodGet, "/v1/responses/"+forgedID(victim.Namespace, victim.addRun()), "")
			v.Expect(code).To(Equal(http.StatusForbidden))
			v.Expect(text).NotTo(ContainSubstring("the-secret-plan"))
		},
		control: asVisitor(func(v *visitor) {
			code, _ := v.request(v.token, http.MethodGet, "/v1/responses/"+forgedID(v.Namespace, v.addRun()), "")
			v.Expect(code).To(Equal(http.StatusOK))
		}),
	},
	attack{
		name:    "the stream of a forbidden run begins",
		attempt: "Stream a foreign run, and one that does not exist, and look whether the stream begins.",
		defence: "The gateway reads the run before it responds.",
		run: func(t *testing.T, w *target) {
			v, victim := w.newVisitor(t), w.newVisitor(t)
			id := forgedID(victim.Namespace, victim.addRun())
			code, _ := v.request(v.token, http.MethodGet, "/v1/responses/"+id+"?stream=true", "")
			v.Expect(code).To(Equal(http.StatusForbidden))
			code, _ = v.request(v.token, http.MethodGet, "/v1/responses/"+forgedID(v.Namespace, "nothing")+"?stream=true", "")
			v.Expect(code).To(Equal(http.StatusNotFound))
			chat := "resp_" + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"n":%q,"c":"nothing"}`, v.Namespace))
			code, _ = v.request(v.token, http.MethodGet, "/v1/responses/"+chat+"?stream=true", "")
			v.Expect(code).To(Equal(http.StatusNotFound))
		},
		control: asVisitor(func(v *visitor) {
			code, text := v.request(v.token, http.MethodPost, "/v1/responses", v.background("general", `,"stream":true`))
			v.Expect(code).To(Equal(http.StatusOK))
			v.Expect(text).To(ContainSubstring("response.created"))
		}),
	},
	attack{
		name:    "reading a run deletes it",
		attempt: "Stream a run whose role was removed for a moment, with a token that may delete tasks.",
		defence: "The gateway discards a task only in the request that created it.",
		run: asVisitor(func(v *visitor) {
			v.grantRules(v.Namespace, v.user, may("delete", "agenttasks"))
			v.Create(&v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "waits"}, Spec: v1beta1.AgentTaskSpec{
				Type: v1beta1.TaskAgent, Role: "pruned", Instruction: "Calculate 6 * 7",
			}})
			_, text := v.request(v.token, http.MethodGet, "/v1/responses/"+forgedID(v.Namespace, "waits")+"?stream=true", "")
			v.Expect(text).To(ContainSubstring("cannot start yet"))
			v.Create(&v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "pruned"}, Spec: v1beta1.AgentRoleSpec{SystemPrompt: "You calculate."}})
			v.Eventually(v.TaskPhase("waits")).Should(Equal(v1beta1.TaskSuccess))
		}),
		control: asVisitor(func(v *visitor) {
			code, text := v.request(v.token, http.MethodPost, "/v1/responses", `{"model":"`+v.Namespace+`/pruned","input":"Calculate 6 * 7"}`)
			v.Expect(code).To(Equal(http.StatusNotFound), text)
			v.Eventually(v.started).Should(BeZero())
		}),
	},
	attack{
		name:    "a forged response id cancels a run of another namespace",
		attempt: "Cancel a foreign run by the id of a response.",
		defence: "The gateway creates the message that cancels with the caller's token.",
		run: func(t *testing.T, w *target) {
			v, victim := w.newVisitor(t), w.newVisitor(t)
			id := forgedID(victim.Namespace, victim.addRun())
			code, _ := v.request(v.token, http.MethodPost, "/v1/responses/"+id+"/cancel", "{}")
			v.Expect(code).To(Equal(http.StatusForbidden))
			var messages v1beta1.AgentMessageList
			v.Expect(v.API.List(t.Context(), &messages, client.InNamespace(victim.Namespace))).To(Succeed())
			v.Expect(messages.Items).To(BeEmpty())
		},
		control: asVisitor(func(v *visitor) {
			id := forgedID(v.Namespace, v.addRun())
			code, text := v.request(v.token, http.MethodPost, "/v1/responses/"+id+"/cancel", "{}")
			v.Expect(code).To(Equal(http.StatusOK), text)
			var messages v1beta1.AgentMessageList
			v.Expect(v.API.List(v.t.Context(), &messages, client.InNamespace(v.Namespace))).To(Succeed())
			v.Expect(messages.Items).NotTo(BeEmpty())
		}),
	},
	attack{
		name:    "an id with a slash reaches another object",
		attempt: "Send ids such as NAME/status and ../../secrets/NAME through each door.",
		defence: "The gateway refuses names that cannot be a part of a URL before it uses them.",
		run: asVisitor(func(v *visitor) {
			name := v.addRun()
			for _, id := range []string{name + "/status", "../agenttasks/" + name, "..", name + "/../" + name} {
				for _, path := range []string{"", "?stream=true"} {
					code, text := v.request(v.token, http.MethodGet, "/v1/responses/"+forgedID(v.Namespace, id)+path, "")
					v.Expect(code).To(Equal(http.StatusNotFound), text)
				}
				_, text := v.request(v.token, http.MethodPost, "/a2a/"+v.Namespace+"/general", getTask(id))
				v.Expect(text).To(ContainSubstring("there is no task"))
				_, text = v.callTool("/mcp/"+v.Namespace, "get_task", fmt.Sprintf(`{"task":%q}`, id))
				v.Expect(text).To(ContainSubstring(`"isError":true`))
				v.Expect(text).NotTo(Or(ContainSubstring("the-secret-plan"), ContainSubstring("does not answer")))
			}
		}),
		control: asVisitor(func(v *visitor) {
			name := v.addRun()
			code, text := v.request(v.token, http.MethodPost, "/a2a/"+v.Namespace+"/general", getTask(name))
			v.Expect(code).To(Equal(http.StatusOK))
			v.Expect(text).To(ContainSubstring("the-secret-plan"))
		}),
	},
	attack{
		name:    "an A2A request reads a task of another namespace",
		attempt: "Read and list foreign tasks, with the foreign path and with an encoded slash in the own one.",
		defence: "The gateway reads tasks with the caller's token, and refuses namespaces with a slash.",
		run: func(t *testing.T, w *target) {
			v, victim := w.newVisitor(t), w.newVisitor(t)
			name := victim.addRun()
			for _, namespace := range []string{victim.Namespace, v.Namespace + "%2F..%2F" + victim.Namespace} {
				for _, body := range []string{getTask(name), listTasks} {
					_, text := v.request(v.token, http.MethodPost, "/a2a/"+namespace+"/general", body)
					v.Expect(text).To(ContainSubstring(`"error"`))
					v.Expect(text).NotTo(ContainSubstring("the-secret-plan"))
				}
			}
		},
		control: asVisitor(func(v *visitor) {
			v.addRun()
			_, text := v.request(v.token, http.MethodPost, "/a2a/"+v.Namespace+"/general", listTasks)
			v.Expect(text).To(ContainSubstring("the-secret-plan"))
		}),
	},
	attack{
		name:    "an MCP call reads a task of another namespace",
		attempt: "Name a foreign namespace in the arguments, and in the path.",
		defence: "The gateway reads tasks with the caller's token; a path with a namespace fixes it.",
		run: func(t *testing.T, w *target) {
			v, victim := w.newVisitor(t), w.newVisitor(t)
			name := victim.addRun()
			for path, arguments := range map[string]string{
				"/mcp":                     fmt.Sprintf(`{"namespace":%q,"task":%q}`, victim.Namespace, name),
				"/mcp/" + victim.Namespace: fmt.Sprintf(`{"task":%q}`, name),
				"/mcp/" + v.Namespace:      fmt.Sprintf(`{"namespace":%q,"task":%q}`, victim.Namespace, name),
			} {
				_, text := v.callTool(path, "get_task", arguments)
				v.Expect(text).To(ContainSubstring(`"isError":true`), path)
			}
		},
		control: asVisitor(func(v *visitor) {
			_, text := v.callTool("/mcp", "get_task", fmt.Sprintf(`{"namespace":%q,"task":%q}`, v.Namespace, v.addRun()))
			v.Expect(text).NotTo(ContainSubstring(`"isError":true`))
		}),
	},
	attack{
		name:    "an AG-UI thread continues a run of another namespace",
		attempt: "Resume an interrupt of a foreign run, in the form of a resume entry and of a typed reply.",
		defence: "The gateway reads the run with the caller's token, in the namespace of the path, and checks its thread.",
		run: func(t *testing.T, w *target) {
			v, victim := w.newVisitor(t), w.newVisitor(t)
			id := victim.addRun() + "/0.0/call@plan"
			for _, namespace := range []string{victim.Namespace, v.Namespace} {
				for _, body := range []string{
					fmt.Sprintf(`"messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, id),
					fmt.Sprintf(`"messages":[{"id":%q,"role":"assistant"},{"id":"2","role":"user","content":"approve"}]`, "ask/"+id),
				} {
					body = `{"threadId":"t","runId":"r",` + body + `}`
					code, text := v.request(v.token, http.MethodPost, "/ag-ui/"+namespace+"/general", body)
					v.Expect(code).To(BeElementOf(http.StatusForbidden, http.StatusNotFound, http.StatusBadRequest), text)
				}
			}
			v.Expect(v.started()).To(BeZero())
		},
		control: asVisitor(func(v *visitor) {
			sent := doorRequests(v.Namespace)["AG-UI"]
			_, path, _ := strings.Cut(sent[0], " ")
			code, text := v.request(v.token, http.MethodPost, path, sent[1])
			v.Expect(code).To(Equal(http.StatusOK))
			v.Expect(text).To(ContainSubstring("RUN_FINISHED"))
		}),
	},
	attack{
		name:    "repeated requests pile up runs that cannot start",
		attempt: "Repeat a request for a role without a provider, as clients do by themselves, until the provider exists.",
		defence: "Clients do not repeat requests with the status of the response, and the same request finds the run.",
		run: asVisitor(func(v *visitor) {
			v.addBlockedRole()
			for range 5 {
				body := fmt.Sprintf(`{"model":"%s/waits","input":"Calculate 6 * 7"}`, v.Namespace)
				code, text := v.request(v.token, http.MethodPost, "/v1/responses", body)
				v.Expect(code).To(Equal(http.StatusBadRequest))
				v.Expect(text).To(ContainSubstring("cannot start yet"))
			}
			v.Expect(v.started()).To(Equal(1))
		}),
		control: asVisitor(func(v *visitor) {
			v.addBlockedRole()
			for i := range 2 {
				body := fmt.Sprintf(`{"model":"%s/waits","input":"Calculate 6 * %d"}`, v.Namespace, i)
				v.request(v.token, http.MethodPost, "/v1/responses", body)
			}
			v.Expect(v.started()).To(Equal(2))
		}),
	},
)
