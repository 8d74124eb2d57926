/**
 * Checks rules of this project that no other tool knows. A rule that is broken explains itself.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
if (listed.status !== 0) {
  console.error(`The files of the repository could not be listed: ${listed.stderr}`);
  process.exit(1);
}

const isCode = (path) => /\.(ts|mts|cts|js|mjs|cjs|lua)$/.test(path);
const isLock = (path) => /(^|\/)package-lock\.json$/.test(path);
const isTest = (path) => path.startsWith('test/');
const isText = (path) => !/\.(png|jpg|ico|sqlite|tgz)$/.test(path) && !isLock(path);
const isThisFile = (path) => path === 'scripts/check-repository.mjs';

const SHORT = String.raw`(?:[1-9](?:\.\d+)?(?![\w.]| [a-z])|0?\.\d|'(?:\d{1,4}ms|\d(?:\.\d+)?s)')`;
/** A span of less than ten seconds, as an option, a constant, or an argument of the command. */
const shortSpan = (names, constants) =>
  new RegExp(
    String.raw`(?<![\w.])(?:${names}|(?:[A-Z]+_)?(?:${constants}))\s*[:=]\s*${SHORT}` +
      String.raw`|--(?:${names})=(?:[1-9]\d{0,3}ms|[1-9](?:\.\d+)?s?)(?![\w. ])` +
      String.raw`|(?:${constants})_MS = \d_?\d{3}\b`,
  );
const mayBeMissed =
  'a busy machine takes seconds for what is sure to come: write a minute or more, or meantToPass(…) of test/support/meant-to-pass.ts if it passes in the test';
const runs = (path) => isTest(path) && !/^test\/(?:types|frameworks)\//.test(path);
/** Time passes only if the test says so. */
const movesTime = (text) =>
  /\b(?:TestClock|testApplication|watchedApplication|clock\.advance|setTheScene)\b/.test(text);

/** Rules about lines: `pattern` must not match in the files that `where` selects, by path and text. */
const lineRules = [
  {
    where: isText,
    pattern: /(?<![\w./-])\/(?:home|root|Users|work)\/[\w.-]+/,
    why: 'a path of one machine means nothing on another',
  },
  {
    where: (path) => isText(path) || isLock(path),
    pattern: /https?:\/\/(?:registry\.[\w.-]+|npm\.pkg\.[\w.-]+|[\w.-]*(?:artifactory|nexus|verdaccio)[\w.-]*)/i,
    why: 'the registry of packages is a setting of the machine',
  },
  {
    where: isCode,
    pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/,
    why: 'unfinished work belongs in an issue, where somebody finds it',
  },
  {
    where: isCode,
    pattern: /@ts-ignore|@ts-nocheck/,
    why: 'it hides every error of the line; @ts-expect-error with the reason fails when it is no longer needed',
  },
  {
    where: isTest,
    pattern: /\b(?:describe|it|test)\.(?:only|skip|todo)\b|\b(?:fit|fdescribe|xit|xdescribe|xtest)\s*\(/,
    why: 'a test that does not run protects nothing',
  },
  {
    where: isTest,
    pattern: /\btoMatch(?:Inline)?Snapshot\b|\bjest\.retryTimes\b/,
    why: 'a snapshot shows what was, not what should be; a retry hides a test that sometimes fails',
  },
  {
    where: runs,
    pattern: shortSpan('deadline|commandTimeout|connectTimeout', 'DEADLINE'),
    why: mayBeMissed,
  },
  {
    where: (path, text) => runs(path) && !movesTime(text),
    pattern: shortSpan('retryAfter|lease|timeout|grace|within|maxTime|max-time', 'LEASE|TIMEOUT|GRACE'),
    why: mayBeMissed,
  },
  {
    where: (path) => isTest(path) && path !== 'test/support/properties.ts',
    pattern: /from 'fast-check'/,
    why: 'test/support/properties.ts gives it a fixed seed: npm test must give the same answer every time',
  },
  {
    where: (path) => path.startsWith('src/') && !/^src\/base\/clock\.ts$/.test(path),
    pattern: /\bnew Date\(\)/,
    why: 'it reads the clock; src/base/clock.ts does, so that a test can move time',
  },
];

const MOST_LINES = 600;
const generated =
  /(^|\/)(dist|build|coverage|node_modules)\/|\.(tgz|sqlite|sqlite-wal|sqlite-shm|tsbuildinfo|log)$|\.generated\./;

const problems = [];
for (const path of listed.stdout.split('\0').filter(Boolean)) {
  if (generated.test(path)) problems.push(`${path} is generated: build it, but do not commit it`);
  let text;
  try {
    text = readFileSync(join(root, path), 'utf8');
  } catch {
    // Removed from the working tree, but not yet from the index.
    continue;
  }
  const lines = text.split('\n');
  if (isCode(path) && lines.length > MOST_LINES + 1) {
    problems.push(`${path} has ${lines.length - 1} lines, more than ${MOST_LINES}: it holds more than one thing`);
  }
  for (const { where, pattern, why } of lineRules) {
    if (isThisFile(path) || !where(path, text)) continue;
    lines.forEach((line, index) => {
      const [found] = pattern.exec(line) ?? [];
      if (found !== undefined) problems.push(`${path}:${index + 1}: ${JSON.stringify(found)}: ${why}`);
    });
  }
}

for (const lock of listed.stdout.split('\0').filter(isLock)) {
  const { packages } = JSON.parse(readFileSync(join(root, lock), 'utf8'));
  for (const [path, { resolved }] of Object.entries(packages)) {
    // The path of a file or folder is no address.
    if (resolved !== undefined && /^\w+:\/\//.test(resolved))
      problems.push(`${lock}: ${path} has an address: the registry of packages is a setting of the machine`);
  }
}

// Nobody builds the site in each change, since that takes minutes of installing. What has broken it, or would, is looked for here.
const configFile = join(root, 'site/.vitepress/config.mjs');
const configOfSite = readFileSync(configFile, 'utf8')
  .replace("import { defineConfig } from 'vitepress';", 'const defineConfig = (config) => config;')
  .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(configFile).href));
try {
  const { default: site } = await import(`data:text/javascript,${encodeURIComponent(configOfSite)}`);
  const { search, nav, sidebar } = site.themeConfig;
  // Of markdown-it, VitePress passes to it what can be called at once.
  if (search.options._render('text', { relativePath: 'index.md' }, { render: (text) => text }) !== 'text')
    problems.push('site/.vitepress/config.mjs: the search gets no text of a page');
  for (const { link } of [...nav, ...sidebar.flatMap(({ items }) => items)])
    if (!existsSync(join(root, 'docs', `${link}.md`)))
      problems.push(`site/.vitepress/config.mjs: the navigation leads to ${link}, which is no page`);
} catch (error) {
  problems.push(`site/.vitepress/config.mjs cannot be read: ${error.message}`);
}
for (const path of listed.stdout
  .split('\0')
  .filter((path) => /^docs\/.*\.md$/.test(path) && existsSync(join(root, path)))) {
  const blank = (text) => text.replaceAll(/[^\n]/g, ' ');
  const text = readFileSync(join(root, path), 'utf8')
    .replaceAll(/^( *)(`{3,})[^]*?^\1\2$/gm, blank)
    .replaceAll(/(`+)[^]*?\1/g, blank);
  text.split('\n').forEach((line, index) => {
    const [found] = /\{\{|<[/A-Za-z][\w-]*/.exec(line) ?? [];
    if (found !== undefined)
      problems.push(
        `${path}:${index + 1}: ${JSON.stringify(found)} outside of code: the site takes it for a template of Vue`,
      );
  });
}

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
