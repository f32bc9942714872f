// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Entry } from '../api/history';
import type { Chat, Message, SubAgent, Task } from '../api/types';
import { viewOf } from './runs';
import { isHidden, questionIn, requestIn, type Node, type Tree } from './tree';

/** A code block that contains a text, whatever fences the text has. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

const at = (time: string) => time.replace('T', ' ').replace(/(:\d\d)(\.\d+)?Z$/, '$1 UTC');

function messageText(message: Message, tree: Tree): string | undefined {
  const { spec, metadata, status } = message;
  const head = (who: string) => `### ${who}, ${at(metadata.creationTimestamp)}`;
  const who = spec.user ?? 'A person';
  if (spec.approval) return `*${who} ${spec.approval.decision === 'Approve' ? 'approved' : 'denied'} a call of ${spec.approval.task}${spec.approval.comment ? `: ${spec.approval.comment}` : ''}, ${at(metadata.creationTimestamp)}*`;
  if (spec.cancel) return `*${who} cancelled ${spec.cancel.task || 'all work'}, ${at(metadata.creationTimestamp)}*`;
  const request = requestIn(message, tree);
  if (request) return `${head(`${request.who} requests approval of \`${request.tool}\``)}\n\n${(request.reasons ?? []).map((reason) => `- ${reason}\n`).join('')}${fenced(request.arguments, 'json')}${request.whole ? '' : '\n\n*The arguments are shortened; the transcript has them in full.*'}`;
  if (isHidden(message, tree)) return undefined;
  const question = questionIn(message, tree);
  if (question) return [head(`${question.who} asks`), question.text, question.answer && `*${question.user ?? 'The orchestrator'} answered:* ${question.answer}`].filter(Boolean).join('\n\n');
  if (!spec.content) return undefined;
  if (spec.role === 'System') return `*${spec.content.replace(/\n/g, ' ')}*`;
  const files = (spec.attachments ?? []).map((file) => `- ${file.name} (${file.mediaType})`).join('\n');
  return [head(spec.role === 'Assistant' ? 'Assistant' : who) + (status?.phase === 'Rejected' ? ' (rejected)' : ''), spec.content, files].filter(Boolean).join('\n\n');
}

function taskText(node: Node, depth = 0): string {
  const { spec, status } = node.task;
  const what = spec.type === 'Tool' ? `\`${spec.tool}\`` : `**${spec.role}**`;
  const outcome = status?.error ? `${status.error.kind}${status.error.message ? `: ${status.error.message}` : ''}` : (status?.result?.summary ?? '');
  const line = `${'  '.repeat(depth)}- ${what} \`${node.name}\`, ${status?.phase ?? 'Pending'}${spec.instruction ? `: ${oneLine(spec.instruction)}` : ''}${outcome ? ` → ${oneLine(outcome)}` : ''}`;
  return [line, ...node.children.map((child) => taskText(child, depth + 1))].join('\n');
}

const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim();

/** A conversation as Markdown: the messages in order, each with the tasks that it caused. */
export function markdownOf(chat: Chat, ordered: Message[], tree: Tree): string {
  const parts = [`# ${viewOf(chat).title}`, `Chat \`${chat.metadata.name}\` in \`${chat.metadata.namespace}\`, created ${at(chat.metadata.creationTimestamp)}.`];
  const tasks = (trigger: string) => {
    const nodes = tree.below.get(trigger);
    if (nodes) parts.push(nodes.map((node) => taskText(node)).join('\n'));
  };
  for (const message of ordered) {
    const text = messageText(message, tree);
    if (text) parts.push(text);
    tasks(message.metadata.name);
  }
  tasks('');
  return `${parts.join('\n\n')}\n`;
}

/** Everything of a chat, as the APIs serve it. */
export function jsonOf(chat: Chat, messages: Message[], tasks: Task[], agents: SubAgent[], transcript?: Entry[]): string {
  return `${JSON.stringify({ chat, messages, tasks, subAgents: agents, ...(transcript ? { transcript } : {}) }, null, 2)}\n`;
}
