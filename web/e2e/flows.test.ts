// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { complaints, visit } from './browser';
import { look } from './look';
import { answered, badge, begin, inspect, say, task } from './talk';
import { alice, browser, open, stack } from './world';

/** A PNG of one pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

open();

describe('a chat', () => {
  it('begins with a message and shows the answer while it is being written', async () => {
    await stack.fault('model', 'held');
    await begin(alice, 'Explain the plan');
    await alice.getByRole('heading', { name: 'Explain the plan', level: 1 }).waitFor();
    await alice.getByRole('article', { name: 'The assistant is writing' }).waitFor();
    await stack.fault('model', 'up');
    await answered(alice, 'Keep the old store');
    await alice.getByRole('cell', { name: '3 days' }).waitFor();
    await alice.getByRole('article', { name: 'The assistant is writing' }).waitFor({ state: 'detached' });
  });

  it('fans out and in, and shows it under what was said before it', async () => {
    await begin(alice, 'Review the authentication module for potential issues.');
    await alice.getByText('3 tasks').waitFor();
    await answered(alice, 'The review of the authentication module');
    await alice.getByText('3 tasks, all finished').waitFor();
    const order = await alice.locator('.conversation-inner > *').evaluateAll((all) => all.map((part) => part.className.split(' ')[0]));
    expect(order.slice(0, 3)).toEqual(['message', 'message', 'task-group']);
    await alice.getByRole('link', { name: 'Timeline' }).click();
    await alice.getByRole('img', { name: /Timeline of 4 runs/ }).waitFor();
    await alice.locator('.timeline-names').getByText('Orchestrator').waitFor();
    await alice.locator('.timeline-names').getByText('from a security perspective').waitFor();
    await expect.poll(() => alice.locator('.timeline .part.of-children').count()).toBeGreaterThan(0);
    await look(alice, 'trace');
    await alice.locator('.timeline .part.of-model').last().click();
    await alice.getByRole('dialog').getByRole('article', { name: 'Model' }).waitFor();
    await alice.getByRole('button', { name: 'Close', exact: true }).click();
  });

  it('takes pictures, shows them, and folds the reasoning of the model', async () => {
    await alice.getByRole('link', { name: 'New chat' }).first().click();
    await alice.getByRole('heading', { name: 'What should your agents do?' }).waitFor();
    const picture = { name: 'dark.png', mimeType: 'image/png', buffer: Buffer.from(pixel, 'base64') };
    await alice.locator('.composer input[type=file]').setInputFiles([picture, { name: 'film.mp4', mimeType: 'video/mp4', buffer: Buffer.from('film') }]);
    await alice.getByText('film.mp4 cannot be attached').waitFor();
    await alice.locator('.composer textarea').evaluate((area, data) => {
      const pasted = new DataTransfer();
      pasted.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], 'dark.png', { type: 'image/png' }));
      area.dispatchEvent(new ClipboardEvent('paste', { clipboardData: pasted, bubbles: true, cancelable: true }));
    }, pixel);
    await alice.getByRole('img', { name: 'dark-2.png' }).waitFor();
    await alice.getByRole('button', { name: 'Remove dark-2.png' }).click();
    await say(alice, 'What is on this picture?');
    await alice.waitForURL(/\/chats\//);
    await alice.locator('.bubble').getByRole('img', { name: 'dark.png' }).waitFor();
    await answered(alice, 'It shows one dark pixel.');
    await alice.locator('.composer .attachments').waitFor({ state: 'detached' });
    const reasoning = alice.locator('.message.assistant .reasoning');
    await reasoning.waitFor();
    expect(await reasoning.getByText('not much to go on').isVisible()).toBe(false);
    await reasoning.getByText('Reasoning').click();
    await reasoning.getByText('not much to go on').waitFor();
  });

  it('takes an answer to the agent that asked', async () => {
    await begin(alice, 'Summarise what was released this year.');
    await alice.getByRole('region', { name: 'Question of Researcher' }).waitFor({ timeout: 120_000 });
    await badge(task(alice, 'Researcher'), 'Waiting for you');
    await alice.getByRole('region', { name: 'Question of Researcher' }).getByRole('button', { name: 'Answer' }).click();
    await alice.getByLabel('Answer to Researcher').waitFor();
    expect(await alice.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA');
    await say(alice, 'It is 2024');
    await answered(alice, 'Three releases came out');
    await badge(task(alice, 'Researcher'), 'Done');
    const question = alice.getByRole('region', { name: 'Question of Researcher' });
    await question.getByText('alice answered').waitFor();
    expect(await alice.locator('.conversation').getByText('It is 2024').count()).toBe(1); // only with its question
    await alice.locator('.waiting-banner').waitFor({ state: 'detached' });
  });

  it('runs a tool that was approved, with the arguments that were shown', async () => {
    await begin(alice, 'Write a note about the release.');
    const request = alice.getByRole('region', { name: 'Approval of notes__add' });
    await request.waitFor({ timeout: 120_000 });
    expect(await request.locator('.arguments').innerText()).toContain('- <b>approvals</b> show the exact arguments');
    await request.getByLabel('Comment for the agent').fill('Go ahead');
    await request.getByRole('button', { name: 'Approve' }).click();
    await answered(alice, 'The note is in the notebook.');
    await request.getByText(/^Approved by /).waitFor();
  });

  it('does not run a tool that was denied', async () => {
    await begin(alice, 'Write a note about the release, please.');
    const request = alice.getByRole('region', { name: 'Approval of notes__add' });
    await request.waitFor({ timeout: 120_000 });
    await request.getByRole('button', { name: 'Deny' }).click();
    await answered(alice, 'was not allowed to write the note');
    await badge(task(alice, 'Scribe'), 'Failed');
  });

  it('stops work', async () => {
    await begin(alice, 'Survey every lighthouse in the world.');
    await badge(task(alice, 'Researcher'), 'Running');
    await task(alice, 'Researcher').getByRole('button', { name: 'Cancel' }).click();
    await badge(task(alice, 'Researcher'), 'Cancelled');
  });

  it('is deleted with everything in it', async () => {
    await begin(alice, 'What is 17 * 23?');
    await answered(alice, '391');
    const link = alice.locator(`.chat-list a[href="${new URL(alice.url()).pathname}"]`);
    await link.waitFor();
    await alice.getByRole('button', { name: 'More' }).click();
    await alice.getByRole('menuitem', { name: 'Delete this chat' }).click();
    await alice.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await alice.getByRole('heading', { name: 'What should your agents do?' }).waitFor();
    await link.waitFor({ state: 'detached' });
  });
});

describe('a live run', () => {
  it('is inspected, survives a reload and another operator', async () => {
    await begin(alice, 'Count slowly.');
    await inspect(alice, 'Scribe');
    const transcript = alice.getByRole('log', { name: 'Transcript' });
    await transcript.getByText('Number 1 is next').waitFor();
    await alice.getByRole('article', { name: 'The model is writing' }).first().waitFor();
    await transcript.getByText('Number 3 is next').waitFor();

    await alice.reload();
    await transcript.getByText('Number 3 is next').waitFor();
    await transcript.getByText('Number 5 is next').waitFor();

    await stack.operator('restart');
    await transcript.getByText('Finished').waitFor({ timeout: 120_000 });
    await answered(alice, 'The count is finished.', 120_000);
    // Nothing was told twice, and nothing was done twice.
    await alice.getByLabel('Find in the transcript').fill('Number 3 is next');
    await transcript.getByText('Number 3 is next').waitFor();
    expect(await transcript.getByText(/Number \d+ is next/).count()).toBe(1);
    await alice.keyboard.press('Escape');
    await alice.getByRole('complementary').waitFor({ state: 'detached' });
  });

  it('shows what the tools were given and what they answered', async () => {
    await begin(alice, 'Write a note about the release!');
    await alice.getByRole('button', { name: 'Approve' }).click({ timeout: 120_000 });
    await answered(alice, 'The note is in the notebook.');
    await inspect(alice, 'Scribe');
    await alice.locator('.inspector .tool-head', { hasText: 'notes__add' }).click();
    await alice.locator('.inspector').getByText('<img src=x onerror="window.pwned=1">').waitFor();
    expect(await alice.evaluate(() => 'pwned' in window)).toBe(false);
  });
});

describe('a trigger', () => {
  it('is fired, and shows its run', async () => {
    await alice.getByRole('link', { name: 'Triggers' }).click();
    const nightly = alice.getByRole('region', { name: 'Trigger nightly' });
    await nightly.getByText('0 0 29 2 * Europe/Berlin').waitFor();
    await badge(nightly, 'Ready');
    await nightly.getByText('No runs.').waitFor();
    await nightly.getByRole('button', { name: 'Fire nightly' }).click();
    await alice.getByText('nightly fired.').waitFor({ timeout: 120_000 });
    const runs = nightly.getByRole('list', { name: 'Runs of nightly' });
    await runs.locator('.badge', { hasText: 'Done' }).waitFor({ timeout: 120_000 });
    await runs.getByText('Begun under Ptolemy I').first().click();
    await runs.getByText('Sostratus of Cnidus').waitFor();
    await alice.setViewportSize({ width: 390, height: 844 });
    expect(await alice.locator('main.page').evaluate((page) => page.scrollWidth - page.clientWidth)).toBe(0);
    await alice.setViewportSize({ width: 1360, height: 860 });
  });

  it('says why it does not fire', async () => {
    await alice.getByRole('button', { name: 'Fire on-comments' }).click();
    await alice.getByLabel('The body that the expressions see, as JSON').fill('{"action": "deleted"}');
    await alice.getByRole('dialog').getByRole('button', { name: 'Fire', exact: true }).click();
    await alice.getByText('on-comments did not fire: The condition of the trigger is false for this firing.').waitFor({ timeout: 120_000 });
    await alice.getByRole('region', { name: 'Trigger on-comments' }).getByText(/^SecretNotFound: /).waitFor({ timeout: 120_000 });
  });
});

describe('markup of models', () => {
  it('does nothing', async () => {
    await begin(alice, 'Say something hostile');
    await answered(alice, 'Before <script>window.pwned=1</script>');
    const said = alice.getByRole('article', { name: 'Assistant', exact: true });
    expect(await said.locator('script, img, iframe').count()).toBe(0);
    expect(await said.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toEqual(['https://example.com/', 'https://example.com/track.png']);
    await said.getByText('Approve rm \\u202e notes, \\u2066please\\u2069.').waitFor();
    await said.getByText('[click me](javascript:window.pwned=1)').click();
    expect(await alice.evaluate(() => 'pwned' in window)).toBe(false);
  });
});

describe('people', () => {
  it('see the chats of their own namespace and no others', async () => {
    const bob = await visit(browser, await stack.open('bob', 'bob'));
    await begin(bob, 'What is 17 * 23?');
    await answered(bob, '391');
    expect(await bob.locator('.chat-item').count()).toBe(1);
    await bob.goto(`${new URL(bob.url()).origin}/alice`);
    await bob.getByRole('heading', { name: 'You may not see the chats of alice' }).waitFor();
    expect(await bob.locator('.chat-item').count()).toBe(0);
    await bob.context().close();
  });

  it('without permissions get a page that says what to do', async () => {
    const nobody = await visit(browser, await stack.open('nobody', 'alice'));
    await nobody.getByRole('alert').getByText('signed in as nobody').waitFor();
    await nobody.getByText('kubectl create rolebinding nestor-user -n alice').waitFor();
    await nobody.context().close();
  });

  it('sign in with a token, and out again', async () => {
    const { url, token } = await stack.tokens();
    const page = await visit(browser, url);
    await page.getByLabel('Token').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('The cluster does not accept this token').waitFor();
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('system:serviceaccount:alice:robot').waitFor();
    expect(await page.evaluate(() => document.cookie)).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Nestor' }).waitFor();
    await page.context().close();
  });

  it('need a link that nobody has used', async () => {
    const link = await stack.open('alice', 'alice');
    await (await visit(browser, link)).context().close();
    const second = await visit(browser, link);
    await second.getByRole('heading', { name: 'This page needs a link' }).waitFor();
    await second.context().close();
  });
});

describe('the page', () => {
  it('is painted soon', async () => {
    let soonest = Infinity;
    for (let visits = 0; visits < 3 && soonest >= 5000; visits++) {
      // The machine may be busy with something else during one of them.
      const page = await visit(browser, await stack.open('alice', 'alice'));
      await page.bringToFront(); // what is not seen is not painted
      await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
      await page.getByRole('heading', { name: 'What should your agents do?' }).waitFor();
      const [paint, bytes] = await page.evaluate(() => [
        performance.getEntriesByName('first-contentful-paint')[0]!.startTime,
        performance.getEntriesByType('resource').reduce((sum, entry) => sum + (entry as PerformanceResourceTiming).decodedBodySize, 0),
      ]);
      console.log(`first paint after ${Math.round(paint)} ms; ${Math.round(bytes / 1024)} KiB of files`);
      soonest = Math.min(soonest, paint);
      await page.context().close();
    }
    expect(soonest).toBeLessThan(5000);
  });

  it('loads less than 200 KiB of compressed files', async () => {
    const page = await visit(browser, await stack.open('alice', 'alice'));
    await page.getByRole('heading', { name: 'What should your agents do?' }).waitFor();
    const [sent, content] = await page.evaluate(() => {
      const assets = (performance.getEntriesByType('resource') as PerformanceResourceTiming[]).filter(({ name }) => name.includes('/assets/'));
      return [assets.reduce((sum, asset) => sum + asset.encodedBodySize, 0), assets.reduce((sum, asset) => sum + asset.decodedBodySize, 0)];
    });
    expect(content).toBeGreaterThan(200 * 1024); // otherwise nothing was measured
    expect(sent).toBeLessThan(200 * 1024);
    await page.context().close();
  });

  it('is used with the keyboard', async () => {
    await alice.locator('body').press('n');
    await alice.getByRole('heading', { name: 'What should your agents do?' }).waitFor();
    // The input of the start page has the focus, so that letters are text; Escape leaves it.
    await alice.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA');
    await alice.keyboard.press('j');
    expect(await alice.getByLabel('Message').inputValue()).toBe('j');
    await alice.keyboard.press('Backspace');
    await alice.keyboard.press('Escape');
    await alice.keyboard.press('j');
    await alice.waitForURL(/\/chats\//);
    await alice.locator('body').press('t');
    await alice.waitForURL(/view=timeline/);
    await alice.locator('body').press('c');
    await alice.locator('body').press('/');
    await alice.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA');
    await alice.keyboard.press('Escape');
    await alice.locator('body').press('?');
    await alice.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await alice.keyboard.press('Escape');
    await alice.getByRole('dialog', { name: 'Keyboard' }).waitFor({ state: 'detached' });
    await alice.keyboard.press('Control+k');
    await alice.getByRole('combobox', { name: 'Page, chat, run, role or text' }).fill('usa');
    await alice.getByRole('option', { name: 'Usage' }).waitFor();
    await alice.keyboard.press('Enter');
    await alice.waitForURL(/\/usage$/);
  });

  it('opens no keyboard on a touch screen', async () => {
    const phone = await visit(browser, await stack.open('alice', 'alice'), { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    await phone.getByRole('heading', { name: 'What should your agents do?' }).waitFor();
    await phone.locator('.composer textarea:enabled').waitFor();
    expect(await phone.evaluate(() => document.activeElement?.tagName)).toBe('BODY');
    await phone.context().close();
  });

  it('says when it is offline, and goes on by itself', async () => {
    await alice.route('**/api/stream*', (route) => route.abort());
    await alice.reload();
    await alice.getByText('Retrying automatically.').waitFor();
    await alice.unroute('**/api/stream*');
    await alice.getByText('Retrying automatically.').waitFor({ state: 'detached' });
    complaints.get(alice)!.length = 0; // the browser tells of every request that failed
  });
});
