/** Using the dashboard with the keyboard alone, in a real browser. */
import type { Page } from 'playwright-core';
import { type Browser, startBrowser } from '../../support/browser';
import { eventually } from '../../support/eventually';
import { type Served, served } from '../kit/served';
import { openWorld, type World } from '../kit/world';

let world: World;
let panel: Served;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [world, browser] = await Promise.all([openWorld(), startBrowser()]);
  panel = await served(world.manager);
  ({ page } = await browser.open('about:blank'));
});

afterAll(async () => {
  await browser.close();
  await panel[Symbol.asyncDispose]();
  await world.close();
});

/** Presses the key until the given element has the focus, and requires a visible focus on the way. */
async function goTo(selector: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  for (let steps = 0; steps < 100; steps += 1) {
    await page.keyboard.press(key);
    const { isIt, isSeen, markup } = await page.evaluate<{ isIt: boolean; isSeen: boolean; markup: string }>(`(() => {
      const focused = document.activeElement;
      const { top, bottom, width } = focused.getBoundingClientRect();
      const style = getComputedStyle(focused);
      return {
        isIt: focused.matches(${JSON.stringify(selector)}),
        isSeen: width > 1 && bottom > 0 && top < innerHeight && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
        markup: focused.outerHTML.slice(0, 200),
      };
    })()`);
    if (!isSeen) throw new Error(`The focus is not to be seen: ${markup}`);
    if (isIt) return;
  }
  throw new Error(`No key leads to ${selector}`);
}

const focused = () => page.locator(':focus');

/** The notice of the action. It has the focus, so that it is read out and the next key continues from there. */
async function notice(): Promise<string | null> {
  await page.locator('.notice:focus').waitFor();
  return focused().textContent();
}

describe('the keyboard', () => {
  it('reaches a button past the navigation, its notice, and the button to undo', async () => {
    await page.goto(panel.address);
    await goTo('.skip');
    await page.keyboard.press('Enter');
    await goTo('tr[data-key="mail"] button');

    await page.keyboard.press('Enter');
    expect(await notice()).toContain('mail is paused');
    await goTo('button');
    await page.keyboard.press('Enter');

    expect(await notice()).toContain('mail is resumed');
    expect(await world.manager.connection().isPaused('mail')).toBe(false);
  });

  it('reads the values of a chart one by one, and opens the table with all of them', async () => {
    await page.goto(`${panel.address}queue?queue=mail`);
    await goTo('#rate-completed');
    const told = async (key: string) => {
      await page.keyboard.press(key);
      return page.locator('#rate-completed .readout').textContent();
    };

    const last = await told('ArrowRight');
    const before = await told('ArrowLeft');

    expect(last).toMatch(/^\S+.*: [\d.]+ completed$/);
    expect(before).not.toBe(last);
    expect(await told('ArrowRight')).toBe(last);
    await goTo('summary');
    await page.keyboard.press('Enter');
    expect(await page.locator('#rate-completed tbody th').last().textContent()).toBe(last!.split(': ', 1)[0]);
    expect(await page.locator('#rate-completed table').isVisible()).toBe(true);
  });

  it('selects failed jobs and retries them', async () => {
    await page.goto(`${panel.address}failed?queue=mail`);
    const kept = await world.manager.failed.kept('mail');
    await goTo('tbody input[type=checkbox]');
    await page.keyboard.press('Space');
    await goTo('tbody input[type=checkbox]');
    await page.keyboard.press('Space');
    expect(await page.locator('tbody :checked').count()).toBe(2);

    await goTo('#chosen-jobs button', 'Shift+Tab');
    await goTo('[formaction="retry-failed"]', 'Shift+Tab');
    await page.keyboard.press('Enter');

    expect(await notice()).toContain('2 failed jobs go back');
    expect(await world.manager.failed.kept('mail')).toBe(kept! - 2);
  });

  it('forgets failed jobs after a question, which a key held too long does not answer', async () => {
    await page.goto(`${panel.address}failed?queue=media`);
    const kept = await world.manager.failed.kept('media');
    await goTo('[data-all]');
    await page.keyboard.press('Space');
    await goTo('[formaction="forget-failed"]', 'Shift+Tab');

    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: 'Forget these failed jobs?' }).waitFor();
    expect(await focused().textContent()).toBe('Go back');
    expect(await world.manager.failed.kept('media')).toBe(kept);
    await goTo('.danger', 'Shift+Tab');
    await page.keyboard.press('Enter');

    expect(await notice()).toContain(`${kept} failed jobs are forgotten`);
    expect(await world.manager.failed.kept('media')).toBe(0);
  });

  it('finds a job', async () => {
    await page.goto(panel.address);
    await goTo('[type=search]');
    await page.keyboard.type(world.ids.secret);
    await page.keyboard.press('Enter');

    await page.waitForURL('**/job?*');
    expect(await page.locator('h1').textContent()).toBe('CreateAccount');
  });

  it('scrolls a table that is wider than the window', async () => {
    await page.setViewportSize({ width: 320, height: 600 });
    await page.goto(`${panel.address}job?id=${world.ids.completed}`);
    // As a long word in a cell does: no table of ours is.
    await page.evaluate(`document.querySelector('#job-events table').style.minWidth = '60rem'`);
    await goTo('#job-events');

    await page.keyboard.press('ArrowRight');

    await eventually(() => page.evaluate(`document.getElementById('job-events').scrollLeft > 0`));
  });

  it('goes to places by keys of one letter, steps through rows, and tells the keys', async () => {
    await page.goto(panel.address);
    await page.keyboard.press('/');
    expect(await focused().getAttribute('type')).toBe('search');
    await page.keyboard.type('g f');
    expect(await focused().inputValue()).toBe('g f');

    await page.goto(panel.address);
    await page.keyboard.press('?');
    expect(await page.getByRole('dialog', { name: 'Keys' }).textContent()).toContain('next and previous row');
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('f');
    await page.waitForURL(/\/failed$/);

    const row = () => page.evaluate(`document.activeElement.closest('tr')?.dataset.key`);
    await page.keyboard.press('j');
    const first = await row();
    await page.keyboard.press('j');
    expect(await row()).not.toBe(first);
    await page.keyboard.press('k');
    expect(await row()).toBe(first);
    expect(first).toBeDefined();
  });
});
