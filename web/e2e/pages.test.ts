// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { visit } from './browser';
import { look } from './look';
import { answered, begin } from './talk';
import { alice, browser, open, stack } from './world';

// Some tests make the API server refuse something.
open({}, /status of (403|422)/);

const place = (page: Page, name: string) => page.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name, exact: true }).click();

describe('usage', () => {
  it('is charted over time, with the budget of the day', async () => {
    await begin(alice, 'Review the authentication module for potential issues.');
    await answered(alice, 'The review of the authentication module');
    await place(alice, 'Usage');
    const chart = alice.getByRole('region', { name: 'Tokens by role', exact: true });
    await chart.getByRole('img', { name: /^Tokens by role: .* in 7 periods/ }).waitFor();
    await alice.getByRole('img', { name: /^Cost by role/ }).waitFor();
    await alice.getByRole('img', { name: /^Runs by outcome/ }).waitFor();
    const meter = alice.getByRole('meter', { name: 'daily: tokens' });
    expect(await meter.getAttribute('aria-valuetext')).toMatch(/ tokens of 2M \(\d+%\)/);
    await alice.getByText('no AgentQuota limits a month').waitFor();
    await look(alice, 'pages-usage');
    await chart.getByText('Show the numbers').click();
    expect(await chart.locator('tbody tr').count()).toBe(1);
    await look(alice, 'pages-usage-numbers');
  });

  it('divides by model, and by hours and months', async () => {
    await alice.getByRole('button', { name: 'By model' }).click();
    await alice.getByRole('region', { name: 'Tokens by model', exact: true }).getByText('scripted').first().waitFor();
    for (const [range, periods] of [['24 hours', 24], ['12 months', 12], ['30 days', 30]] as const) {
      await alice.getByRole('button', { name: range }).click();
      await alice.getByRole('img', { name: new RegExp(`^Tokens by model: .* in ${periods} periods`) }).waitFor();
    }
    await look(alice, 'pages-usage-month');
  });
});

describe('tools', () => {
  const tool = (name: string) => alice.locator('.tool-list > li').filter({ has: alice.locator('summary code', { hasText: new RegExp(`^${name}$`) }) });

  it('are called with a form, as a task', async () => {
    await place(alice, 'Tools');
    await tool('calculator').locator('summary').first().click();
    await tool('calculator').getByLabel(/^expression/).fill('17 * 23');
    await tool('calculator').getByRole('button', { name: 'Run' }).click();
    const result = tool('calculator').getByRole('region', { name: /^Result of try-calculator-/ });
    await result.getByText('Done').waitFor({ timeout: 120_000 });
    await result.getByText('391').first().waitFor();
    await look(alice, 'pages-tool');
  });

  it('that change something are called after a confirmation, and what they answer is text', async () => {
    const add = tool('notes__add');
    await add.locator('summary').first().click();
    await add.getByLabel(/^title/).fill('From the form');
    await add.getByLabel(/^text/).fill('Two\nlines');
    expect(await add.getByRole('button', { name: 'Run' }).isDisabled()).toBe(true);
    await add.getByRole('checkbox').check();
    await add.getByRole('button', { name: 'Run' }).click();
    await add.getByText('Added "From the form". <img src=x onerror').first().waitFor({ timeout: 120_000 });
    expect(await alice.evaluate(() => 'pwned' in window)).toBe(false);
    await look(alice, 'pages-tool-write');
  });

  it('report what is wrong with the arguments', async () => {
    await tool('calculator').getByLabel(/^expression/).fill('17 *');
    await tool('calculator').getByRole('button', { name: 'Run' }).click();
    await tool('calculator').getByText('Failed', { exact: true }).waitFor({ timeout: 120_000 });
    await look(alice, 'pages-tool-failed');
  });
});

describe('roles', () => {
  let admin: Page;
  const iterations = () => admin.getByLabel(/^Iterations/);
  const yaml = () => admin.getByRole('region', { name: 'YAML of the role' }).locator('code');

  beforeAll(async () => {
    admin = await visit(browser, await stack.open('admin', 'alice'));
  });

  it('are edited as YAML, and written only after a dry run and on demand', async () => {
    await place(admin, 'Roles');
    await admin.getByRole('link', { name: 'New role' }).click();
    await admin.getByLabel('Name', { exact: true }).fill('poet');
    await admin.getByRole('button', { name: 'Check with a dry run' }).click();
    await admin.getByText('set spec.systemPrompt').waitFor();
    expect(await admin.getByRole('button', { name: 'Apply to alice' }).count()).toBe(0);
    await look(admin, 'pages-role-refused');
    await admin.getByLabel(/^System prompt/).fill('You write poems.\n\n- Short lines: always.\n- "Quotes" # and signs\n');
    await iterations().fill('7');
    for (const tool of ['notes__*', 'calculator']) await admin.getByLabel(/^Tools/).selectOption(tool);
    await admin.getByRole('list', { name: 'Chosen: Tools' }).getByRole('button', { name: 'Remove calculator' }).waitFor();
    await admin.getByRole('button', { name: 'Check with a dry run' }).click();
    await admin.getByText('This would be created in alice').waitFor();
    await look(admin, 'pages-role-checked');
    await place(alice, 'Roles');
    await alice.getByRole('article', { name: 'Scribe' }).waitFor();
    expect(await alice.getByRole('article', { name: 'poet' }).count()).toBe(0); // a dry run writes nothing
    await admin.getByRole('button', { name: 'Apply to alice' }).click();
    await admin.getByRole('article', { name: 'poet' }).getByText('7 iterations').waitFor();
    await look(admin, 'pages-roles');
  });

  it('show what would change, and refuse to overwrite what changed meanwhile', async () => {
    await admin.getByRole('link', { name: 'Edit poet' }).click();
    await iterations().fill('8');
    const shown = await yaml().innerText();
    expect(shown).toContain('  systemPrompt: |\n    You write poems.\n\n    - Short lines: always.\n    - "Quotes" # and signs\n');
    await admin.getByRole('button', { name: 'Check with a dry run' }).click();
    const changes = admin.getByRole('region', { name: 'Changes of the role' });
    await changes.getByText('maxIterations: 8').waitFor();
    expect(await changes.locator('.added, .removed').count()).toBe(2);
    await look(admin, 'pages-role-diff');
    const second = await visit(browser, await stack.open('admin', 'alice'));
    await place(second, 'Roles');
    await second.getByRole('link', { name: 'Edit poet' }).click();
    await second.getByLabel(/^Iterations/).fill('9');
    await second.getByRole('button', { name: 'Check with a dry run' }).click();
    await second.getByRole('button', { name: 'Apply to alice' }).click();
    await second.getByRole('article', { name: 'poet' }).getByText('9 iterations').waitFor();
    await admin.getByRole('button', { name: 'Apply to alice' }).click();
    await admin.getByText('the object has been modified').waitFor();
  });

  it('are YAML to read for those who may not write them', async () => {
    await place(alice, 'Roles');
    await alice.getByRole('link', { name: 'Edit Scribe' }).click();
    await alice.getByText('You may not change roles in this namespace.').waitFor();
    expect(await alice.getByRole('button', { name: 'Check with a dry run' }).count()).toBe(0);
    await look(alice, 'pages-role-read');
  });
});
