import { stripVTControlCharacters } from 'node:util';
import { ConsoleLogger, defaultLogger, silentLogger } from '../../src/logger/console-logger';

function stream(isTTY: boolean): { isTTY: boolean; text: string; write(text: string): void } {
  return {
    isTTY,
    text: '',
    write(text) {
      this.text += text;
    },
  };
}

it('writes one JSON line for each message where nobody watches', () => {
  const out = stream(false);

  new ConsoleLogger(out).info({ job: 'SendEmail', ms: 3 }, 'SendEmail completed');

  expect(JSON.parse(out.text)).toMatchObject({ level: 'info', msg: 'SendEmail completed', job: 'SendEmail', ms: 3 });
  expect(out.text.endsWith('\n')).toBe(true);
});

it('writes a sentence with its facts on a terminal', () => {
  const out = stream(true);

  new ConsoleLogger(out).warn({ id: '7', queue: 'mail', ms: 12 }, 'SendEmail released');

  expect(stripVTControlCharacters(out.text)).toMatch(
    /^\d\d:\d\d:\d\d warn {2}SendEmail released \(12 ms\) id=7 queue=mail\n$/,
  );
});

it('leaves out what is below its level', () => {
  const out = stream(false);

  new ConsoleLogger(out, 'warn').info({}, 'unheard');

  expect(out.text).toBe('');
});

it('is silent under Jest unless one is given', () => {
  expect(defaultLogger()).toBe(silentLogger);
});

it('writes one line on a terminal whatever stands in it', () => {
  const out = stream(true);

  new ConsoleLogger(out).warn({ id: 'a\nb\u001b[2J' }, 'no\n10:00:00 info  all is well');

  expect(stripVTControlCharacters(out.text)).toMatch(/no\\n10:00:00 info {2}all is well id=a\\nb\n$/);
});
