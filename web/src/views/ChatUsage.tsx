// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo } from 'react';
import type { Chat, Usage } from '../api/types';
import { duration, firstWords, money, plural, tokens, whole } from '../model/format';
import { elapsed, flatten, type Node, type Tree } from '../model/tree';
import { Bars, Tile, type BarRow } from '../parts/Bars';
import { RoleIcon, useRoleName } from '../parts/RoleIcon';

/** How many agents are listed individually. */
const top = 12;

/** The usage of a chat, by role and by agent. */
export function ChatUsage({ chat, tree }: { chat: Chat; tree: Tree }) {
  const roleName = useRoleName();
  const usage = chat.status?.usage ?? {};
  const limits = chat.spec.limits ?? {};
  const nodes = useMemo(() => flatten(tree.roots), [tree]);
  const byRole = useMemo(() => sumByRole(chat, nodes), [chat, nodes]);
  const agents = useMemo(
    () =>
      nodes
        .map((node) => ({ node, own: node.display.own }))
        .filter(({ own }) => (own.totalTokens ?? 0) > 0)
        .sort((a, b) => (b.own.totalTokens ?? 0) - (a.own.totalTokens ?? 0))
        .slice(0, top),
    [nodes],
  );
  return (
    <div className="usage" tabIndex={0} role="region" aria-label="Usage">
      <div className="tiles">
        <Tile label="Tokens" value={tokens(usage.totalTokens ?? 0)} more={`${tokens(usage.promptTokens ?? 0)} in, ${tokens(usage.completionTokens ?? 0)} out`} />
        <Tile label="Cost" value={usage.modelCalls ? money(usage.costMicros, usage.currency) : '0'} more={usage.modelCalls && usage.costMicros === undefined ? 'a model has no price, or another currency' : limit(limits.maxCostMicros, (most) => money(most, usage.currency))} />
        <Tile label="Model calls" value={whole(usage.modelCalls)} />
        <Tile label="Tasks" value={whole(nodes.length)} more={limit(limits.maxTotalTokens, (most) => `${tokens(most)} tokens`)} />
      </div>
      <Bars
        title="Tokens by role"
        empty="No usage yet."
        rows={byRole.map(({ role, own, count }) => bar(role, <><RoleIcon role={role} /> {roleName(role)}</>, own, `${plural(count, 'run')}${cost(own)}`))}
      />
      {agents.length > 0 && (
        <Bars
          title="Tokens by agent"
          empty=""
          rows={agents.map(({ node, own }) => bar(node.name, <><RoleIcon role={node.task.spec.role} /> <span className="bar-of" title={node.name}>{node.task.spec.role ? roleName(node.task.spec.role) : node.name}{node.task.spec.instruction && <small>{firstWords(node.task.spec.instruction)}</small>}</span></>, own, `${duration(elapsed(node, Date.now()) ?? 0)}${cost(own)}`))}
        />
      )}
      <p className="chart-key">
        <span className="swatch first" /> in <span className="swatch second" /> out
      </p>
    </div>
  );
}

/** An unknown price is not free: it is reported for the whole chat. */
const cost = (own: Usage) => (own.costMicros === undefined ? '' : `, cost ${money(own.costMicros, own.currency)}`);

const limit = (most: number | undefined, words: (most: number) => string) => (most ? `limit ${words(most)}` : undefined);

function bar(key: string, label: React.ReactNode, usage: Usage, more: string): BarRow {
  return {
    key,
    label,
    parts: [
      { kind: 'first', value: usage.promptTokens ?? 0, label: `${whole(usage.promptTokens)} tokens in` },
      { kind: 'second', value: usage.completionTokens ?? 0, label: `${whole(usage.completionTokens)} tokens out` },
    ],
    value: tokens(usage.totalTokens),
    more,
  };
}

/** The usage of each role; the usage that belongs to no task is the orchestrator's. */
export function sumByRole(chat: Chat, nodes: Node[]): { role: string; own: Usage; count: number }[] {
  const sums = new Map<string, { own: Usage; count: number }>();
  const add = (role: string, own: Usage) => {
    const sum = sums.get(role) ?? { own: {}, count: 0 };
    const plus = (key: 'promptTokens' | 'completionTokens' | 'totalTokens') => (sum.own[key] ?? 0) + (own[key] ?? 0);
    sums.set(role, { own: { promptTokens: plus('promptTokens'), completionTokens: plus('completionTokens'), totalTokens: plus('totalTokens'), ...priced(sum, own) }, count: sum.count + 1 });
  };
  const priced = (sum: { own: Usage; count: number }, own: Usage) => (own.costMicros === undefined || (sum.count > 0 && (sum.own.costMicros === undefined || sum.own.currency !== own.currency)) ? {} : { costMicros: (sum.own.costMicros ?? 0) + own.costMicros, currency: own.currency });
  let paid = chat.status?.usage?.costMicros;
  const left = { promptTokens: chat.status?.usage?.promptTokens ?? 0, completionTokens: chat.status?.usage?.completionTokens ?? 0 };
  for (const node of nodes) {
    const { own } = node.display;
    if (node.task.spec.role) add(node.task.spec.role, own);
    paid = paid === undefined || own.costMicros === undefined ? undefined : paid - own.costMicros;
    left.promptTokens -= own.promptTokens ?? 0;
    left.completionTokens -= own.completionTokens ?? 0;
  }
  const prompt = Math.max(0, left.promptTokens);
  const completion = Math.max(0, left.completionTokens);
  if (prompt + completion > 0) add(chat.spec.role ?? 'orchestrator', { promptTokens: prompt, completionTokens: completion, totalTokens: prompt + completion, ...(paid === undefined ? {} : { costMicros: Math.max(0, paid), currency: chat.status?.usage?.currency }) });
  return [...sums].map(([role, sum]) => ({ role, ...sum })).sort((a, b) => (b.own.totalTokens ?? 0) - (a.own.totalTokens ?? 0));
}
