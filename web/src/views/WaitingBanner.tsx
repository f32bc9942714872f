// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Chat, Message } from '../api/types';
import { questionIn, requestIn, type Tree } from '../model/tree';
import { Icon } from '../parts/Icon';
import { useRoleName } from '../parts/RoleIcon';
import { go, hrefOf, type Route } from '../state/route';

/** Shows what waits for the person, and links to the main chat, where it is answered. */
export function WaitingBanner({ chat, ordered, tree, route, onAnswer }: { chat: Chat; ordered: Message[]; tree: Tree; route: Route; onAnswer: (message?: Message) => void }) {
  const roleName = useRoleName();
  const requests = ordered.map((message) => requestIn(message, tree, ordered)).filter((request) => request?.state === 'open');
  const questions = ordered.map((message) => ({ message, question: questionIn(message, tree) })).filter(({ question }) => question?.open);
  const count = requests.length + questions.length;
  if (count === 0 || (chat.status?.waiting ?? []).length === 0) return null;
  const reveal = (message: string) => {
    if (route.view !== 'chat') go(hrefOf({ ...route, view: 'chat' }));
    requestAnimationFrame(() => {
      const card = document.getElementById(`request-${message}`);
      card?.scrollIntoView({ block: 'center', behavior: 'smooth' });
      card?.focus({ preventScroll: true });
    });
  };
  const first = questions[0];
  const request = requests[0];
  return (
    <div className="waiting-banner" role="status">
      <Icon name="hand" />
      <span className="waiting-text">
        {first?.question ? (
          <>
            <strong>{roleName(first.question.node.task.spec.role)}</strong> asks: {first.question.text}
          </>
        ) : (
          <>
            <strong>{request!.who}</strong> requests approval to run <code>{request!.tool}</code>
          </>
        )}
        {count > 1 && <span className="more"> and {count - 1} more</span>}
      </span>
      {first ? (
        <button type="button" className="button small primary" onClick={() => onAnswer(first.message)}>
          Answer
        </button>
      ) : (
        <button type="button" className="button small primary" onClick={() => reveal(request!.message)}>
          Review
        </button>
      )}
    </div>
  );
}
