import { defineCommand } from '../../src/cli/command';
import { invalidOption } from '../../src/cli/errors';
import { commandLineOf, WORK_FLAGS, workerOptions, type WorkFlags } from '../../src/cli/flags';
import { Output } from '../../src/cli/output';
import type { Session } from '../../src/cli/session';

interface Parsed {
  readonly flags: WorkFlags;
  readonly notes: string;
}

function parsed(...line: string[]): Parsed {
  let notes = '';
  let flags: WorkFlags = {};
  const stream = { write: (text: string) => (notes += text) };
  const surroundings = { folder: '/', environment: {} };
  const session = { output: new Output(stream, stream), surroundings } as Session;
  const run = (call: { readonly flags: WorkFlags }): void => void (flags = call.flags);
  const command = defineCommand({ name: 'work', summary: 'work', examples: [], flags: WORK_FLAGS, run })(session);
  command.parse(line, { from: 'user' });
  return { flags, notes };
}

function parse(...line: string[]): WorkFlags {
  return parsed(...line).flags;
}

describe('the options of a worker', () => {
  it('include those of Laravel', () => {
    const stops = '--max-jobs=5 --max-time=3600 --memory=128 --once --stop-when-empty --drain';
    const flags = parse(
      ...`--queue=high,default --tries=3 --timeout=60 --backoff=10 --sleep=3 --rest=0.5 ${stops}`.split(' '),
    );

    expect(workerOptions('redis', flags)).toEqual({
      connection: 'redis',
      queue: 'high,default',
      tries: 3,
      timeout: 60,
      backoff: [10],
      sleep: 3,
      rest: 0.5,
      maxJobs: 5,
      maxTime: 3600,
      memory: 128,
      once: true,
      stopWhenEmpty: true,
      drain: true,
    });
  });

  it('accept durations with units, and lists of them', () => {
    const flags = parse('--timeout=90s', '--backoff=500ms,10s, 1m', '--grace', '2m');

    expect(flags).toMatchObject({ timeout: '90s', backoff: ['500ms', '10s', '1m'], grace: '2m' });
  });

  it('may be repeated if they are lists', () => {
    expect(parse('--queue=a', '--queue=b', '--require=x.js', '--require=y.js')).toEqual({
      queue: 'a,b',
      require: ['x.js', 'y.js'],
    });
  });

  it('accept --delay as the old name of --backoff, with a note', () => {
    expect(parsed('--delay=5s')).toEqual({
      flags: { backoff: ['5s'] },
      notes: '--delay is the old name of --backoff; please use the new one.\n',
    });
    expect(parse('--delay=5s', '--backoff=1s')).toEqual({ backoff: ['1s'] });
  });

  it('note that a number was probably meant as milliseconds, but take it as seconds', () => {
    const { flags, notes } = parsed('--timeout=60000', '--backoff=1s,5000');

    expect(notes).toContain('--timeout: 60000 means 60000 seconds');
    expect(notes).toContain('--backoff: 5000 means');
    expect(flags).toEqual({ timeout: '60000s', backoff: ['1s', '5000s'] });
  });

  it('accept --max-time=3600 without a note, as it is common in Laravel', () => {
    expect(parsed('--max-time=3600').notes).toBe('');
  });

  it.each([['--tries=many'], ['--tries=-1'], ['--tries=1.5'], ['--tries='], ['--concurrency=0'], ['--memory=128MB']])(
    '%s is refused with the option, the value and the remedy',
    (option) => {
      const [name, value] = option.split('=');

      expect(() => parse(option)).toThrow(expect.objectContaining({ code: invalidOption.code }));
      expect(() => parse(option)).toThrow(`${name}: '${value}' is not valid. Give a whole number from`);
    },
  );

  it.each([
    ['--timeout=2 minutes', "--timeout: '2 minutes' is not a duration. Write '2m'"],
    ['--timeout=1e3', "--timeout: '1e3' is not a duration"],
    ['--backoff=10s,soon', "--backoff: 'soon' is not a duration"],
    ['--sleep=-1', "--sleep: '-1' is not a duration"],
  ])('%s is refused with the option, the value and the remedy', (option, message) => {
    expect(() => parse(option)).toThrow(expect.objectContaining({ code: 'E_INVALID_DURATION' }));
    expect(() => parse(option)).toThrow(message);
  });

  it('can be written back as a command line for another process', () => {
    const line = [
      '--queue=high,default',
      '--fair',
      '--tries=0',
      '--backoff=10s,60',
      '--require=a.js',
      '--require=b*.js',
      '--grace=2m',
    ];

    expect(commandLineOf(parse(...line))).toEqual(line);
    expect(parse(...commandLineOf(parse(...line)))).toEqual(parse(...line));
  });
});
