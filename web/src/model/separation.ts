// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Chat } from '../api/types';
import type { Request } from './tree';

/** Why a person may not decide about a call, if the role of the call lets nobody decide who asked for the work. */
export function barred(chat: Chat | undefined, request: Pick<Request, 'task' | 'call'>, user: string): string | undefined {
  const waits = chat?.status?.waiting?.find(({ task, toolCall }) => task === request.task && (toolCall || undefined) === request.call);
  if (!chat || !waits?.separation) return undefined;
  const askers = chat.status?.askers ?? [];
  if (askers.length === 0) return 'Nobody can decide about this call: its role lets nobody decide who asked for the work, and a message of this chat does not say who wrote it.';
  if (![...askers, chat.spec.user].includes(user)) return undefined;
  return 'Somebody else must decide about this call: its role lets nobody decide who asked for the work, and you have written in this chat.';
}
