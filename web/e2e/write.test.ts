// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { look } from './look';
import { answered, inspect, say } from './talk';
import { alice, open } from './world';

open({ reducedMotion: 'reduce' });

const timeout = 120_000;
const request = () => alice.locator('section.approval.open');
const linesOf = (of: Locator) => of.locator('.diff-line').allInnerTexts();
const changed = (lines: string[]) => lines.map((line) => line.replace(/\s+/g, ' ').trim()).filter((line) => /^\d* ?[+-]/.test(line));
const approve = () => request().getByRole('button', { name: 'Approve', exact: true }).click();

const difference = ['3 - It is planned for <b>spring</b>.', '3 + It is planned for <b>autumn</b>.', '14 - Carol writes the notes.', '15 + Dora announces it.'];

it('shows what a call of write would replace, where the agent works', { timeout: 600_000 }, async () => {
  await alice.locator('.chat-item', { hasText: 'project' }).click();
  await say(alice, 'Keep a page about the release');
  await request().getByText(/New file: at/).waitFor({ timeout });
  expect(await linesOf(request())).toHaveLength(15);
  await look(alice, 'write-new', request());
  await approve();

  await request().getByText(/Compared with the file at/).waitFor({ timeout });
  expect(changed(await linesOf(request()))).toEqual(difference);
  await request().getByText('2 lines added, 2 removed').waitFor();
  await look(alice, 'write-diff', request());
  await request().getByText('The whole new content').click();
  await request().getByRole('region', { name: 'New content of release.md' }).getByText('Everyone tests.').waitFor();
  await approve();

  await request().getByText('already has exactly this content').waitFor({ timeout });
  expect(await linesOf(request())).toEqual([]);
  await look(alice, 'write-same', request());
  await approve();
  await answered(alice, 'The page about the release is ready.', timeout);
});

it('shows in the inspector what a call of write replaced', { timeout: 600_000 }, async () => {
  await inspect(alice, 'Builder');
  const calls = alice.locator('.inspector .tool-card', { hasText: 'release.md' });
  await calls.nth(1).locator('.tool-head').click();
  await calls.nth(1).getByText('What the call changed').waitFor({ timeout });
  expect(changed(await linesOf(calls.nth(1)))).toEqual(difference);
  await look(alice, 'write-inspector', calls.nth(1));
  await calls.nth(0).locator('.tool-head').click();
  await calls.nth(0).getByText('New file').waitFor();
});
