// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { eventsOf } from '../api/client';
import type { Chat, Condition } from '../api/types';
import { explainServer } from '../model/errors';
import { day } from '../model/format';
import { describeWorkspace } from '../model/newchat';
import { chatForm, chatFormWithWorkspace } from '../model/setup';
import { ErrorText } from '../parts/ErrorText';
import { useSite } from '../state/context';
import { usePolled } from '../state/hooks';
import { Editor } from './Editor';
import '../styles/settings.css';

/** The settings of a chat as a form and as YAML, its conditions and its Events. */
export function ChatSettings({ chat: streamed }: { chat: Chat }) {
  const [applied, setApplied] = useState<Chat>();
  const { generation = 0 } = applied?.metadata ?? {};
  // The stream may still have the version before the one that was applied here.
  const chat = applied && (streamed.metadata.generation ?? 0) < generation ? applied : streamed;
  return (
    <div className="settings" tabIndex={0} role="region" aria-label="Settings">
      <div className="page-body">
        <Editor
          key={generation}
          form={chat.spec.workspace ? chatForm : chatFormWithWorkspace}
          name={chat.metadata.name}
          stored={chat}
          onApplied={(written) => setApplied(written as Chat)}
          more={() => (
            <>
              {chat.spec.workspace && (
                <section className="panel" aria-label="Workspace">
                  <h2>Workspace</h2>
                  <p>
                    <code>{describeWorkspace(chat.spec.workspace)}</code>
                  </p>
                  <p className="muted">It cannot change: start another chat for other files.</p>
                </section>
              )}
              <Conditions conditions={streamed.status?.conditions ?? []} />
              <Events uid={chat.metadata.uid} />
            </>
          )}
        />
      </div>
    </div>
  );
}

function Conditions({ conditions }: { conditions: Condition[] }) {
  return (
    <section className="panel" aria-label="Conditions">
      <h2>Conditions</h2>
      {conditions.length === 0 && <p className="muted">The operator has not processed it yet.</p>}
      <ul className="plain conditions">
        {conditions.map(({ type, status, reason, message, lastTransitionTime }) => (
          <li key={type}>
            <strong>
              {type} {status}
            </strong>{' '}
            <code>{reason}</code> {lastTransitionTime && <time dateTime={lastTransitionTime}>since {day(lastTransitionTime)}</time>}
            {message && <p>{message}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The Events of an object. A person who may not list them sees which permission is missing. */
function Events({ uid }: { uid: string }) {
  const { namespace } = useSite();
  const [loaded] = usePolled(() => eventsOf(namespace, uid), [namespace, uid]);
  return (
    <section className="panel" aria-label="Events">
      <h2>Events</h2>
      {loaded.state === 'loading' && <p className="muted">Loading…</p>}
      {loaded.state === 'failed' && <ErrorText error={explainServer(loaded.error.message)} />}
      {loaded.state === 'done' && loaded.value.length === 0 && <p className="muted">None. The API server keeps them for about an hour.</p>}
      {loaded.state === 'done' && (
        <ul className="plain conditions">
          {loaded.value.map(({ type, reason, message, count, time }, i) => (
            <li key={i}>
              <strong className={type === 'Warning' ? 'warning' : undefined}>{reason}</strong> <time dateTime={time}>{day(time)}</time>
              {count > 1 && ` ${count} times`}
              <p>{message}</p>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
