// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { issuerSignIn, signIn, type SignInBy } from '../api/client';
import { Empty } from '../parts/Empty';

/** What the server and the API server answer to someone who has not tried to sign in. */
const unremarkable = ['Sign in to continue.', 'Unauthorized'];

/** Shown to a person who is not signed in. The reason is the server's. */
export function SignIn({ by, reason = '', onDone }: { by: SignInBy; reason?: string; onDone: () => void }) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  if (by === 'link') {
    return (
      <main className="center" id="main">
        <Empty page icon="key" title="This page needs a link">
          <p>Each link works once, in one browser.</p>
          <p>
            Run <code>kubectl nestor ui</code> again and open the new link.
          </p>
        </Empty>
      </main>
    );
  }
  const submit = async () => {
    setBusy(true);
    setProblem('');
    try {
      await signIn(token);
      onDone();
    } catch (error) {
      setProblem((error as Error).message);
      setBusy(false);
    }
  };
  const atIssuer = by === 'oidc';
  return (
    <main className="center" id="main">
      <form
        className="sign-in"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <img src="/icon.svg" alt="" width={40} height={40} />
        <h1>Sign in to Nestor</h1>
        <p>
          This page acts with your identity.{!atIssuer && <> Use a token for your cluster, for example from <code>kubectl create token NAME</code>.</>}
        </p>
        {atIssuer && !unremarkable.includes(reason) && (
          <p className="note failed" role="alert">
            {reason}
          </p>
        )}
        {atIssuer && (
          <a className="button primary" href={issuerSignIn(location.pathname + location.search)}>
            Sign in with your organization
          </a>
        )}
        <label>
          <span>{atIssuer ? 'Or use a token for your cluster' : 'Token'}</span>
          <input className="input" type="password" autoComplete="off" value={token} onChange={(event) => setToken(event.target.value)} aria-invalid={Boolean(problem)} aria-describedby={problem ? 'sign-in-problem' : undefined} />
        </label>
        {problem && (
          <p className="note failed" id="sign-in-problem" role="alert">
            {problem === 'Unauthorized' ? 'The cluster does not accept this token, or it has expired. Create a new one.' : problem}
          </p>
        )}
        <button type="submit" className={atIssuer ? 'button' : 'button primary'} disabled={!token.trim() || busy}>
          {atIssuer ? 'Use the token' : 'Sign in'}
        </button>
      </form>
    </main>
  );
}
