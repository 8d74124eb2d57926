/** Starts a Chromium for one test file, and reports what goes wrong on its pages. */
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { AxeResults, RunOptions } from 'axe-core';
import { type BrowserContextOptions, chromium, type ConsoleMessage, type Page } from 'playwright-core';

/** Options of Playwright, such as `colorScheme`, `javaScriptEnabled`, `viewport` and `extraHTTPHeaders`. */
export type ViewOptions = Omit<BrowserContextOptions, 'bypassCSP'>;

export interface Browser {
  /** Opens a page in a new context without cookies. Default viewport: 1280 × 800. */
  open(url: string, options?: ViewOptions): Promise<View>;
  /** Closes the browser with all its pages and removes its folder. Can be called repeatedly. */
  close(): Promise<void>;
}

/** One page in its own context. `page` is Playwright's, for user actions. */
export interface View {
  readonly page: Page;
  /**
   * What went wrong since the last call, one line each: errors on the console, which name what the content security
   * policy refused and which files could not be loaded, and errors that scripts threw.
   */
  problems(): string[];
  /** The violations that axe finds on the page, one line for each element. Needs JavaScript on the page. */
  accessibilityProblems(options?: RunOptions): Promise<string[]>;
  /** Writes the whole page to a PNG file. */
  screenshot(path: string): Promise<void>;
  close(): Promise<void>;
}

/** Slow machines are no failure, but a page that never loads must fail before Jest gives up on the test. */
const DEADLINE_MS = 120_000;
const VIEWPORT = { width: 1280, height: 800 };
const isRoot = process.getuid?.() === 0;

/** @throws if no browser is found or it does not start; the message contains its output */
export async function startBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: program(),
    // Its sandbox does not run as root, and /dev/shm in containers is too small for a page.
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

/** The debugger injects axe past the page's content security policy, which stays in force for the page itself. */
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

/** Looks in the same places as scripts/set-up-servers.mjs. */
function program(): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/Applications/Google Chrome.app/Contents/MacOS'];
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'Google Chrome'];
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find((file) => existsSync(file));
  if (found === undefined) throw new Error('No Chromium was found: apt-get install chromium');
  return found;
}
