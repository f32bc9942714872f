// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Attachment, Message } from '../api/types';

/** What a person can do with their last message. */
export interface Redo {
  retry: (message: Message) => void;
  edit: (message: Message) => void;
  /** Asks for the rest of a reply that was cut off. */
  proceed: () => void;
}

/** What a person sends to get the rest of a reply that was cut off. */
export const proceeding = 'Continue your last reply exactly where it stops.';

/** A message that is being written. */
export interface Draft {
  /** The message that it was taken from. */
  from: string;
  text: string;
  attachments: Attachment[];
}

/** Reports whether a message is words of a person, which can be sent again. A decision or a cancel cannot. */
export const repeatable = (spec: Message['spec']) => (spec.role ?? 'User') === 'User' && Boolean(spec.content) && !spec.approval && !spec.cancel && !spec.revoke;

/** The content of a new message that repeats another one. An answer to a question is repeated as a message to the chat. */
export const repeat = ({ spec }: Message) => ({ content: spec.content, ...(spec.attachments?.length ? { attachments: spec.attachments } : {}) });

export const draftOf = (message: Message): Draft => ({ from: message.metadata.name, text: message.spec.content ?? '', attachments: message.spec.attachments ?? [] });
