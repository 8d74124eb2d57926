/** What all lists have: `--watch`, which redraws the terminal, and `--wide`, which cuts nothing. */
import { stripVTControlCharacters } from 'node:util';
import { MemoryFailedStore } from '../../src/connections/memory/kept';
import { until } from '../support/application';
import { CommandKit, type Ended } from './kit/command-kit';
import { COMMAND_NAMES } from './kit/command-names';

const LISTS = ['batches', 'failed', 'jobs', 'lanes', 'schedule:list', 'size', 'workers'];

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit();
  kit.columns = 60;
  kit.rows = 12;
});
afterEach(() => kit.close());

/** The content of the screen. */
function screen(): string {
  const [drawn = ''] = kit.shown.split('\u001B[H').slice(-1);
  return stripVTControlCharacters(drawn).replaceAll('\r', '');
}

const soon = (text: string): Promise<void> => until(kit.clock, () => screen().includes(text));

async function leave(ended: Promise<Ended>): Promise<Ended> {
  kit.press!('q');
  return ended;
}

it.each(COMMAND_NAMES)('%s has both flags if it is a list', async (name) => {
  const { stdout } = await kit.run('help', name);
  expect(stdout.includes('redraw the list') && stdout.includes('--wide')).toBe(LISTS.includes(name));
});

describe('--watch', () => {
  it('redraws the list every two seconds, and restores the terminal', async () => {
    await kit.push('mail', 'a');
    const ended = kit.run('size', '--queue=mail', '--watch');
    await soon('mail');
    expect(screen()).toMatch(/^\d{4}-.* UTC {3}onqueue size --queue=mail --watch\n\n.*\nqueue .*\nmail +1 /);
    await kit.push('mail', 'b', 'c');

    await kit.clock.advance('2s');
    await until(kit.clock, () => /^mail +3 /m.test(screen()));

    expect(screen().split('\n')).toHaveLength(12);
    const { stdout, code } = await leave(ended);
    expect(stdout.startsWith('\u001B[?1049h')).toBe(true);
    expect(stdout.endsWith('\u001B[?25h\u001B[?1049l')).toBe(true);
    expect([code, kit.press, kit.clock.pending]).toEqual([0, undefined, 0]);
  });

  it.each(LISTS)('of %s goes on until a signal comes', async (name) => {
    const ended = kit.run(name, '--watch');
    await soon('q: quit');
    kit.signal('SIGINT');
    expect((await ended).code).toBe(0);
  });

  it('says how many lines do not fit', async () => {
    for (let place = 10; place < 30; place += 1) await kit.push(`q${place}`, 'a');
    const ended = kit.run('size', '--watch');
    await soon('… 17 more lines');
    expect(screen()).toMatch(/q12 .*\n… 17 more lines\n/);
    await leave(ended);
  });

  it('says why the store could not be asked, and goes on; what counts at the end is the last look', async () => {
    await kit.fail('1');
    const ended = kit.run('failed', '--watch');
    await soon('SendMail');
    const list = jest.spyOn(MemoryFailedStore.prototype, 'list').mockRejectedValue(new Error('gone for lunch'));
    await kit.clock.advance('2s');
    await soon('gone for lunch');
    list.mockRestore();
    await kit.clock.advance('2s');
    await until(kit.clock, () => !screen().includes('gone for lunch'));
    expect((await leave(ended)).code).toBe(0);
  });

  it('ends at once with a mistake that no other look would mend', async () => {
    const { stdout, stderr, code } = await kit.run('size', 'mial', '--watch');
    expect([stdout, code]).toEqual(['', 2]);
    expect(stderr).toContain('mial');
  });

  it.each([
    [['--json'], 60, 'give either --watch or --json'],
    [['--wide'], 60, "'--watch' cannot be used with option '--wide'"],
    [[], undefined, '--watch redraws a terminal, and there is none'],
  ])('is refused with %j in %p columns', async (flags, columns, sentence) => {
    kit.columns = columns;
    const { stdout, stderr, code } = await kit.run('workers', '--watch', ...flags);
    expect([stdout, code]).toEqual(['', 2]);
    expect(stderr).toContain(sentence);
  });

  it('changes no lane again and again', async () => {
    const { stderr, code } = await kit.run('lanes', 'mail', '--lane=a', '--pause', '--watch');
    expect([stderr, code]).toEqual([expect.stringContaining('either --watch or --lane'), 2]);
  });
});

it('--wide prints whole rows with exact moments on a terminal of any width', async () => {
  const exception = 'Error: the mail server of the department that answers for the customers of the north was away';
  await kit.fail('0193a6c1-0000-7000-8000-000000000000', { exception });

  expect((await kit.run('failed')).stdout).toMatch(/, \d+s ago\n/);
  expect((await kit.run('failed', '--wide')).stdout).toMatch(
    /^id .*\n0193a6c1-\S+ .* \d{4}-\S+ \S+ UTC +Error: .* away\n$/,
  );
});
