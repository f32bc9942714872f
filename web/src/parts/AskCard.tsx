// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useId, useMemo, useState } from 'react';
import { chatMessages, whoami, write } from '../api/client';
import { annotationCall, type Ask, type Message } from '../api/types';
import type { Run } from '../model/runs';
import type { Request } from '../model/tree';
import { SiteContext, useSite } from '../state/context';
import { useLoad, usePolled } from '../state/hooks';
import { Approval } from './Approval';
import { Icon } from './Icon';
import { Markdown } from './Markdown';
import { useRoleName } from './RoleIcon';

/** A question or an approval of a run, wherever the run is: in the inbox, or on the page of a run. */
export function AskCard({ run, ask }: { run: Run; ask: Ask }) {
  const site = useSite();
  const elsewhere = run.namespace !== site.namespace;
  const [there] = useLoad(() => (elsewhere ? whoami(run.namespace) : Promise.resolve(site.person)), [run.namespace, elsewhere]);
  const person = there.state === 'done' ? there.value : undefined;
  const inside = useMemo(() => person && { ...site, namespace: run.namespace, person }, [site, person, run.namespace]);
  if (there.state === 'failed') return <p className="note failed">{there.error.message}</p>;
  if (!inside) return null;
  return <SiteContext value={inside}>{ask.kind === 'Approval' ? <ApprovalAsk run={run} ask={ask} /> : <QuestionAsk run={run} ask={ask} />}</SiteContext>;
}

export const requestOf = (run: Run, { task, agent, call, tool = '', arguments: args = '', reasons, truncated, digest }: Ask, who: string): Request => ({ message: `${run.key}-${call ?? ''}`, task, agent, call, tool, reasons, arguments: args, whole: !truncated, digest, state: 'open', who });

function ApprovalAsk({ run, ask }: { run: Run; ask: Ask }) {
  const roleName = useRoleName();
  const [posted] = useLoad(() => (run.kind === 'chat' ? chatMessages(run.namespace, run.name) : Promise.resolve([])), [run.kind, run.namespace, run.name, ask.task, ask.call]);
  const asker = posted.state === 'done' ? askerOf(posted.value, ask) : undefined;
  const who = run.kind === 'task' ? roleName(run.role) : run.kind === 'tool' ? run.name : (asker ?? 'An agent');
  return <Approval key={`${ask.call}/${ask.digest}`} chat={run.kind === 'chat' ? run.name : { task: run.name }} request={requestOf(run, ask, who)} ask={ask} />;
}

/** The name of the agent that asks, from the message that posted what it asks. */
export const askerOf = (messages: Message[], ask: Ask) =>
  messages
    .filter(({ metadata, spec }) => spec.role === 'Assistant' && spec.task === ask.task && metadata.annotations?.[annotationCall] !== undefined)
    .map(({ spec }) => /^Agent (.+?) (?:needs input: |asks for approval of )/.exec(spec.content ?? '')?.[1])
    .findLast(Boolean);

/** The posted message of a question, to which an answer replies. A question without one may still be answered by the orchestrator. */
export const postedQuestion = (messages: Message[], ask: Ask) =>
  messages.find(({ metadata, spec }) => spec.role === 'Assistant' && spec.task === ask.task && metadata.annotations?.[annotationCall] !== undefined && (!ask.call || metadata.annotations[annotationCall] === ask.call) && /^Agent .+? needs input: /.test(spec.content ?? ''));

function QuestionAsk({ run, ask }: { run: Run; ask: Ask }) {
  if (run.kind === 'chat') return <PostedQuestion run={run} ask={ask} />;
  return <Question run={run} to={{ task: run.name }} text={ask.question ?? ''} />;
}

function PostedQuestion({ run, ask }: { run: Run; ask: Ask }) {
  const [loaded] = usePolled(() => chatMessages(run.namespace, run.name), [run.namespace, run.name, ask.task, ask.call], 3000);
  if (loaded.state === 'failed') return <p className="note failed">{loaded.error.message}</p>;
  const posted = loaded.state === 'done' ? postedQuestion(loaded.value, ask) : undefined;
  if (!posted) return <Question run={run} text={ask.question ?? ''} wait={loaded.state === 'done' ? 'The orchestrator may answer this question itself. If it cannot, you can.' : undefined} />;
  return <Question run={run} who={askerOf([posted], ask)} to={run.name} inReplyTo={posted.metadata.name} text={(posted.spec.content ?? '').replace(/^Agent .+? needs input: /, '')} />;
}

function Question({ run, who, to, inReplyTo, text, wait }: { run: Run; who?: string; to?: string | { task: string }; inReplyTo?: string; text: string; wait?: string }) {
  const site = useSite();
  const roleName = useRoleName();
  const [answer, setAnswer] = useState('');
  const [state, setState] = useState<'open' | 'sending' | 'sent'>('open');
  const field = useId();
  const may = site.person.may.createMessages;
  const send = async () => {
    if (!to || !answer.trim()) return;
    setState('sending');
    try {
      site.store.put('agentmessages', await write(run.namespace, to, site.person.user, { content: answer.trim(), ...(inReplyTo ? { inReplyTo } : {}) }));
      setState('sent');
    } catch (error) {
      site.toast((error as Error).message, 'error');
      setState('open');
    }
  };
  return (
    <section className="question open" aria-label={`Question of ${run.title}`}>
      <header>
        <Icon name="hand" />
        <span>
          <strong>{run.kind === 'chat' ? (who ?? 'An agent') : run.kind === 'tool' ? run.title : roleName(run.role)}</strong> asks
        </span>
      </header>
      <Markdown text={text} />
      {wait && <p className="note">{wait}</p>}
      {state === 'sent' ? (
        <p className="answered" role="status">
          <Icon name="check" size={12} /> Answer sent
        </p>
      ) : (
        to && (
          <form
            className="answer"
            onSubmit={(event) => {
              event.preventDefault();
              void send();
            }}
          >
            <label htmlFor={field} className="label">
              Answer
            </label>
            <textarea id={field} className="input" rows={2} maxLength={65536} value={answer} disabled={!may} placeholder={may ? undefined : 'You may not write in this namespace.'} onChange={(event) => setAnswer(event.target.value)} />
            <button type="submit" className="button primary small" disabled={!may || state === 'sending' || !answer.trim()}>
              <Icon name="reply" size={14} /> Answer
            </button>
          </form>
        )
      )}
    </section>
  );
}
