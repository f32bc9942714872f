// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { badge, inspect, task } from './talk';
import { alice, anything, open, stack } from './world';

open({}, anything);

it('stays fast with ten thousand messages', { timeout: 600_000 }, async () => {
  await stack.operator('down');
  await stack.long('alice', 'long');
  await alice.locator('.chat-item', { hasText: 'long' }).click();
  await badge(task(alice, 'Scribe'), 'Done');

  const opened = Date.now();
  await inspect(alice, 'Scribe');
  await alice.getByRole('log', { name: 'Transcript' }).getByText('Finished').waitFor();
  const shown = Date.now() - opened;

  // Up to the first entry, page by page: the document must not grow with it.
  const begun = Date.now();
  let most = 0;
  await alice.getByRole('log', { name: 'Transcript' }).focus();
  for (;;) {
    await alice.locator('.transcript').evaluate((box) => box.scrollTo({ top: 0 }));
    most = Math.max(most, await alice.locator('.transcript-row').count());
    if ((await alice.locator('.inspector').getByText('Assignment').count()) > 0) break;
    expect(Date.now() - begun, 'the first entry must come').toBeLessThan(400_000);
    await alice.evaluate(() => new Promise(requestAnimationFrame));
  }
  const scrolled = Date.now() - begun;

  // How long a frame takes while somebody scrolls through all of it.
  const slowest = await alice.locator('.transcript').evaluate(async (box) => {
    const frames: number[] = [];
    let last = performance.now();
    for (let i = 1; i <= 60; i++) {
      box.scrollTop = (box.scrollHeight * i) / 60;
      const now = await new Promise<number>(requestAnimationFrame);
      frames.push(now - last);
      last = now;
    }
    return frames.sort((a, b) => a - b)[Math.floor(frames.length * 0.95)]!;
  });
  const height = await alice.locator('.transcript-rows').evaluate((rows) => rows.clientHeight);
  console.log(`10,000 entries: shown in ${shown} ms; to the first one in ${scrolled} ms; at most ${most} rows in the document; 95% of frames under ${Math.round(slowest)} ms; ${height} pixels high`);
  expect(most).toBeLessThan(80);
  expect(height).toBeGreaterThan(300_000);
  // Far more than it takes, for machines that do much else: a list that draws everything takes minutes.
  expect(slowest).toBeLessThan(2000);
});
