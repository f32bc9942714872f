// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useRef, useState } from 'react';
import { wholeArguments, write } from '../api/client';
import type { ArgumentPattern, Ask } from '../api/types';
import { transcriptOf } from '../api/history';
import { callDigest } from '../model/digest';
import type { Request } from '../model/tree';
import { useSite, useSnapshot } from '../state/context';
import { useLoad } from '../state/hooks';
import { whollyVisible } from '../state/requests';
import { AllowForm } from './Allow';
import { EditArguments } from './EditArguments';
import { brief } from './ToolCard';
import { Arguments } from './Arguments';
import { Icon } from './Icon';
import type { FileOwner } from './WriteView';

const verdicts: Record<Exclude<Request['state'], 'open'>, string> = {
  deciding: 'Decision sent to the agent',
  approved: 'Approved',
  denied: 'Denied',
  over: 'No longer waiting',
};

function verdict({ state, user, allowed, edited }: Request): string {
  const words = verdicts[state as Exclude<Request['state'], 'open'>] + (edited && state === 'approved' ? ' with changed arguments' : '');
  return (user && (state === 'approved' || state === 'denied') ? `${words} by ${user}` : words) + (allowed && state !== 'denied' ? ', and allowed for this chat' : '');
}

const [another, noOne] = ['Another person must', 'No one can'].map((who) => `${who} decide this call: its role or a policy does not allow requesters to decide, and`);
const bars: Record<NonNullable<Ask['barred']>, { chat: string; task: string }> = {
  requester: { chat: `${another} you have written in this chat.`, task: `${another} you have requested this task.` },
  unknown: { chat: `${noOne} the author of a message in this chat is unknown.`, task: `${noOne} the requester of this task is unknown.` },
};

/** Loads the complete arguments of a call from the history. */
function fetchCall(namespace: string, { task, agent, call, tool, digest }: Request): Promise<string> {
  return wholeArguments(namespace, transcriptOf(call ? 'subagent' : 'task', agent ?? task), call ?? task, (args) => callDigest(tool, args) === digest);
}

/** The workspace and the agent of a call. */
const ownerOf = (chat: string | { task: string }, { task, agent, call, state }: Request): FileOwner => ({
  workspace: typeof chat === 'string' ? transcriptOf('chat', chat) : transcriptOf('task', chat.task),
  agent: call ? transcriptOf('subagent', agent ?? task) : transcriptOf('task', task),
  waits: state === 'open',
});

/** A request for approval: the exact call, and the buttons to approve and deny it. */
export function Approval({ chat, request, ask: given }: { chat: string | { task: string }; request: Request; ask?: Ask }) {
  const site = useSite();
  const [comment, setComment] = useState('');
  const [sending, setSending] = useState(false);
  const [loaded, again] = useLoad(
    () => (request.whole ? Promise.resolve(request.arguments) : fetchCall(site.namespace, request)),
    [site.namespace, request.message, request.whole, request.arguments],
  );
  const shown = request.whole ? request.arguments : loaded.state === 'done' ? loaded.value : undefined;
  const decide = async (decision: 'Approve' | 'Deny', allow?: ArgumentPattern[], edited?: string) => {
    setSending(true);
    try {
      const words = comment.trim();
      const message = await write(site.namespace, chat, site.person.user, {
        approval: {
          task: request.task,
          decision,
          ...(request.call ? { toolCall: request.call } : {}),
          ...(request.digest ? { argumentsDigest: request.digest } : {}),
          ...(edited === undefined ? {} : { arguments: edited }),
          ...(words ? { comment: words } : {}),
          ...(allow ? { allow: allow.length > 0 ? { arguments: allow } : {} } : {}),
        },
      });
      site.store.put('agentmessages', message);
    } catch (error) {
      site.toast((error as Error).message, 'error');
      setSending(false);
    }
  };
  const open = request.state === 'open';
  const [unfolded, setUnfolded] = useState(false);
  const decided = !open && request.state !== 'deciding';
  const folded = decided && !unfolded;
  // Once the call may have run, the file may have its new content.
  const [wasOpen] = useState(open);
  const replaces = wasOpen && !decided ? ownerOf(chat, request) : undefined;
  const { chats } = useSnapshot();
  const ask = given ?? chats.find(({ metadata }) => metadata.name === chat)?.run?.asks?.find(({ task, call }) => task === request.task && call === request.call);
  const why = ask?.barred && bars[ask.barred][typeof chat === 'string' ? 'chat' : 'task'];
  // An allowance is for a chat, and approves no call whose requesters may not decide.
  const separate = typeof chat !== 'string' || ask?.denyRequesters;
  const cannot = sending || why !== undefined || !site.person.may.createMessages;
  const head = useRef<HTMLElement>(null);
  const call = useRef<HTMLDivElement>(null);
  // A key decides only a call that can be read as a whole at this moment.
  const pressed = (event: React.KeyboardEvent) => {
    const decision = event.key === 'a' ? 'Approve' : event.key === 'd' ? 'Deny' : undefined;
    if (!decision || !open || event.repeat || event.metaKey || event.ctrlKey || event.altKey || (event.target as Element).closest('input, textarea, select, dialog')) return;
    event.preventDefault();
    if (cannot) return;
    if (shown === undefined) site.toast('The call is not shown in full: it cannot be decided with a key.', 'error');
    else if (!head.current || !call.current || ![head.current, call.current].every(whollyVisible)) site.toast('Not all of the call is in sight. Read it, then use the buttons.', 'error');
    else void decide(decision);
  };
  return (
    <section className={`approval ${request.state}`} aria-label={`Approval of ${request.tool}`} id={`request-${request.message}`} tabIndex={-1} onKeyDown={pressed}>
      <header ref={head}>
        <Icon name={open ? 'hand' : request.state === 'denied' ? 'cross' : 'check'} />
        <span>
          <strong>{request.who}</strong> {decided ? 'requested' : 'requests'} approval to run <code>{request.tool}</code>
        </span>
        {!open && <span className={`verdict ${request.state}`}>{verdict(request)}</span>}
        {decided && (
          <button type="button" className="fold" aria-expanded={unfolded} onClick={() => setUnfolded(!unfolded)}>
            <Icon name="chevron" size={12} />
            <span>{folded ? brief(shown, request.tool) || 'Show the call' : 'Hide the call'}</span>
          </button>
        )}
      </header>
      {folded ? null : shown !== undefined ? (
        <div ref={call}>
          {request.reasons && (
            <ul className="reasons">
              {request.reasons.map((reason) => (
                <li key={reason}>{reason}</li>
              ))}
            </ul>
          )}
          <Arguments text={shown} tool={request.tool} replaces={replaces} />
        </div>
      ) : loaded.state === 'loading' ? (
        <p className="muted">Loading the whole call…</p>
      ) : (
        <p className="note waiting" role="alert">
          This call is long and cannot be shown in full: {loaded.state === 'failed' && loaded.error.message} You can deny it, but not approve it here.{' '}
          <button type="button" className="button small" onClick={again}>
            Try again
          </button>
        </p>
      )}
      {request.edited && request.state === 'approved' && !folded && (
        <>
          <h3>Changed arguments</h3>
          <Arguments text={request.edited} tool={request.tool} />
        </>
      )}
      {request.comment && <p className="comment">“{request.comment}”</p>}
      {open && why && (
        <p className="note waiting" role="note">
          {why}
        </p>
      )}
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
            <button type="button" className="button" disabled={cannot} title={why ?? 'Deny (d)'} aria-keyshortcuts="d" onClick={() => void decide('Deny')}>
              Deny
            </button>
            <button type="button" className="button primary" disabled={cannot || shown === undefined} title={why ?? 'Approve (a)'} aria-keyshortcuts="a" onClick={() => void decide('Approve')}>
              Approve
            </button>
          </div>
          {shown !== undefined && ask?.editable && <EditArguments tool={request.tool} args={shown} disabled={cannot} onApprove={(text) => void decide('Approve', undefined, text)} />}
          {shown !== undefined && !separate && <AllowForm tool={request.tool} args={shown} disabled={cannot} onAllow={(patterns) => void decide('Approve', patterns)} />}
        </footer>
      )}
    </section>
  );
}
