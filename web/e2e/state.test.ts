// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { beforeAll, expect, it } from 'vitest';
import { look } from './look';
import { answered, begin, say } from './talk';
import { alice, anything, open, stack } from './world';

open({}, anything);

beforeAll(async () => {
  await begin(alice, 'Explain the plan');
  await answered(alice, 'Keep the old store');
});

const state = () => alice.getByRole('status', { name: 'State of the system' });

/** Waits for a problem, and returns how long it took. */
async function shows(text: string | RegExp): Promise<number> {
  const began = Date.now();
  await state().getByText(text).first().waitFor({ timeout: 120_000 });
  const took = Date.now() - began;
  console.log(`${text}: shown after ${took} ms`);
  return took;
}

const gone = (text: string | RegExp) => state().getByText(text).first().waitFor({ state: 'detached', timeout: 120_000 });

/** Three times what the page promises on a machine that does nothing else. */
const promised = 30_000;

it('shows that the operator does not run', { timeout: 600_000 }, async () => {
  await stack.operator('down');
  expect(await shows('The operator does not run')).toBeLessThan(promised);
  await stack.operator('up');
  await gone('The operator does not run');
});

it('shows that the ledger does not answer', { timeout: 600_000 }, async () => {
  await stack.fault('ledger', 'down');
  expect(await shows('The ledger does not work (LedgerUnavailable)')).toBeLessThan(promised);
  await stack.fault('ledger', 'up');
  await gone('The ledger does not work');
});

it('shows that the provider does not answer, and that it limits calls', { timeout: 600_000 }, async () => {
  await stack.fault('model', 'down');
  await say(alice, 'Explain the plan');
  expect(await shows('The model provider does not answer.')).toBeLessThan(promised);
  await stack.fault('model', 'limited');
  await shows('The model provider limits the rate of calls.');
  await stack.fault('model', 'up');
  await gone('The model provider limits the rate of calls.');
});

it('shows that a quota is used up', { timeout: 600_000 }, async () => {
  await stack.fault('quota', 'alice');
  await say(alice, 'Explain the plan');
  expect(await shows('The AgentQuota small is used up')).toBeLessThan(promised);
  await state().getByText('kubectl edit agentquota small').waitFor();
  await look(alice, 'state');
  await state().getByRole('button', { name: 'Hide' }).click();
  await gone('The AgentQuota small is used up');
});
