// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { visit } from './browser';
import { look } from './look';
import { browser, open, stack } from './world';

open();

const timeout = 120_000;
let admin: Page;

beforeAll(async () => {
  admin = await visit(browser, await stack.open('admin', 'alice'));
});

const place = (name: string) => admin.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name, exact: true }).click();

it('explains evaluations in a namespace that has none', async () => {
  await place('Evaluations');
  await admin.getByRole('heading', { name: 'No evaluations yet' }).waitFor();
  await look(admin, 'evaluations-none');
});

it('shows the verdict on a new revision, with the case that got worse first', async () => {
  await stack.create('admin', 'AgentRole', 'alice', 'poet', { systemPrompt: 'You write verses.', promotion: { mode: 'Gated' } });
  for (const about of ['snow', 'rain']) {
    await stack.create('admin', 'AgentTask', 'alice', `verse-${about}`, { type: 'Agent', role: 'poet', instruction: `Write a verse about ${about}.`, user: 'admin' }, { suite: 'verses' });
    await admin.goto(new URL(`/alice/runs/verse-${about}`, admin.url()).href);
    await admin.locator('.chat-head .badge', { hasText: 'Done' }).waitFor({ timeout });
  }
  await place('Evaluations');
  await stack.create('admin', 'AgentEvaluation', 'alice', 'verses', {
    role: 'poet',
    cases: [{ name: 'rhymes', taskSelector: { matchLabels: { suite: 'verses' } }, expect: ["result.text.contains('rhyme')"] }],
    thresholds: { maxCostIncreasePercent: 50 },
  });
  const row = admin.getByRole('row', { name: /^verses / });
  await row.getByText('No candidate').waitFor({ timeout });
  await row.getByRole('link', { name: 'verses' }).click();
  await admin.getByText('The cases have 2 recorded runs.').waitFor();
  await look(admin, 'evaluations-before');

  await admin.getByRole('link', { name: 'poet' }).click();
  await admin.getByLabel(/^System prompt/).fill('You write short verses.');
  await admin.getByRole('button', { name: 'Check with a dry run' }).click();
  await admin.getByRole('button', { name: 'Apply to alice' }).click();
  await place('Evaluations');
  await row.getByText('Failed').waitFor({ timeout });
  await row.getByText('1 of 2').waitFor();
  await look(admin, 'evaluations-list');

  await row.getByRole('link', { name: 'verses' }).click();
  await admin.getByText(/regressions: 1 \(at most 0\)/).waitFor();
  const cases = admin.getByRole('region', { name: 'Results of the cases' });
  expect(await cases.locator('.badge').allInnerTexts()).toEqual(['Regressed', 'Passed']);
  await look(admin, 'evaluations-one');
  await look(admin, 'evaluations-cases', cases);
  await cases.getByRole('link', { name: 'Compare with verse-rain' }).click();
  await admin.getByText(/^The first difference is step/).waitFor({ timeout });
  await admin.getByRole('link', { name: 'verse-rain' }).first().waitFor();
});

it('is linked from its role', async () => {
  await place('Roles');
  await admin.getByRole('link', { name: 'Edit poet' }).click();
  const evaluations = admin.getByRole('list', { name: 'Evaluations' });
  await evaluations.getByText('Failed').waitFor();
  await look(admin, 'evaluations-role', evaluations);
  await evaluations.getByRole('link', { name: 'verses' }).click();
  await admin.getByRole('heading', { name: 'verses', exact: true }).waitFor();
});
