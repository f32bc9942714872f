// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"html"
	"io"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/login/request"
)

// People log in to tool servers on small pages of their own. A link in a question, and the answer of an authorization
// server, come from other sites, for which browsers do not send the cookies of the session. The first page therefore has
// only a link, and the callback a redirect, to an address below /api/, which other sites cannot open.

const (
	loginAPI  = "/api/tool-login"
	finishAPI = loginAPI + "/finish"
)

// The pages are no templates: templates call methods by name, for which the linker keeps all exported methods of the program.

// loginPage returns a page. Its content is HTML; title is text.
func loginPage(title, head, content string) string {
	return "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n" + head + "<title>" + html.EscapeString(title) + "</title>\n" + content + "</html>\n"
}

// beginPage is the first page, from which a person logs in or out.
func beginPage(namespace, server string) string {
	api := html.EscapeString(loginAPI + "/" + namespace + "/" + server)
	return loginPage("Log in to "+server, "", "<h1>Tool server "+html.EscapeString(server)+" in "+html.EscapeString(namespace)+"</h1>\n"+
		"<p>Agents whose work you alone requested will use your credentials there. If others requested it, too, you are asked for each call.</p>\n"+
		`<p><a href="`+api+`/begin">Log in</a></p>`+"\n"+
		`<form method="post" action="`+api+`/logout"><button>Log out, and revoke the access</button></form>`+"\n")
}

// callbackPage continues at an address of this page.
func callbackPage(next string) string {
	next = html.EscapeString(next)
	return loginPage("Logging in", `<meta http-equiv="refresh" content="0;url=`+next+`">`+"\n", `<p><a href="`+next+`">Continue</a></p>`+"\n")
}

// resultPage shows how a request ended. signIn is the address where the person signs in first; it may be empty.
func resultPage(title, text, signIn string) string {
	content := "<h1>" + html.EscapeString(title) + "</h1>\n<p>" + html.EscapeString(text) + "</p>\n"
	if signIn != "" {
		content += `<p><a href="` + html.EscapeString(signIn) + `">Sign in</a></p>` + "\n"
	}
	return loginPage(title, "", content)
}

func (s *site) routeLogins(mux *http.ServeMux) {
	mux.HandleFunc("GET "+request.Path+"/{namespace}/{server}", s.showLoginPage)
	mux.HandleFunc("GET "+request.CallbackPath, s.loginCallback)
	mux.HandleFunc("GET "+loginAPI+"/{namespace}/{server}/begin", s.beginLogin)
	mux.HandleFunc("GET "+finishAPI, s.finishLogin)
	mux.HandleFunc("POST "+loginAPI+"/{namespace}/{server}/logout", s.logoutOfServer)
}

func showLogin(w http.ResponseWriter, status int, page string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, page) // the browser may have disconnected
}

func (s *site) showLoginPage(w http.ResponseWriter, r *http.Request) {
	namespace, server := r.PathValue("namespace"), r.PathValue("server")
	if err := checkNames("tool server", namespace, server); err != nil {
		showLogin(w, http.StatusBadRequest, resultPage("No such page", statusOf(err).Message, ""))
		return
	}
	showLogin(w, http.StatusOK, beginPage(namespace, server))
}

// loginCallback passes the answer of the authorization server on to an address that gets the session.
func (s *site) loginCallback(w http.ResponseWriter, r *http.Request) {
	answer := url.Values{}
	for _, name := range []string{"state", "code", "iss", "error"} {
		if value := r.FormValue(name); value != "" {
			answer.Set(name, value)
		}
	}
	showLogin(w, http.StatusOK, callbackPage(finishAPI+"?"+answer.Encode()))
}

func (s *site) beginLogin(w http.ResponseWriter, r *http.Request) {
	wanted := request.Request{Action: request.Begin, Namespace: r.PathValue("namespace"), Server: r.PathValue("server")}
	result, err := s.askLogin(r, wanted)
	if err != nil {
		s.loginFailed(w, request.Path+"/"+wanted.Namespace+"/"+wanted.Server, err)
		return
	}
	http.Redirect(w, r, result.URL, http.StatusSeeOther)
}

func (s *site) finishLogin(w http.ResponseWriter, r *http.Request) {
	result, err := s.askLogin(r, request.Request{Action: request.Finish, Answer: request.Answer{
		State: r.FormValue("state"), Code: r.FormValue("code"), Issuer: r.FormValue("iss"), Error: r.FormValue("error"),
	}})
	if err != nil {
		s.loginFailed(w, "/", err)
		return
	}
	showLogin(w, http.StatusOK, resultPage("You are logged in", "The operator has your credentials for the tool server "+result.Server+
		" in "+result.Namespace+`. If an agent asked you, answer "done" there. You can close this page.`, ""))
}

func (s *site) logoutOfServer(w http.ResponseWriter, r *http.Request) {
	result, err := s.askLogin(r, request.Request{Action: request.Logout, Namespace: r.PathValue("namespace"), Server: r.PathValue("server")})
	if err != nil {
		s.loginFailed(w, "/", err)
		return
	}
	showLogin(w, http.StatusOK, resultPage("You are logged out", "The operator no longer has your credentials for the tool server "+result.Server+" in "+result.Namespace+".", ""))
}

// askLogin sends a request to the operator, as the person who is signed in.
func (s *site) askLogin(r *http.Request, wanted request.Request) (request.Result, error) {
	if s.logins == nil {
		return request.Result{}, apierrors.NewBadRequest("People cannot log in to tool servers on this page. Open the page of the installation.")
	}
	config, err := s.identity.Config(r)
	if err != nil {
		return request.Result{}, err
	}
	if wanted.Person, err = s.authenticate(r.Context(), config); err != nil {
		return request.Result{}, err
	}
	if wanted.Action == request.Begin {
		if err := checkNames("tool server", wanted.Namespace, wanted.Server); err != nil {
			return request.Result{}, err
		}
		if wanted.MayRead, err = mayReadServer(r.Context(), config, wanted.Namespace, wanted.Server); err != nil {
			return request.Result{}, err
		}
	}
	return s.logins(r.Context(), wanted)
}

func mayReadServer(ctx context.Context, config *rest.Config, namespace, name string) (bool, error) {
	api, err := newClient(config)
	if err != nil {
		return false, err
	}
	err = api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &v1beta1.ToolServer{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// loginFailed shows why a request failed. A person who is not signed in comes back to a path of the page after that.
func (s *site) loginFailed(w http.ResponseWriter, back string, err error) {
	if !errors.Is(err, ErrSignedOut) && !apierrors.IsUnauthorized(err) {
		status := statusOf(err)
		showLogin(w, int(status.Code), resultPage("That did not work", status.Message, ""))
		return
	}
	signIn := "/"
	if s.identity.SignIn() == SignInOIDC {
		signIn = signInPath + "?" + url.Values{"return": {back}}.Encode()
	}
	showLogin(w, http.StatusUnauthorized, resultPage("Sign in first", "You are not signed in to this page. Sign in, and open the link of the question again.", signIn))
}
