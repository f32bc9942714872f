// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useRef, useState } from 'react';
import { createChat, write } from '../api/client';
import type { Attachment, Chat } from '../api/types';
import { randomSuffix, slug } from '../model/format';
import { Composer } from '../parts/Composer';
import { Icon } from '../parts/Icon';
import { useSite, useSnapshot } from '../state/context';
import { useKeys } from '../state/hooks';
import { go, hrefOf } from '../state/route';

const ideas = ['What can you do?', 'Research the history of the lighthouse of Alexandria.', 'Review the authentication module for potential issues.'];

/** Starts a chat with its first message. */
export function Home({ onMenu }: { onMenu: () => void }) {
  const site = useSite();
  const { chats } = useSnapshot();
  const input = useRef<HTMLTextAreaElement>(null);
  const [name, setName] = useState('');
  const [role, setRole] = useState('');
  const [provider, setProvider] = useState('');
  const [tokens, setTokens] = useState('');
  useKeys({ '/': () => input.current?.focus() });
  const may = site.person.may.createChats && site.person.may.createMessages;

  const begin = async (content: string, attachments: Attachment[] = []) => {
    const chat = name.trim() || slug(content, randomSuffix());
    const spec: Chat['spec'] = {
      ...(role.trim() ? { role: role.trim() } : {}),
      ...(provider.trim() ? { modelProvider: provider.trim() } : {}),
      ...(site.person.defaultWorkspace ? { workspace: site.person.defaultWorkspace } : {}),
      ...(Number(tokens) > 0 ? { limits: { maxTotalTokens: Number(tokens) } } : {}),
    };
    try {
      site.store.put('agentchats', await createChat(site.namespace, chat, spec));
      go(hrefOf({ namespace: site.namespace, chat }));
      await write(site.namespace, chat, site.person.user, { content, ...(attachments.length > 0 ? { attachments } : {}) });
      return true;
    } catch (error) {
      site.toast((error as Error).message, 'error');
      return false;
    }
  };
  return (
    <main className="home" id="main">
      <header className="chat-head bare">
        <button type="button" className="button ghost icon-only menu" aria-label="Show chats" onClick={onMenu}>
          <Icon name="menu" />
        </button>
      </header>
      <div className="home-inner">
        <h1>What should your agents do?</h1>
        <p className="lead">An orchestrator answers you or delegates to agents. You see every step, and you approve the changes.</p>
        <Composer onSend={begin} disabled={may ? undefined : 'You may not create chats in this namespace.'} placeholder="Describe the work" input={input} />
        <details className="options">
          <summary>Options</summary>
          <div className="fields">
            <label>
              <span>Name</span>
              <input className="input" value={name} placeholder="derived from the message" pattern="[a-z0-9]([a-z0-9\-]*[a-z0-9])?" maxLength={63} spellCheck={false} autoCapitalize="none" onChange={(event) => setName(event.target.value)} />
            </label>
            <label>
              <span>Role</span>
              <input className="input" value={role} placeholder="orchestrator" spellCheck={false} autoCapitalize="none" onChange={(event) => setRole(event.target.value)} />
            </label>
            <label>
              <span>Model provider</span>
              <input className="input" value={provider} placeholder="default" spellCheck={false} autoCapitalize="none" onChange={(event) => setProvider(event.target.value)} />
            </label>
            <label>
              <span>Token limit</span>
              <input className="input" value={tokens} placeholder="no limit" inputMode="numeric" onChange={(event) => setTokens(event.target.value.replace(/\D/g, ''))} />
            </label>
          </div>
        </details>
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
              {site.person.user} lacks the right to create AgentChats or AgentMessages in {site.namespace}. Ask whoever runs the cluster for the role nestor-user there.
            </span>
          </p>
        )}
      </div>
    </main>
  );
}
