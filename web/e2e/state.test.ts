// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launch, visit } from './browser';
import { Stack } from './stack';
import { answered, begin, say } from './talk';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let stack: Stack;
let browser: Browser;
let alice: Page;

beforeAll(async () => {
  [stack, browser] = await Promise.all([Stack.start(), launch()]);
  alice = await visit(browser, await stack.open('alice', 'alice'));
  await begin(alice, 'Explain the plan');
  await answered(alice, 'Keep the old store');
});

afterAll(async () => {
  await browser?.close();
  await stack?.close();
});

const state = () => alice.getByRole('status', { name: 'State of the system' });

/** Waits for a problem, and returns how long it took. */
async function shows(text: string | RegExp): Promise<number> {
  const began = Date.now();
  await state().getByText(text).first().waitFor({ timeout: 60_000 });
  const took = Date.now() - began;
  console.log(`${text}: shown after ${took} ms`);
  return took;
}

const gone = (text: string | RegExp) => state().getByText(text).first().waitFor({ state: 'detached', timeout: 120_000 });

/** What the page promises on a machine that is not overloaded; CI may be slower. */
const promised = Number(process.env.NESTOR_STATE_MS ?? 30_000);

it('shows that the operator does not run', { timeout: 240_000 }, async () => {
  await stack.operator('down');
  expect(await shows('The operator does not run')).toBeLessThan(promised);
  await stack.operator('up');
  await gone('The operator does not run');
});

it('shows that the ledger does not answer', { timeout: 240_000 }, async () => {
  await stack.fault('ledger', 'down');
  expect(await shows('The ledger does not work (LedgerUnavailable)')).toBeLessThan(promised);
  await stack.fault('ledger', 'up');
  await gone('The ledger does not work');
});

it('shows that the provider does not answer, and that it limits calls', { timeout: 300_000 }, async () => {
  await stack.fault('model', 'down');
  await say(alice, 'Explain the plan');
  expect(await shows('The model provider does not answer.')).toBeLessThan(promised);
  await stack.fault('model', 'limited');
  await shows('The model provider limits the rate of calls.');
  await stack.fault('model', 'up');
  await gone('The model provider limits the rate of calls.');
});

it('shows that a quota is used up', { timeout: 240_000 }, async () => {
  await stack.fault('quota', 'alice');
  await say(alice, 'Explain the plan');
  expect(await shows('The AgentQuota small is used up')).toBeLessThan(promised);
  await state().getByText('kubectl edit agentquota small').waitFor();
  for (const [name, width, colorScheme] of [['wide', 1360, 'light'], ['dark', 1360, 'dark'], ['phone', 390, 'light']] as const) {
    const page = await visit(browser, await stack.open('alice', 'alice'), { viewport: { width, height: 844 }, colorScheme, reducedMotion: 'reduce' });
    await page.getByText('The AgentQuota small is used up').waitFor({ timeout: 60_000 });
    if (process.env.NESTOR_SHOTS) await page.screenshot({ path: `${process.env.NESTOR_SHOTS}/state-${name}.png` });
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => (window as unknown as { axe: { run: () => Promise<AxeResults> } }).axe.run());
    expect(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`))).toEqual([]);
    await page.context().close();
  }
  await state().getByRole('button', { name: 'Hide' }).click();
  await gone('The AgentQuota small is used up');
});
