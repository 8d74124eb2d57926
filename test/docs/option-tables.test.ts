/**
 * The option tables in the documentation are generated from what users see in their editor and in `--help`.
 * `WRITE_DOCS=1 npx jest test/docs/option-tables` rewrites them.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIGURATION_KEYS, STORE_KEYS } from '../../src/application/configuration/configuration';
import { flagName, PROJECT_FLAGS, LISTEN_FLAGS, WORK_FLAGS, type Flag } from '../../src/cli/flags';
import { drivers } from '../../src/connections/built-in';
import { HOOK_NAMES } from '../../src/job/hooks';

const root = join(__dirname, '../..');

/** Where programs find options. */
function publicSource(): string {
  const folders = ['job', 'worker', 'limits', 'connections', 'dispatch', 'application', 'operations'];
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, 'src', folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, 'src', folder, name), 'utf8')),
  );
  // Within the functions, and in classes, nobody sees a comment.
  return files.flatMap((file) => file.match(/^export (?:interface|type)[^]*?^\}/gm) ?? []).join('\n');
}

type Row = readonly [option: string, meaning: string, fallback: string];

/** From the comments of an interface, each of which ends with the default. */
function rowsOfInterface(file: string, name: string): Row[] {
  const source = readFileSync(join(root, 'src', file), 'utf8');
  return rowsIn(source.slice(source.indexOf(`interface ${name}`)).split('\n}\n', 1)[0] ?? '');
}

/** From the interface with `driver: 'redis'` in a `driver.ts`. */
function rowsOfDriver(driver: string): Row[] {
  const folders = readdirSync(join(root, 'src/connections'));
  const files = folders.map((folder) => join(root, 'src/connections', folder, 'driver.ts')).filter(existsSync);
  const bodies = files.flatMap((file) => readFileSync(file, 'utf8').split('\nexport interface ').slice(1));
  const body = bodies.find((text) => text.includes(`  readonly driver: '${driver}';`)) ?? '';
  return rowsIn(body.split('\n}\n', 1)[0] ?? '');
}

function rowsIn(body: string): Row[] {
  return [...body.matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\s+(?:readonly )?(\w+)\??:/g)].map(
    ([, comment = '', option]) => {
      const text = comment.replaceAll(/\s*\n\s*\*\s*/g, ' ').trim();
      const [, meaning = text, fallback = ''] = /^(.*)\. Default: (.*)\.$/.exec(text) ?? [];
      return [`\`${option}\``, meaning, fallback];
    },
  );
}

/** The parts of a flag's help text that are typed literally. */
const CODE =
  /--[a-z-]+(?:=[^\s,;)]+(?:,[^\s,;)]+)*)?|(?<= )\/(?:live|ready|health|metrics)|onqueue\.config\.\*|(?<=[( ])[*?]+/g;

function rowsOfFlags(flags: Readonly<Record<string, Flag<unknown>>>): Row[] {
  const shown = Object.entries(flags).filter(([, { isHidden }]) => isHidden !== true);
  return shown.map(([name, { value, help, letter, isNegative }]) => {
    const written = `\`${[flagName(isNegative === true ? `no-${name}` : name), value].join(' ').trim()}\``;
    const [, meaning = help, fallback = 'off'] = /^(.*) \(default: (.*)\)$/.exec(help) ?? [];
    const coded = meaning.replaceAll(CODE, '`$&`');
    return [letter === undefined ? written : `\`-${letter}\`, ${written}`, coded, fallback];
  });
}

function tableOf(head: string, rows: readonly Row[]): string {
  const lines = [head.split(' | '), ['---', '---', '---'], ...rows].map((row) => row.join(' | '));
  return lines.map((line) => (line.startsWith('---') ? `|${line.replaceAll(' ', '')}|` : `| ${line} |`)).join('\n');
}

const OPTION = 'option | meaning | default';
const KEY = 'key | meaning | default';

const CONFIGS = 'connections/driver.ts';

/** The words of a page after which a table stands. */
type Place = readonly [page: string, behind: string, head: string, rows: readonly Row[]];

/** The pages of the drivers that have keys of their own. */
const PAGES: Readonly<Record<string, string>> = {
  redis: 'redis.md',
  database: 'databases.md',
  beanstalkd: 'beanstalkd.md',
  sqs: 'sqs.md',
  failover: 'failover.md',
};

const keyTables: readonly (readonly [page: string, behind: string, keys: readonly string[], rows: readonly Row[]])[] = [
  [
    'configuration.md',
    '## Configuration',
    Object.keys(CONFIGURATION_KEYS),
    rowsOfInterface('application/configuration/configuration.ts', 'Configuration<'),
  ],
  [
    'configuration.md',
    'Each connection takes',
    Object.keys(STORE_KEYS),
    [...rowsOfInterface(CONFIGS, 'CommonConfig'), ...rowsOfInterface(CONFIGS, 'StoreConfig')],
  ],
  ...drivers.flatMap(({ name, keys }) => {
    const own = Object.keys(keys).filter((key) => !Object.hasOwn(STORE_KEYS, key));
    return own.length === 0 ? [] : [[PAGES[name] ?? 'connections.md', '# ', own, rowsOfDriver(name)] as const];
  }),
];

const tables: readonly Place[] = [
  ['jobs.md', '# ', OPTION, rowsOfInterface('job/options.ts', 'JobOptions')],
  ['worker-reference.md', '# ', OPTION, rowsOfInterface('worker/worker-options.ts', 'WorkerOptions')],
  ['cli.md', '# ', OPTION, rowsOfFlags({ ...PROJECT_FLAGS, ...WORK_FLAGS })],
  ...keyTables.map(([page, behind, , rows]) => [page, behind, KEY, rows] as const),
];

describe('the option tables in the documentation', () => {
  it.each(tables)('of %s, %s match the source code', (page, behind, head, rows) => {
    const file = join(root, 'docs', page);
    const text = readFileSync(file, 'utf8');
    const section = text.slice(text.indexOf(behind));
    const found = section.slice(section.indexOf(`| ${head} |\n`)).match(/^(?:\|.*\n)*/)?.[0] ?? '';
    const table = `${tableOf(head, rows)}\n`;
    if (process.env['WRITE_DOCS'] === '1')
      writeFileSync(
        file,
        text.replace(section, () => section.replace(found, () => table)),
      );

    expect(process.env['WRITE_DOCS'] ?? found).toBe(process.env['WRITE_DOCS'] ?? table);
  });

  it.each(keyTables)('contain every key that is checked: %s, %s', (_page, _behind, keys, rows) => {
    const told = rows.map(([key]) => key.replaceAll('`', ''));

    expect(told.toSorted()).toEqual(keys.filter((key) => key !== 'driver').toSorted());
  });

  it('give a default for each option', () => {
    expect(tables.flatMap(([, , , rows]) => rows).filter(([, meaning, fallback]) => !meaning || !fallback)).toEqual([]);
  });

  it('and every comment on a duration say that a number is seconds, and how a unit is written', () => {
    const comments =
      /\/\*\*((?:(?!\*\/)[^])*)\*\/\s+(?:readonly )?(\w+)\??: [^;]*\b(?:Duration|Delay|Backoff)\b[^;]*;/g;
    const exported = [...publicSource().matchAll(comments)];
    const isTold = ([, comment = '']: RegExpExecArray): boolean =>
      /seconds/.test(comment) && /`?'\d+(?:ms|s|m|h|d)'/.test(comment);

    expect(exported.length).toBeGreaterThan(20);
    expect(exported.filter((found) => !isTold(found)).map(([, comment, name]) => `${name}: ${comment}`)).toEqual([]);
  });

  it('contain every hook', () => {
    const page = readFileSync(join(root, 'docs/hooks.md'), 'utf8');

    expect(HOOK_NAMES.filter((name) => !new RegExp(`^\\|.*\`${name}\`.* \\| .* \\| .* \\|$`, 'm').test(page))).toEqual(
      [],
    );
  });

  it('contain every flag of listen', () => {
    const [section = ''] =
      readFileSync(join(root, 'docs/cli.md'), 'utf8').split('\n## listen\n')[1]?.split('\n## ') ?? [];
    const shown = Object.entries<Flag<unknown>>({ ...PROJECT_FLAGS, ...LISTEN_FLAGS }).filter(
      ([, { isHidden }]) => isHidden !== true,
    );
    const names = shown.map(([name, { letter }]) => (letter === undefined ? flagName(name) : `-${letter}`));

    expect(names.filter((name) => !section.includes(name))).toEqual([]);
  });
});
