// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { write } from '../api/client';
import type { Request } from '../model/tree';
import { useSite } from '../state/context';
import { Arguments } from './Arguments';
import { Icon } from './Icon';

const verdicts: Record<Exclude<Request['state'], 'open'>, string> = {
  deciding: 'Decided, on its way to the agent',
  approved: 'Approved',
  denied: 'Denied',
  over: 'No longer waiting',
};

/** A tool call that a person decides about: what will run, exactly, and the two answers. */
export function Approval({ chat, request }: { chat: string; request: Request }) {
  const site = useSite();
  const [comment, setComment] = useState('');
  const [sending, setSending] = useState(false);
  const decide = async (decision: 'Approve' | 'Deny') => {
    setSending(true);
    try {
      const words = comment.trim();
      const message = await write(site.namespace, chat, {
        approval: { task: request.task, decision, ...(request.call ? { toolCall: request.call } : {}), ...(words ? { comment: words } : {}) },
      });
      site.store.put('agentmessages', message);
    } catch (error) {
      site.toast((error as Error).message, 'error');
      setSending(false);
    }
  };
  const open = request.state === 'open';
  return (
    <section className={`approval ${request.state}`} aria-label={`Approval of ${request.tool}`} id={`request-${request.message}`} tabIndex={-1}>
      <header>
        <Icon name={open ? 'hand' : request.state === 'denied' ? 'cross' : 'check'} />
        <span>
          <strong>{request.who}</strong> wants to run <code>{request.tool}</code>
        </span>
        {!open && <span className={`verdict ${request.state}`}>{verdicts[request.state as Exclude<Request['state'], 'open'>]}</span>}
      </header>
      <Arguments text={request.arguments} />
      {request.comment && <p className="comment">“{request.comment}”</p>}
      {open && (
        <footer>
          <input
            className="input"
            value={comment}
            maxLength={4096}
            placeholder="Comment for the agent (optional)"
            aria-label="Comment for the agent"
            onChange={(event) => setComment(event.target.value)}
          />
          <div className="decide">
            <button type="button" className="button" disabled={sending || !site.person.may.createMessages} onClick={() => void decide('Deny')}>
              Deny
            </button>
            <button type="button" className="button primary" disabled={sending || !site.person.may.createMessages} onClick={() => void decide('Approve')}>
              Approve
            </button>
          </div>
        </footer>
      )}
    </section>
  );
}
