import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { endOfTurn } from '../../src/base/clock';
import { errorRecord } from '../../src/base/exception-text';
import { ConsoleLogger, defaultLogger, silentLogger } from '../../src/base/logger';

interface Stream {
  readonly isTTY: boolean;
  /** The text of each write. */
  readonly writes: string[];
  write(text: string): void;
}

function stream(isTTY: boolean): Stream {
  const writes: string[] = [];
  return { isTTY, writes, write: (text) => void writes.push(text) };
}

function written({ writes }: Stream): string {
  return stripVTControlCharacters(writes.join(''));
}

it('a stream that throws does not end the process', async () => {
  const logger = new ConsoleLogger({
    write: () => {
      throw new Error('the disk is full');
    },
  });
  const rejected = jest.fn();
  process.once('unhandledRejection', rejected);
  logger.info({}, 'hello');
  await endOfTurn();
  await endOfTurn();
  process.off('unhandledRejection', rejected);
  expect(rejected).not.toHaveBeenCalled();
});

it('writes one JSON line for each message if the stream is not a terminal', () => {
  const out = stream(false);

  new ConsoleLogger(out).warn({ job: 'SendEmail', ms: 3 }, 'SendEmail released');

  expect(JSON.parse(written(out))).toMatchObject({ level: 'warn', msg: 'SendEmail released', job: 'SendEmail', ms: 3 });
  expect(written(out).endsWith('\n')).toBe(true);
});

it('writes a sentence with its facts on a terminal or if asked to', () => {
  const [terminal, file] = [stream(true), stream(false)];

  new ConsoleLogger(terminal).warn({ id: '7', queue: 'mail', ms: 12 }, 'SendEmail released');
  new ConsoleLogger(file, 'info', 'text').warn({ id: '7', queue: 'mail', ms: 12 }, 'SendEmail released');

  expect(written(terminal)).toMatch(/^\d\d:\d\d:\d\d warn {2}SendEmail released \(12 ms\) id=7 queue=mail\n$/);
  expect(file.writes.join('')).toBe(written(terminal));
});

it('uses no colours if NO_COLOR is set', () => {
  const out = stream(true);
  const before = process.env['NO_COLOR'];
  process.env['NO_COLOR'] = '1';
  try {
    new ConsoleLogger(out).warn({ id: '7' }, 'SendEmail released');
  } finally {
    if (before === undefined) delete process.env['NO_COLOR'];
    else process.env['NO_COLOR'] = before;
  }

  expect(out.writes.join('')).toBe(written(out));
});

it('leaves out messages below its level', () => {
  const out = stream(false);
  const logger = new ConsoleLogger(out, 'warn');

  logger.info({}, 'unheard');
  logger.flush();

  expect(logger.isLevelEnabled('info')).toBe(false);
  expect(out.writes).toEqual([]);
});

it('writes the lines of one turn together, but an error at once', async () => {
  const out = stream(false);
  const logger = new ConsoleLogger(out);

  logger.info({}, 'one');
  logger.info({}, 'two');
  expect(out.writes).toEqual([]);
  await Promise.resolve();
  expect(out.writes).toHaveLength(1);
  expect(written(out).match(/\n/g)).toHaveLength(2);

  logger.info({}, 'three');
  logger.error({}, 'four');
  expect(out.writes).toHaveLength(2);
  expect(out.writes[1]).toMatch(/three.*\n.*four/);
});

it('writes a debug line at once, and before it what waits: the next call may abort the process', () => {
  const out = stream(false);
  const logger = new ConsoleLogger(out, 'debug');

  logger.info({}, 'one completed');
  logger.debug({}, 'two starts');

  expect(written(out)).toMatch(/one completed.*\n.*two starts.*\n$/);
});

it('loses no lines when the process exits while it works', () => {
  const root = join(__dirname, '../..');
  const program = `
    const { ConsoleLogger } = require('./src/base/logger');
    const logger = new ConsoleLogger();
    for (let line = 0; line < 1000; line += 1) logger.info({ line }, 'said');
    process.exit(3);`;

  const { stderr, status } = spawnSync(
    process.execPath,
    ['--require', './test/support/register-typescript.cjs', '-e', program],
    { cwd: root, encoding: 'utf8' },
  );

  expect(status).toBe(3);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1000);
});

it('is silent under Jest unless a logger is configured', () => {
  expect(defaultLogger()).toBe(silentLogger);
});

it('writes one line on a terminal, whatever the message contains', () => {
  const out = stream(true);

  new ConsoleLogger(out).warn({ id: 'a\nb\u001b[2J' }, 'no\n10:00:00 info  all is well');

  expect(written(out)).toMatch(/no\\n10:00:00 info {2}all is well id=a\\nb\n$/);
});

it('shows the class, stack and causes of an error below its line, without repeating the message', () => {
  const out = stream(true);
  const logger = new ConsoleLogger(out);
  const cause = Object.assign(new Error('refused'), { stack: 'Error: refused\n    at dial (/app/net.js:1:2)' });
  const error = Object.assign(new TypeError('not sent', { cause }), {
    stack: 'TypeError: not sent\n    at mail (/app/mail.js:3:4)',
  });

  logger.error({ err: errorRecord(error) }, 'SendEmail failed: not sent');
  logger.error(
    { err: errorRecord(Object.assign(new Error('bare'), { stack: 'Error: bare' })) },
    'SendEmail failed: bare',
  );

  expect(written(out).replace(/^\d\d:\d\d:\d\d /gm, '')).toBe(
    [
      'error SendEmail failed: not sent',
      '    TypeError: not sent',
      '        at mail (/app/mail.js:3:4)',
      '    Caused by: Error: refused',
      '        at dial (/app/net.js:1:2)',
      'error SendEmail failed: bare',
      '',
    ].join('\n'),
  );
});
