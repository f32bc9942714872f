// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useMemo, useRef, useState } from 'react';
import { createChat, providers, write } from '../api/client';
import type { Attachment, Workspace } from '../api/types';
import { money, plural, randomSuffix, slug, tokens as shortTokens } from '../model/format';
import { describeWorkspace, draftOf, manifest, problemsOf, specOf, type Draft } from '../model/newchat';
import { runsOf, viewOf, waitingOf } from '../model/runs';
import { BareHead } from '../parts/BareHead';
import { Composer } from '../parts/Composer';
import { Icon } from '../parts/Icon';
import { useSite, useSnapshot } from '../state/context';
import { keepDraft, placeOf } from '../state/drafts';
import { useKeys, useLoad, useMedia } from '../state/hooks';
import { go, hrefOf, onMove, useLink } from '../state/route';
import { NewChatDialog } from './NewChat';

const ideas = ['What can you do?', 'Research the history of the lighthouse of Alexandria.', 'Review the authentication module for potential issues.'];

/** Starts a chat with its first message. */
export function Home({ onMenu }: { onMenu: () => void }) {
  const site = useSite();
  const { chats } = useSnapshot();
  const input = useRef<HTMLTextAreaElement>(null);
  const from = new URLSearchParams(location.search).get('from') ?? undefined;
  const copied = chats.find((chat) => chat.metadata.name === from);
  const [changed, setChanged] = useState<Draft>();
  const [asking, setAsking] = useState(false);
  const draft = useMemo(() => changed ?? draftOf(site.person.defaultWorkspace, copied), [changed, site.person.defaultWorkspace, copied]);
  useKeys({ '/': () => input.current?.focus() });
  const may = site.person.may.createChats && site.person.may.createMessages;
  // Not where a keyboard on the screen would cover the page.
  const keyboard = useMedia('(hover: hover) and (pointer: fine)');
  useEffect(() => {
    const focus = () => input.current?.focus();
    if (!keyboard || !may) return;
    focus();
    return onMove(focus); // "New chat" on this page, too
  }, [keyboard, may]);

  const begin = async (content: string, attachments: Attachment[] = []) => {
    const problem = Object.values(problemsOf(draft))[0];
    if (problem) {
      setAsking(true);
      return false;
    }
    const chat = draft.name || slug(draft.title || content, randomSuffix());
    try {
      site.store.put('agentchats', await createChat(manifest(site.namespace, chat, draft, site.person.defaultWorkspace, content)));
    } catch (error) {
      site.toast((error as Error).message, 'error');
      return false;
    }
    go(hrefOf({ namespace: site.namespace, chat }));
    try {
      await write(site.namespace, chat, site.person.user, { content, ...(attachments.length > 0 ? { attachments } : {}) });
    } catch (error) {
      keepDraft(placeOf(site.namespace, chat), content); // its page is shown by now
      site.toast((error as Error).message, 'error');
    }
    return true;
  };
  return (
    <main className="home" id="main">
      <BareHead onMenu={onMenu} />
      <div className="home-inner">
        <h1>What should your agents do?</h1>
        <p className="lead">An orchestrator answers you or delegates to agents. You see every step, and you approve the changes.</p>
        <Composer place={placeOf(site.namespace)} onSend={begin} disabled={may ? undefined : 'You may not create chats in this namespace.'} placeholder="Describe the work" input={input} />
        {copied && (
          <p className="note">
            <Icon name="copy" size={14} />
            <span>
              The new chat has the settings of <strong>{viewOf(copied).title}</strong>, and none of its messages.
            </span>
          </p>
        )}
        {may && <Settings draft={draft} defaultWorkspace={site.person.defaultWorkspace} onOpen={() => setAsking(true)} />}
        {asking && (
          <NewChatDialog
            start={draft}
            onDone={(chosen) => {
              setChanged(chosen);
              setAsking(false);
            }}
            onClose={() => setAsking(false)}
          />
        )}
        <WaitingRuns />
        <NoProvider />
        {may && (chats.length === 0 || site.person.ideas) && (
          <div className="ideas" aria-label="Ideas">
            {(site.person.ideas ?? ideas).map((idea) => (
              <button key={idea} type="button" className="chip" onClick={() => void begin(idea)}>
                {idea}
              </button>
            ))}
          </div>
        )}
        {!may && (
          <p className="note">
            <Icon name="key" size={14} />
            <span>
              {site.person.user} lacks the permission to create AgentChats or AgentMessages in {site.namespace}. Ask an administrator of the cluster for the role nestor-user there.
            </span>
          </p>
        )}
      </div>
    </main>
  );
}

/** Shown in a namespace without model providers. */
function NoProvider() {
  const { namespace } = useSite();
  const [known] = useLoad(() => providers(namespace), [namespace]);
  const link = useLink(hrefOf({ namespace, page: 'models', edit: '' }));
  if (known.state !== 'done' || known.value.length > 0) return null;
  return (
    <p className="note waiting">
      <Icon name="alert" size={14} />
      <span>
        This namespace has no model provider: chats use one that is shared with it, or wait. <a {...link}>Set up a model provider</a>
      </span>
    </p>
  );
}

/** A link to what waits for the person: it may be why they came. */
function WaitingRuns() {
  const { namespace } = useSite();
  const { inbox } = useSnapshot();
  const link = useLink(`${hrefOf({ namespace, page: 'runs' })}?state=waiting`);
  const count = useMemo(() => waitingOf(runsOf(inbox.chats, inbox.tasks)).length, [inbox]);
  if (count === 0) return null;
  return (
    <a className="home-waiting" {...link}>
      <Icon name="hand" size={14} /> {plural(count, 'run')} {count === 1 ? 'waits' : 'wait'} for you
    </a>
  );
}

/** What the new chat will be, and the button that changes it. */
function Settings({ draft, defaultWorkspace, onOpen }: { draft: Draft; defaultWorkspace?: Workspace; onOpen: () => void }) {
  const { workspace, limits } = specOf(draft, defaultWorkspace);
  const facts = [
    draft.title || draft.name,
    draft.role,
    [draft.provider, draft.model].filter(Boolean).join(' / '),
    workspace && `works on ${describeWorkspace(workspace)}`,
    limits?.maxTotalTokens && `at most ${shortTokens(limits.maxTotalTokens)} tokens`,
    limits?.maxCostMicros && `at most ${money(limits.maxCostMicros, draft.currency)}`,
  ].filter(Boolean);
  const problems = Object.values(problemsOf(draft));
  return (
    <div className="settings">
      <button type="button" className="button small" onClick={onOpen}>
        <Icon name="tool" size={14} /> Options
      </button>
      {facts.map((fact) => (
        <span key={String(fact)}>{fact}</span>
      ))}
      {problems.length > 0 && <span className="hint failed">{problems[0]}</span>}
    </div>
  );
}
