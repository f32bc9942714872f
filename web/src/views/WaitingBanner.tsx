// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from 'react';
import type { Chat, Message } from '../api/types';
import { questionIn, requestIn, type Tree } from '../model/tree';
import { Icon } from '../parts/Icon';
import { useRoleName } from '../parts/RoleIcon';
import { go, hrefOf, type Route } from '../state/route';

/** Shows what waits for the person and is out of sight, and links to the main chat, where it is answered. */
export function WaitingBanner({ chat, ordered, tree, route, onAnswer }: { chat: Chat; ordered: Message[]; tree: Tree; route: Route; onAnswer: (message?: Message) => void }) {
  const roleName = useRoleName();
  const asks = ordered.flatMap((message) => {
    const request = requestIn(message, tree);
    const question = questionIn(message, tree);
    return request?.state === 'open' || question?.open ? [{ message, request, question }] : [];
  });
  const seen = useInView(asks.map(({ message }) => message.metadata.name));
  const hidden = asks.filter(({ message }) => !seen.has(message.metadata.name));
  const first = hidden.find(({ question }) => question) ?? hidden[0];
  if (!first || (chat.status?.waiting ?? []).length === 0) return null;
  const reveal = (message: string) => {
    if (route.view !== 'chat') go(hrefOf({ ...route, view: 'chat' }));
    requestAnimationFrame(() => {
      const card = document.getElementById(`request-${message}`);
      card?.scrollIntoView({ block: 'center', behavior: 'smooth' });
      card?.focus({ preventScroll: true });
    });
  };
  return (
    <div className="waiting-banner" role="status">
      <Icon name="hand" />
      <span className="waiting-text">
        {first.question ? (
          <>
            <strong>{roleName(first.question.node.task.spec.role)}</strong> asks: {first.question.text}
          </>
        ) : (
          <>
            <strong>{first.request!.who}</strong> requests approval to run <code>{first.request!.tool}</code>
          </>
        )}
        {hidden.length > 1 && <span className="more"> and {hidden.length - 1} more</span>}
      </span>
      {first.question ? (
        <button type="button" className="button small primary" onClick={() => onAnswer(first.message)}>
          Answer
        </button>
      ) : (
        <button type="button" className="button small primary" onClick={() => reveal(first.message.metadata.name)}>
          Review
        </button>
      )}
    </div>
  );
}

/** Returns the messages whose buttons are visible: nothing needs to point at them. */
function useInView(messages: string[]): ReadonlySet<string> {
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (typeof IntersectionObserver === 'undefined') return;
    const parts = new Map<Element, string>();
    for (const message of messages) {
      const part = document.getElementById(`request-${message}`)?.querySelector('footer');
      if (part) parts.set(part, message);
    }
    const observer = new IntersectionObserver(
      (entries) =>
        setSeen((before) => {
          const now = new Set([...before].filter((message) => messages.includes(message)));
          for (const entry of entries) {
            if (entry.isIntersecting) now.add(parts.get(entry.target)!);
            else now.delete(parts.get(entry.target)!);
          }
          return now.size === before.size && [...now].every((message) => before.has(message)) ? before : now;
        }),
      { threshold: 0.5 },
    );
    for (const part of parts.keys()) observer.observe(part);
    if (parts.size === 0) setSeen((before) => (before.size === 0 ? before : new Set()));
    return () => observer.disconnect();
  }); // the cards come and go with the view and the messages
  return seen;
}
