// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Chat, Task } from '../api/types';
import type { Request } from './tree';

/** Reports whether the role of a call does not allow requesters to decide. */
export function separated(chat: Chat | undefined, request: Pick<Request, 'task' | 'call'>): boolean {
  return Boolean(waitOf(chat, request)?.separation);
}

const waitOf = (chat: Chat | undefined, request: Pick<Request, 'task' | 'call'>) => chat?.status?.waiting?.find(({ task, toolCall }) => task === request.task && (toolCall || undefined) === request.call);

/** Returns why a person may not decide a call, if the role of the call does not allow requesters to decide. */
export function barred(chat: Chat | undefined, request: Pick<Request, 'task' | 'call'>, user: string): string | undefined {
  const waits = waitOf(chat, request);
  if (!chat || !waits?.separation) return undefined;
  const askers = chat.status?.askers ?? [];
  if (askers.length === 0) return 'No one can decide this call: its role does not allow requesters to decide, and the author of a message in this chat is unknown.';
  if (![...askers, chat.spec.user].includes(user)) return undefined;
  return 'Another person must decide this call: its role does not allow requesters to decide, and you have written in this chat.';
}

/** Returns why a person may not decide a call of a standalone task, if the role of the call does not allow requesters to decide. */
export function barredFromTask(task: Task, user: string): string | undefined {
  if (!task.status?.waiting?.separation) return undefined;
  if (!task.spec.user) return 'No one can decide this call: its role does not allow requesters to decide, and the requester of this task is unknown.';
  if (task.spec.user !== user && task.spec.firedBy !== user) return undefined;
  return 'Another person must decide this call: its role does not allow requesters to decide, and you have requested this task.';
}
