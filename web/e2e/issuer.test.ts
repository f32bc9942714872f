// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launch, visit } from './browser';
import { look } from './look';
import { Stack } from './stack';

let stack: Stack;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [stack, browser] = await Promise.all([Stack.start('--issuer'), launch()]);
  page = await visit(browser, `${await stack.oidc()}/alice`, { ignoreHTTPSErrors: true }); // the issuer's authority is its own
  await page.route(({ hostname }) => hostname !== '127.0.0.1', (route) => route.abort()); // fonts of the issuer's forms
});

afterAll(async () => {
  await browser?.close();
  await stack?.close();
});

const begin = () => page.getByRole('link', { name: 'Sign in with your organization' }).click();

it('shows why a sign-in failed', async () => {
  await page.getByRole('heading', { name: 'Sign in to Nestor' }).waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  await look(page, 'sign-in');
  await begin();
  await page.getByRole('link', { name: 'Cancel' }).click();
  await page.getByRole('alert').getByText(/The issuer did not sign you in: access_denied/).waitFor();
  await look(page, 'sign-in-failed');
});

it('signs in at the issuer, shows the chats of the group, and signs out', async () => {
  await begin();
  await page.getByPlaceholder('Enter any login').fill('alice');
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(/\/alice$/);
  await page.getByText('oidc:alice@example.com').waitFor();
  await page.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: 'project' }).first().waitFor();
  expect(await page.evaluate(() => document.cookie)).toBe('');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Nestor' }).waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in to Nestor' }).waitFor();
  await begin();
  await page.getByPlaceholder('Enter any login').waitFor(); // the issuer asks again
});
