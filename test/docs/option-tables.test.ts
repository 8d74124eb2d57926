/**
 * The tables of options in the documentation are made from what users see in their editor and in `--help`.
 * `WRITE_DOCS=1 npx jest test/docs/option-tables` writes them anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Flag, flagName, PROJECT_FLAGS } from '../../src/cli/flags';
import { LISTEN_FLAGS, WORK_FLAGS } from '../../src/cli/work-flags';

const root = join(__dirname, '../..');

type Row = readonly [option: string, meaning: string, fallback: string];

/** From the comments of an interface: each ends with the default. */
function rowsOfInterface(file: string, name: string): Row[] {
  const source = readFileSync(join(root, 'src', file), 'utf8');
  const body = source.slice(source.indexOf(`interface ${name} {`)).split('\n}\n', 1)[0] ?? '';
  return [...body.matchAll(/\/\*\*([^]*?)\*\/\s+(\w+)\?:/g)].map(([, comment = '', option]) => {
    const text = comment.replaceAll(/\s*\n\s*\*\s*/g, ' ').trim();
    const [, meaning = text, fallback = ''] = /^(.*)\. Default: (.*)\.$/.exec(text) ?? [];
    return [`\`${option}\``, meaning, fallback];
  });
}

/** What stands in the help of a flag as one types it. */
const CODE =
  /--[a-z-]+(?:=[^\s,;)]+(?:,[^\s,;)]+)*)?|(?<= )\/(?:live|ready|health)|onqueue\.config\.\*|(?<=[( ])[*?]+/g;

function rowsOfFlags(flags: Readonly<Record<string, Flag<unknown>>>): Row[] {
  const shown = Object.entries(flags).filter(([, { isHidden }]) => isHidden !== true);
  return shown.map(([name, { value, help, letter, isNegative }]) => {
    const written = `\`${[flagName(isNegative === true ? `no-${name}` : name), value].join(' ').trim()}\``;
    const [, meaning = help, fallback = 'off'] = /^(.*) \(default: (.*)\)$/.exec(help) ?? [];
    const coded = meaning.replaceAll(CODE, '`$&`');
    return [letter === undefined ? written : `\`-${letter}\`, ${written}`, coded, fallback];
  });
}

function tableOf(rows: readonly Row[]): string {
  const lines = [['option', 'meaning', 'default'], ['---', '---', '---'], ...rows].map((row) => row.join(' | '));
  return lines.map((line) => (line.startsWith('---') ? `|${line.replaceAll(' ', '')}|` : `| ${line} |`)).join('\n');
}

const tables: readonly (readonly [page: string, rows: readonly Row[]])[] = [
  ['jobs.md', rowsOfInterface('job/options.ts', 'JobOptions')],
  ['workers.md', rowsOfInterface('worker/worker-options.ts', 'WorkerOptions')],
  ['cli.md', rowsOfFlags({ ...PROJECT_FLAGS, ...WORK_FLAGS })],
];

describe('the tables of options in the documentation', () => {
  it.each(tables)('say in %s what the program says', (page, rows) => {
    const file = join(root, 'docs', page);
    const text = readFileSync(file, 'utf8');
    const found = /^\| option \| meaning \| default \|\n(?:\|.*\n)*/m.exec(text)?.[0] ?? '';
    const table = `${tableOf(rows)}\n`;
    if (process.env['WRITE_DOCS'] === '1')
      writeFileSync(
        file,
        text.replace(found, () => table),
      );

    expect(process.env['WRITE_DOCS'] ?? found).toBe(process.env['WRITE_DOCS'] ?? table);
  });

  it('tell of each option what holds without it', () => {
    expect(tables.flatMap(([, rows]) => rows).filter(([, meaning, fallback]) => !meaning || !fallback)).toEqual([]);
  });

  it('name every flag of listen in its section', () => {
    const [section = ''] =
      readFileSync(join(root, 'docs/cli.md'), 'utf8').split('\n## listen\n')[1]?.split('\n## ') ?? [];
    const shown = Object.entries<Flag<unknown>>({ ...PROJECT_FLAGS, ...LISTEN_FLAGS }).filter(
      ([, { isHidden }]) => isHidden !== true,
    );
    const names = shown.map(([name, { letter }]) => (letter === undefined ? flagName(name) : `-${letter}`));

    expect(names.filter((name) => !section.includes(name))).toEqual([]);
  });
});
