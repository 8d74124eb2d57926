/** Starts a Chromium of a test file's own, which tells what goes wrong on the pages that it shows. */
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { AxeResults, RunOptions } from 'axe-core';
import { type BrowserContextOptions, chromium, type ConsoleMessage, type Page } from 'playwright-core';

/** `colorScheme`, `javaScriptEnabled`, `viewport`, `extraHTTPHeaders`, … as in Playwright. */
export type ViewOptions = Omit<BrowserContextOptions, 'bypassCSP'>;

export interface Browser {
  /** A page of a context of its own, without the cookies of any other; 1280 × 800 unless told otherwise. */
  open(url: string, options?: ViewOptions): Promise<View>;
  /** Ends the browser with all its pages, and removes its folder. May be called again. */
  close(): Promise<void>;
}

/** One page in one context. `page` is Playwright's: what a person does is done there. */
export interface View {
  readonly page: Page;
  /**
   * What went wrong since the last call, one line each: errors on the console, which name what the content security
   * policy refused and which file could not be loaded, and what scripts threw.
   */
  problems(): string[];
  /** What axe holds against the page as it is now, one line for each element. The page needs its JavaScript. */
  accessibilityProblems(options?: RunOptions): Promise<string[]>;
  /** Writes the whole page to a PNG file. */
  screenshot(path: string): Promise<void>;
  close(): Promise<void>;
}

/** A slow machine is no failure: a page that never comes still is one, before Jest gives up on the test. */
const DEADLINE_MS = 120_000;
const VIEWPORT = { width: 1280, height: 800 };
const isRoot = process.getuid?.() === 0;

/** @throws when no browser is found or it does not start; the message holds what it printed */
export async function startBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: program(),
    // Its sandbox does not run as root, and containers give /dev/shm too little for a page.
    args: isRoot ? ['--no-sandbox', '--disable-dev-shm-usage'] : [],
    timeout: DEADLINE_MS,
  });
  return {
    open: async (url, options) => {
      const context = await browser.newContext({ viewport: VIEWPORT, ...options });
      context.setDefaultTimeout(DEADLINE_MS);
      const page = await context.newPage();
      const view = viewOf(page);
      await page.goto(url);
      return view;
    },
    close: () => browser.close(),
  };
}

function viewOf(page: Page): View {
  let problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}${placeOf(message)}`);
  });
  page.on('pageerror', (error) => problems.push(`script: ${error.stack ?? error.message}`));
  return {
    page,
    problems: () => {
      const told = problems;
      problems = [];
      return told;
    },
    accessibilityProblems: (options) => accessibilityProblems(page, options),
    screenshot: async (path) => {
      await page.screenshot({ path, fullPage: true });
    },
    close: () => page.context().close(),
  };
}

function placeOf(message: ConsoleMessage): string {
  const { url, lineNumber } = message.location();
  return url === '' ? '' : ` (${url}:${lineNumber + 1})`;
}

/** The debugger brings axe into the page, past its content security policy, which stays in force for the page itself. */
async function accessibilityProblems(page: Page, options: RunOptions = {}): Promise<string[]> {
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(axeSource());
  const results = await page.evaluate(
    (given) => (globalThis as unknown as { axe: { run(options: RunOptions): Promise<AxeResults> } }).axe.run(given),
    { resultTypes: ['violations'], ...options } satisfies RunOptions,
  );
  return results.violations.flatMap(({ id, impact, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => {
      const why = (failureSummary ?? '')
        .split('\n')
        .slice(1)
        .map((line) => line.trim());
      return `${id} (${impact}): ${help} – ${target.join(' ')}: ${why.join('; ')}`;
    }),
  );
}

let source: string | undefined;

function axeSource(): string {
  source ??= readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
  return source;
}

/** Where scripts/set-up-servers.mjs finds it. */
function program(): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/Applications/Google Chrome.app/Contents/MacOS'];
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'Google Chrome'];
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find((file) => existsSync(file));
  if (found === undefined) throw new Error('No Chromium was found: apt-get install chromium');
  return found;
}
